"""Conversations and queues over the wire and back, and parameters that are refused."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports import lane_control
from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.queue_listing import LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.ids import AccountId, ChannelName, ChatId, LaneId, ThreadId, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.infrastructure.local_socket import lane_wire
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.protocol import decode_line, encode_line

names = st.text(max_size=20)
counts = st.integers(0, 10**9)
turns = st.integers(1, 10**9).map(TurnId)
routes = st.builds(
    Route,
    channel=names.map(ChannelName),
    account=names.map(AccountId),
    chat=names.map(ChatId),
    thread=st.none() | names.map(ThreadId),
)
moments = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))]),
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
)
listed_turns = st.builds(
    ListedTurn,
    turn=turns,
    lane=counts.map(LaneId),
    route=routes,
    state=st.sampled_from(TurnState),
    left_behind=st.booleans(),
    attempts=counts,
    messages=counts,
    asked_at=moments,
    ended_at=st.none() | moments,
    preview=names,
)
reports = st.builds(
    lane_control.QueueReport,
    at=moments,
    listing=st.builds(
        QueueListing,
        turns=st.lists(listed_turns, max_size=3).map(tuple),
        failed=st.lists(listed_turns, max_size=3).map(tuple),
        replies=st.lists(
            st.builds(
                OpenReplies,
                target=routes,
                parts=counts,
                oldest_at=moments,
                sending=st.booleans(),
                retry_at=st.none() | moments,
            ),
            max_size=3,
        ).map(tuple),
        left_out=st.builds(LeftOut, turns=counts, failed=counts, targets=counts),
    ),
)
summaries = st.builds(
    ConversationSummary,
    lane=counts.map(LaneId),
    route=routes,
    window=counts,
    title=st.none() | names,
    waiting=counts,
    active=st.none() | st.sampled_from(TurnState),
    last_at=st.none() | moments,
)
requests = st.builds(
    lane_control.ResolveRequest,
    request=st.text(min_size=1, max_size=20).filter(lambda text: text.strip()),
    work=st.sampled_from(lane_control.ResolveWork),
    turn=st.none() | turns,
)
resolutions = st.builds(
    lane_control.Resolution,
    end=st.sampled_from(lane_control.ResolveEnd),
    text=names,
    turn=st.none() | turns,
    queued_as=st.none() | turns,
)


def over_the_wire(content: Any) -> Any:
    return decode_line(encode_line(content))


@given(st.lists(summaries, max_size=3).map(tuple))
def test_conversations_arrive_as_they_left(found: tuple[ConversationSummary, ...]) -> None:
    assert lane_wire.decode_sessions(over_the_wire(lane_wire.encode_sessions(found))) == found


@given(reports)
def test_a_queue_arrives_as_it_left(report: lane_control.QueueReport) -> None:
    assert lane_wire.decode_queue(over_the_wire(lane_wire.encode_queue(report))) == report


@given(requests)
def test_a_request_to_resolve_arrives_as_it_left(request: lane_control.ResolveRequest) -> None:
    assert lane_wire.decode_resolve(over_the_wire(lane_wire.encode_resolve(request))) == request


@given(resolutions)
def test_a_resolution_arrives_as_it_left(resolution: lane_control.Resolution) -> None:
    assert lane_wire.decode_resolution(over_the_wire(lane_wire.encode_resolution(resolution))) == resolution


@pytest.mark.parametrize("limit", [0, -1, lane_control.MAX_SESSIONS + 1, "3", True, None])
def test_a_limit_that_is_none_is_malformed(limit: object) -> None:
    with pytest.raises(Malformed, match="`limit`"):
        lane_wire.decode_sessions_limit({"limit": limit})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("request", " "),
        ("request", "r" * 201),
        ("request", None),
        ("work", "burn"),
        ("turn", 0),
        ("turn", "1"),
        ("turn", 2**63),
    ],
)
def test_a_request_with_a_wrong_field_is_malformed_and_the_field_is_named(field: str, value: object) -> None:
    params = {"request": "r-1", "work": "retry", "turn": 1, field: value}
    with pytest.raises(Malformed, match=f"`{field}`"):
        lane_wire.decode_resolve(params)


def test_a_route_that_is_none_is_malformed() -> None:
    reply = {
        "target": "nowhere",
        "parts": 1,
        "oldest_at": "2026-01-01T00:00:00+00:00",
        "sending": False,
        "retry_at": None,
    }
    content = {
        "at": "2026-01-01T00:00:00+00:00",
        "turns": [],
        "failed": [],
        "replies": [reply],
        "left_out": {"turns": 0, "failed": 0, "targets": 0},
    }
    with pytest.raises(Malformed, match="`target`"):
        lane_wire.decode_queue(content)
