"""Our values over the wire and back, and the client's light view of an `ask` held in step with the domain."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports import control
from fermix.application.ports.remarks import Remark
from fermix.application.ports.uploads import Upload
from fermix.domain import events
from fermix.domain.blob import BlobRef
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import ChannelName, TurnId, UserId
from fermix.domain.message import AttachmentKind
from fermix.domain.turn import Outcome
from fermix.infrastructure.local_socket import asking, wire
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.protocol import decode_line, encode_line
from fermix.infrastructure.local_socket.refused_wire import decode_refused, encode_refused
from fermix.infrastructure.local_socket.uploads import Uploads

NOTHING_CAME = Uploads().named


def each_came(names: Sequence[str]) -> tuple[Upload, ...]:
    blob = BlobRef(digest="0" * 64, size_bytes=0)
    return tuple(Upload(name=name, blob=blob, kind=AttachmentKind.FILE, mime_type=None) for name in names)


names = st.text(max_size=20)
counts = st.integers(0, 10**9)
identities = st.builds(
    control.Identity,
    instance=names,
    epoch=counts,
    home=names,
    version=names,
    pid=counts,
    kind=st.sampled_from(control.OwnerKind),
)
healths = st.builds(
    control.Health,
    status=st.sampled_from(control.Readiness),
    providers=st.lists(
        st.builds(
            control.ProviderHealth,
            name=names,
            model=st.none() | names,
            status=st.sampled_from(control.Readiness),
            detail=st.none() | names,
            auth_mode=st.none() | names,
            primary=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    channels=st.lists(
        st.builds(
            control.ChannelHealth,
            name=names,
            status=st.sampled_from(control.ChannelStatus),
            detail=st.none() | names,
            unreadable=counts,
            mode=st.none() | names,
            remarks=st.lists(st.builds(Remark, text=names, is_trouble=st.booleans()), max_size=2).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    failures=st.lists(names, max_size=3).map(tuple),
)
moments = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))]),
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
)
refusals = st.builds(
    control.RefusedSender,
    at=moments,
    channel=names.map(ChannelName),
    sender_ids=st.lists(names.map(UserId), max_size=3).map(tuple),
    reason=names,
)
statuses = st.builds(
    control.Status,
    identity=identities,
    started_at=moments,
    draining=st.booleans(),
    health=healths,
    waiting=counts,
    running=counts,
    paused=counts,
    open_parts=counts,
    http_port=st.none() | counts,
)
failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    provider=st.none() | names,
    model=st.none() | names,
    retry_after=st.none() | st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=2)),
    detail=st.none() | names,
)
outcomes = st.sampled_from(Outcome)
turn_events = st.one_of(
    st.builds(events.TurnStarted, provider=names, model=names),
    st.builds(events.TextDelta, text=names),
    st.builds(events.ThoughtTold, text=names),
    st.builds(events.StepStarted, step=counts),
    st.builds(events.ToolStarted, call_id=names, name=names),
    st.builds(events.ToolFinished, call_id=names, name=names, failed=st.booleans()),
    st.builds(events.PromptShown, text=names),
    st.builds(events.TurnSettled, outcome=outcomes, text=names, failure=st.none() | failures),
    st.builds(events.TurnCompleted, outcome=outcomes),
    st.builds(events.Gap, missed=counts),
)
ask_events = st.one_of(
    st.builds(control.AskAccepted, turn=st.none() | counts.map(TurnId)),
    st.builds(control.AskPart, text=names),
    st.builds(control.AskProgress, event=st.builds(events.Numbered, number=counts, event=turn_events)),
)
ends = st.builds(
    control.AskEnded,
    end=st.sampled_from(control.AskEnd),
    text=names,
    notice=st.none() | names,
    outcome=st.none() | outcomes,
    failure=st.none() | failures,
    provider=st.none() | names,
    model=st.none() | names,
)
questions = st.builds(
    asking.Question,
    request=names,
    text=st.text(min_size=1).filter(lambda text: text.strip()),
    session=st.text(min_size=1, max_size=20).filter(lambda text: text.strip()),
    new=st.booleans(),
    model=st.none() | names,
    cwd=st.none() | names,
    user=names,
)


def over_the_wire(content: Any) -> Any:
    return decode_line(encode_line(content))


@given(identities)
def test_an_identity_arrives_as_it_left(identity: control.Identity) -> None:
    assert wire.decode_identity(over_the_wire(wire.encode_identity(identity))) == identity


@given(healths)
def test_health_arrives_as_it_left(health: control.Health) -> None:
    assert wire.decode_health(over_the_wire(wire.encode_health(health))) == health


@given(statuses)
def test_a_status_arrives_as_it_left(status: control.Status) -> None:
    assert wire.decode_status(over_the_wire(wire.encode_status(status))) == status


def test_what_could_not_be_read_is_told_only_when_there_was_something() -> None:
    readable = control.ChannelHealth(name="telegram", status=control.ChannelStatus.READY)
    health = control.Health(
        status=control.Readiness.READY, providers=(), channels=(readable, replace(readable, unreadable=3))
    )
    told = wire.encode_health(health)["channels"]
    assert ["unreadable" in channel for channel in told] == [False, True]
    assert told[1]["unreadable"] == 3


@given(st.lists(refusals, max_size=5).map(tuple))
def test_who_was_refused_arrives_in_its_order(senders: tuple[control.RefusedSender, ...]) -> None:
    assert decode_refused(over_the_wire(encode_refused(senders))) == senders


@pytest.mark.parametrize("wrong", [{}, {"senders": [{"at": "today"}]}, {"senders": ["9999"]}])
def test_refusals_with_a_wrong_field_are_malformed(wrong: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        decode_refused(wrong)


@given(questions)
def test_a_question_arrives_as_it_left(question: asking.Question) -> None:
    decoded = wire.decode_ask(over_the_wire(asking.encode_question(question)), named=each_came)
    fields = {**question._asdict(), "files": each_came(question.files)}
    assert decoded == control.AskRequest(**fields)


@given(ask_events)
def test_the_client_sees_each_event_as_the_gateway_sent_it(
    event: control.AskAccepted | control.AskProgress | control.AskPart,
) -> None:
    assert asking.decode_event(over_the_wire(wire.encode_ask_event(event))) == seen(event)


@given(ends)
def test_the_client_sees_the_end_as_the_gateway_sent_it(end: control.AskEnded) -> None:
    decoded = asking.decode_end(over_the_wire(wire.encode_ask_end(end)))
    assert decoded == asking.Ended(
        end=asking.Ending(end.end.value),
        text=end.text,
        notice=end.notice,
        outcome=None if end.outcome is None else end.outcome.value,
        failure=None if end.failure is None else end.failure.kind.value,
        provider=end.provider,
        model=end.model,
    )


def test_the_clients_words_for_an_end_are_those_of_the_port() -> None:
    assert {end.value for end in asking.Ending} == {end.value for end in control.AskEnd}


def test_an_event_of_a_newer_server_is_ignored() -> None:
    assert asking.decode_event({"type": "hologram", "depth": 3}) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", " \n"),
        ("text", 7),
        ("text", None),
        ("session", ""),
        ("session", "s" * 201),
        ("new", "yes"),
        ("model", 3),
        ("cwd", []),
        ("user", None),
        ("request", 1),
        ("files", "1"),
        ("files", ["1"]),
    ],
)
def test_a_question_with_a_wrong_field_is_malformed_and_the_field_is_named(field: str, value: object) -> None:
    params = {**asking.encode_question(asking.Question(request="r", text="hello")), field: value}
    with pytest.raises(Malformed, match=f"`{field}`"):
        wire.decode_ask(params, named=NOTHING_CAME)


def test_a_time_without_a_zone_is_malformed() -> None:
    with pytest.raises(Malformed, match="zone"):
        wire.decode_status({**STATUS, "started_at": "2026-01-01T00:00:00"})


@pytest.mark.parametrize(
    ("field", "value"), [("waiting", True), ("waiting", "3"), ("draining", 0), ("health", [])]
)
def test_a_status_with_a_wrong_field_is_malformed(field: str, value: object) -> None:
    with pytest.raises(Malformed, match=f"`{field}`"):
        wire.decode_status({**STATUS, field: value})


STATUS = wire.encode_status(
    control.Status(
        identity=control.Identity(
            instance="i", epoch=1, home="/h", version="0", pid=1, kind=control.OwnerKind.DAEMON
        ),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        draining=False,
        health=control.Health(status=control.Readiness.READY, providers=(), channels=()),
        waiting=0,
        running=0,
        paused=0,
        open_parts=0,
        http_port=None,
    )
)


def seen(  # noqa: C901, PLR0911 - one return for each kind of event
    event: control.AskAccepted | control.AskProgress | control.AskPart,
) -> asking.AskEvent | None:
    match event:
        case control.AskAccepted():
            return asking.Accepted(event.turn)
        case control.AskPart():
            return asking.Part(event.text)
        case control.AskProgress():
            pass
    match event.event.event:
        case events.TurnStarted(provider=provider, model=model):
            return asking.TurnStarted(provider, model)
        case events.TextDelta(text=text):
            return asking.TextDelta(text)
        case events.ThoughtTold(text=text):
            return asking.ThoughtTold(text)
        case events.StepStarted(step=step):
            return asking.StepStarted(step)
        case events.ToolStarted(name=name):
            return asking.ToolStarted(name)
        case events.ToolFinished(name=name, failed=failed):
            return asking.ToolFinished(name, failed)
        case events.PromptShown(text=text):
            return asking.PromptShown(text)
        case events.Gap(missed=missed):
            return asking.Missed(missed)
        case _:
            return None
