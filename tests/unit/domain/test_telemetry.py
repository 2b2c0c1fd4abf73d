"""The registry of events: what it lists, what events may hold, and what becomes of a wrong one."""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.turns.phases import StreamPhase
from fermix.domain.authorization import DenialKind
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.telemetry import EVENTS, ChannelMessage, CommandReceived, facts_of
from fermix.domain.telemetry_fields import (
    MAX_NAME,
    FieldKind,
    TraceFile,
    kind_of,
    name_of,
    session_of,
)
from fermix.domain.telemetry_words import Decision, Direction, MessageEnd, Phase

OF_THE_SPECIFICATION = (
    "fermix.channel.message",
    "fermix.channel.reply",
    "fermix.channel.media_send_error",
    "fermix.command.received",
    "fermix.command.unauthorized",
    "fermix.command.dispatch",
    "fermix.transcription.message",
    "fermix.dispatcher.agent_unavailable",
    "fermix.channel.stream",
)


def message(**fields: object) -> ChannelMessage:
    given: dict[str, object] = {
        "channel": "telegram",
        "direction": Direction.INBOUND,
        "result": MessageEnd.ACCEPTED,
    }
    return ChannelMessage(**(given | fields))  # type: ignore[arg-type]  # wrong ones are the subject


def test_the_events_of_the_specification_are_registered_under_their_names() -> None:
    names = [kind.name for kind in EVENTS.values()]
    assert set(OF_THE_SPECIFICATION) <= set(names)
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"fermix(\.[a-z_]+){2,3}", name) for name in names)


def test_every_event_and_field_says_what_it_means() -> None:
    for kind in EVENTS.values():
        assert kind.meaning.endswith(".")
        assert all(spec.meaning for spec in kind.fields)


def test_streams_are_told_with_their_turn() -> None:
    (stream,) = (kind for kind in EVENTS.values() if kind.name == "fermix.channel.stream")
    session = next(spec for spec in stream.fields if spec.name == "session_id")
    assert (session.kind, session.optional) == (FieldKind.SESSION, False)
    phases = next(spec for spec in stream.fields if spec.name == "phase")
    assert phases.words == ("open", "edit", "block", "seal", "discard")


def test_the_words_of_events_are_those_of_the_rules_they_tell_of() -> None:
    assert [phase.value for phase in Phase] == [phase.value for phase in StreamPhase]
    assert set(Decision) == {"ok", *DenialKind}


def test_an_events_facts_are_read_in_the_order_of_its_fields() -> None:
    kind, values = facts_of(message(session_id=session_of(TurnId(7))))
    assert [spec.name for spec in kind.fields] == ["channel", "direction", "result", "session_id"]
    assert values == ("telegram", "inbound", "accepted", "main-7")


def test_a_field_that_is_missing_or_unknown_is_an_error_where_the_event_is_made() -> None:
    with pytest.raises(TypeError):
        CommandReceived(channel=ChannelName("cli"))  # type: ignore[call-arg]  # the subject
    with pytest.raises(TypeError):
        message(text="what somebody wrote")


@pytest.mark.parametrize(
    "wrong",
    [{"channel": None}, {"channel": 5}, {"direction": "inbound"}, {"result": None}, {"session_id": 7}],
)
def test_a_field_of_a_wrong_type_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"fermix\.channel\.message does not take"):
        facts_of(message(**wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """Nobody registered this."""

    NAME: ClassVar[str] = "fermix.stray.event"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG
    channel: Annotated[ChannelName, "a channel"]
    text: Annotated[str, "what somebody wrote"]


def test_an_event_that_is_not_registered_is_refused() -> None:
    with pytest.raises(ValueError, match="Stray is no registered event"):
        facts_of(Stray(channel=ChannelName("cli"), text="hello"))  # type: ignore[arg-type]  # the subject


def test_a_field_that_could_hold_anybodys_text_cannot_be_registered() -> None:
    with pytest.raises(ValueError, match="text is nothing that an event may carry"):
        kind_of(Stray)


def test_a_field_without_a_meaning_cannot_be_registered() -> None:
    @dataclass(frozen=True)
    class Bare:
        """Its fields say nothing."""

        a: int
        b: int

    with pytest.raises(ValueError, match="a does not say what it means"):
        kind_of(Bare)


def test_an_event_without_facts_cannot_be_registered() -> None:
    @dataclass(frozen=True)
    class Lone:
        """It has one field."""

        a: Annotated[int, "a number"]

    with pytest.raises(ValueError, match="fewer than two"):
        kind_of(Lone)


@given(st.text(max_size=300))
def test_a_name_is_kept_up_to_its_limit(text: str) -> None:
    assert name_of(text) == text[:MAX_NAME]
