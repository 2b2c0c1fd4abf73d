"""Conversations and queues as lines for a person."""

from datetime import UTC, datetime, timedelta

import pytest

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import QueueReport
from fermix.application.ports.queue_listing import LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.ids import AccountId, ChannelName, ChatId, LaneId, ThreadId, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.entrypoints.cli.lane_text import duration, place, queue_text, session_name, sessions_text

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TURNS = ["ID", "STATE", "FOR", "ATTEMPTS", "CONVERSATION", "TEXT"]


def route(channel: str = "telegram", chat: str = "7", thread: str | None = None) -> Route:
    return Route(
        channel=ChannelName(channel),
        account=AccountId("bot"),
        chat=ChatId(chat),
        thread=None if thread is None else ThreadId(thread),
    )


def listed(
    number: int,
    state: TurnState,
    *,
    preview: str = "hello",
    asked: timedelta = 90 * SECOND,
    ended: timedelta | None = None,
    left_behind: bool = False,
) -> ListedTurn:
    return ListedTurn(
        turn=TurnId(number),
        lane=LaneId(1),
        route=route(),
        state=state,
        left_behind=left_behind,
        attempts=1,
        messages=1,
        asked_at=NOW - asked,
        ended_at=None if ended is None else NOW - ended,
        preview=preview,
    )


def shown(**parts: object) -> list[list[str]]:
    """The lines of a queue, each as its columns."""
    text = queue_text(QueueReport(at=NOW, listing=QueueListing(**parts)))  # type: ignore[arg-type]
    return [[cell.strip() for cell in line.split("  ") if cell] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("of", "name", "text"),
    [
        (route("cli", "work"), "work", "work"),
        (route("slack", "C1", "17.5"), None, "slack C1 thread 17.5"),
        (route(), None, "telegram 7"),
    ],
)
def test_a_terminals_session_is_called_by_its_name(of: Route, name: str | None, text: str) -> None:
    assert (session_name(of), place(of)) == (name, text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.9, "0 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (3_700, "1 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text


def test_conversations_are_a_table() -> None:
    found = [
        ConversationSummary(
            lane=LaneId(2),
            route=route("cli", "work"),
            window=3,
            title=None,
            waiting=0,
            active=None,
            last_at=NOW,
        ),
        ConversationSummary(
            lane=LaneId(1),
            route=route(),
            window=0,
            title="Fam\x1b[2Jily\n",
            waiting=2,
            active=TurnState.UNKNOWN,
            last_at=None,
        ),
    ]
    assert sessions_text(found) == (
        "CONVERSATION  STATE   WAITING  WINDOW  LAST MESSAGE             TITLE\n"
        "work          idle    0        3       2026-05-01 12:00:00 UTC\n"
        "telegram 7    paused  2        0       -                        Fam\\x1b[2Jily\\n\n"
    )
    assert sessions_text([]) == "There is no conversation yet.\n"


def test_an_empty_queue_says_so() -> None:
    assert shown() == [["Nothing waits, nothing runs, and nothing is to be delivered."]]


def test_a_queue_shows_each_turn_with_its_state_its_time_and_its_text() -> None:
    turns = (
        listed(4, TurnState.UNKNOWN),
        listed(5, TurnState.STARTED, left_behind=True),
        listed(6, TurnState.STARTED),
        listed(7, TurnState.QUEUED, preview=""),
        listed(8, TurnState.COLLECTING),
    )
    lines = shown(turns=turns, left_out=LeftOut(turns=3))
    assert lines[:8] == [
        ["Requests:"],
        TURNS,
        ["4", "paused", "1 min 30 s", "1", "telegram 7", "hello"],
        ["5", "left behind", "1 min 30 s", "1", "telegram 7", "hello"],
        ["6", "running", "1 min 30 s", "1", "telegram 7", "hello"],
        ["7", "waiting", "1 min 30 s", "1", "telegram 7", "(no text)"],
        ["8", "waiting", "1 min 30 s", "1", "telegram 7", "hello"],
        ["and 3 more"],
    ]
    assert "fermix queue discard ID" in lines[-1][0]


def test_nobody_is_told_to_settle_a_queue_without_a_paused_turn() -> None:
    assert shown(turns=(listed(6, TurnState.STARTED),)) == [
        ["Requests:"],
        TURNS,
        ["6", "running", "1 min 30 s", "1", "telegram 7", "hello"],
    ]


def test_a_failed_turn_is_shown_with_the_time_since_it_failed() -> None:
    failed = (listed(3, TurnState.SETTLED, ended=10 * SECOND),)
    assert shown(failed=failed)[2] == ["3", "failed", "10 s", "1", "telegram 7", "hello"]


def test_what_somebody_wrote_cannot_steer_the_terminal_or_leave_its_line() -> None:
    odd = "\x1b]0;title\x07 \u202ereversed\nnext"
    line = shown(turns=(listed(1, TurnState.QUEUED, preview=odd),))[2]
    assert line[-1] == "\\x1b]0;title\\x07 \\u202ereversed\\nnext"


def test_open_replies_are_shown_by_target() -> None:
    old = NOW - 3 * SECOND
    replies = (
        OpenReplies(target=route(), parts=1, oldest_at=old, sending=True),
        OpenReplies(
            target=route(chat="8"), parts=2, oldest_at=old, sending=False, retry_at=NOW + 61 * SECOND
        ),
        OpenReplies(target=route(chat="9"), parts=2, oldest_at=old, sending=False, retry_at=NOW),
    )
    assert shown(replies=replies) == [
        ["Replies to be delivered:"],
        ["CONVERSATION", "PARTS", "FOR", "STATE"],
        ["telegram 7", "1", "3 s", "being sent"],
        ["telegram 8", "2", "3 s", "next try in 1 min 1 s, at 2026-05-01 12:01:01 UTC"],
        ["telegram 9", "2", "3 s", "waiting"],
    ]
