"""Whom a message in a shared chat is for."""

import itertools
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.chat_admission import ChatAdmission, ContextOnly, ForUs, NotForUs, admit_chat
from fermix.domain.ids import AccountId, ChannelName, ThreadId
from fermix.domain.message import ChatKind, InboundMessage
from fermix.domain.normalise import Registration
from tests.unit.domain.samples import message

CHANNELS = ("telegram", "whatsapp", "signal", "slack", "discord", "cli", "matrix")
US = {"id": 5000, "start": 0, "end": 1, "is_us": True}
THEM = {"id": 6000, "start": 0, "end": 1}


def written(channel: str, kind: str, **facts: object) -> InboundMessage:
    where = Registration(channel=ChannelName(channel), account=AccountId("5000"))
    return message(where, chat_kind=kind, **facts)


@pytest.mark.requirement("ingress.admit_chat.three_outcomes")
@given(
    channel=st.sampled_from(CHANNELS),
    kind=st.sampled_from(ChatKind),
    mentions=st.lists(st.sampled_from([US, THEM])),
    thread=st.none() | st.just("1.5"),
    is_bot=st.booleans(),
)
def test_every_message_gets_one_of_three_answers(
    channel: str, kind: ChatKind, mentions: list[dict[str, object]], thread: str | None, is_bot: bool
) -> None:
    found = written(channel, kind, mentions=mentions, thread_ts=thread, sender_is_bot=is_bot)
    verdict = admit_chat(found)
    assert isinstance(verdict, ForUs | ContextOnly | NotForUs)
    assert admit_chat(found) == verdict


def test_the_three_answers_are_all_there_are() -> None:
    assert set(typing.get_args(ChatAdmission)) == {ForUs, ContextOnly, NotForUs}


@pytest.mark.requirement("ingress.admit_chat.direct_is_admitted")
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("thread", [None, "1.5"])
def test_a_direct_message_is_for_us_and_stays_where_it_is(channel: str, thread: str | None) -> None:
    assert admit_chat(written(channel, "direct", thread_ts=thread)) == ForUs()


@pytest.mark.requirement("ingress.admit_chat.slack_and_discord_need_mention")
@pytest.mark.parametrize(
    ("channel", "kind", "thread"),
    list(itertools.product(("slack", "discord"), ("group", "channel"), (None, "1.5"))),
)
def test_in_a_large_room_only_what_names_us_is_for_us(channel: str, kind: str, thread: str | None) -> None:
    for mentions in ([], [THEM]):
        verdict = admit_chat(written(channel, kind, thread_ts=thread, mentions=mentions))
        assert isinstance(verdict, NotForUs)
        assert verdict.reason
    named = admit_chat(written(channel, kind, thread_ts=thread, mentions=[THEM, US]))
    assert isinstance(named, ForUs)


@pytest.mark.requirement("ingress.admit_chat.slack_and_discord_need_mention")
def test_a_room_of_a_kind_nobody_declared_needs_a_mention_too() -> None:
    assert isinstance(admit_chat(written("slack", "mpim")), NotForUs)


@pytest.mark.requirement("ingress.admit_chat.others_admit_every_message")
@pytest.mark.parametrize("channel", ["telegram", "whatsapp", "signal"])
@pytest.mark.parametrize("kind", ["group", "channel"])
def test_in_other_groups_every_message_is_for_us(channel: str, kind: str) -> None:
    assert admit_chat(written(channel, kind)) == ForUs()


@pytest.mark.requirement("ingress.admit_chat.slack_root_mention_opens_thread")
def test_a_mention_at_the_root_of_a_slack_channel_opens_a_thread_under_itself() -> None:
    root = written("slack", "channel", id="1700000010.000100", mentions=[US])
    assert admit_chat(root) == ForUs(thread=ThreadId("1700000010.000100"))


def test_a_mention_inside_a_thread_stays_in_it_and_discord_opens_none() -> None:
    assert admit_chat(written("slack", "channel", thread_ts="1.5", mentions=[US])) == ForUs()
    assert admit_chat(written("discord", "channel", mentions=[US])) == ForUs()


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", ["direct", "group", "channel"])
def test_what_another_bot_writes_is_never_for_us(channel: str, kind: str) -> None:
    verdict = admit_chat(written(channel, kind, sender_is_bot=True, mentions=[US]))
    assert isinstance(verdict, NotForUs)
