"""From whatever an adapter hands over to one shape."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Authorization, ChannelAccess, Policies, Trust, authorise
from fermix.domain.ids import AccountId, ChannelName, UserId
from fermix.domain.message import ChatKind, InboundMessage, ReferenceKind, ThreadScope
from fermix.domain.normalise import (
    MAX_ITEMS,
    MAX_TEXT,
    InvalidMessage,
    RawMessage,
    Registration,
    clean,
    normalise,
)
from tests.unit.domain import samples
from tests.unit.domain.samples import LARGEST_STORED, SLACK, TELEGRAM, TERMINAL, message, raw

REQUIRED = ("id", "content", "sender", "chat_id", "reply_target")

odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(2**70)
    | st.floats()
    | samples.any_text
    | st.binary(max_size=4)
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            samples.any_text | st.sampled_from(["id", "start", "end", "kind", "reference", "user_id"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
texts = samples.any_text
numbers_or_texts = st.integers() | texts
near_misses = st.fixed_dictionaries(
    {
        "id": numbers_or_texts | odd_values,
        "content": texts | odd_values,
        "sender": texts | odd_values,
        "chat_id": numbers_or_texts | odd_values,
        "reply_target": numbers_or_texts | odd_values,
    },
    optional={name: odd_values for name in RawMessage.__annotations__ if name not in REQUIRED},
)
acceptable = st.fixed_dictionaries(
    {
        "id": st.integers(),
        "content": texts,
        "sender": texts,
        "chat_id": st.integers(),
        "reply_target": st.integers(),
    },
    optional={name: odd_values for name in RawMessage.__annotations__ if name not in REQUIRED},
)
registrations = st.sampled_from([TELEGRAM, SLACK, TERMINAL])


def repr_of(value: object) -> str:
    """A short name for a case; the largest number has too many digits to be shown."""
    return "huge" if isinstance(value, int) and value > LARGEST_STORED else repr(value)[:20]


def texts_in(value: object) -> Iterator[str]:
    """Every text anywhere in a value."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for each in fields(value):
            yield from texts_in(getattr(value, each.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, PurePath):
        yield str(value)


@given(payload=st.dictionaries(samples.any_text, odd_values, max_size=4) | near_misses, where=registrations)
def test_no_payload_makes_it_raise(payload: dict[str, Any], where: Registration) -> None:
    assert isinstance(normalise(payload, where), InboundMessage | InvalidMessage)


@given(payload=acceptable, where=registrations)
def test_odd_optional_facts_never_cost_the_message(payload: dict[str, Any], where: Registration) -> None:
    assert isinstance(normalise(payload, where), InboundMessage)


@pytest.mark.requirement("ingress.normalise.channel_is_stamped")
@given(payload=acceptable, where=registrations, claimed=odd_values | st.just("cli"))
def test_a_payload_sets_neither_channel_nor_account(
    payload: dict[str, Any], where: Registration, claimed: object
) -> None:
    found = normalise(payload | {"channel": claimed, "account": claimed}, where)
    assert isinstance(found, InboundMessage)
    assert (found.channel, found.account) == (where.channel, where.account)


@pytest.mark.requirement("ingress.normalise.request_cwd_is_local")
@given(payload=acceptable, where=st.sampled_from([TELEGRAM, SLACK]))
def test_a_remote_payload_sets_neither_folder_nor_model(payload: dict[str, Any], where: Registration) -> None:
    wanted = {"request_cwd": "/home/ann", "request_model": "big"}
    found = normalise(payload | wanted | {"metadata": wanted, "local": True}, where)
    assert isinstance(found, InboundMessage)
    assert (found.request_cwd, found.request_model) == (None, None)


def test_the_local_command_line_says_where_it_was_run_and_which_model_it_wants() -> None:
    found = message(TERMINAL, request_cwd="/home/ann/my folder ", request_model=" openai/gpt ")
    assert found.request_cwd == PurePath("/home/ann/my folder ")
    assert found.request_model == "openai/gpt"
    assert message(TERMINAL, request_cwd=" ", request_model="").request_cwd is None


@given(payload=acceptable, where=registrations)
def test_no_lone_surrogate_survives_anywhere(payload: dict[str, Any], where: Registration) -> None:
    found = normalise(payload, where)
    for text in texts_in(found):
        text.encode("utf-8")


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean("a\ud800b\udfff🦊") == "a\ufffdb\ufffd🦊"


@given(text=samples.any_text)
def test_cleaning_changes_lone_surrogates_alone(text: str) -> None:
    expected = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert clean(text) == expected


@given(payload=acceptable, where=registrations)
def test_every_number_kept_fits_a_ledger_row(payload: dict[str, Any], where: Registration) -> None:
    found = normalise(payload, where)
    assert isinstance(found, InboundMessage)
    for attachment in found.attachments:
        assert 0 <= (attachment.size_bytes or 0) <= LARGEST_STORED
    for mention in found.mentions:
        assert 0 <= mention.start <= mention.end <= len(found.raw_text)


@pytest.mark.requirement("ingress.normalise.required_fields")
@pytest.mark.parametrize("position", range(len(REQUIRED)))
def test_the_first_missing_field_is_named_in_the_specified_order(position: int) -> None:
    payload = {name: value for name, value in raw().items() if name not in REQUIRED[position:]}
    assert normalise(payload, TELEGRAM) == InvalidMessage(field=REQUIRED[position])
    only_one = {name: value for name, value in raw().items() if name != REQUIRED[position]}
    assert normalise(only_one, TELEGRAM) == InvalidMessage(field=REQUIRED[position])


@pytest.mark.requirement("ingress.normalise.required_fields")
@pytest.mark.parametrize("field", ["id", "chat_id", "reply_target"])
@pytest.mark.parametrize(
    "value", [None, True, 1.5, [], {}, b"7", "", " \n", "7" * 1001, 10**5000], ids=repr_of
)
def test_an_id_of_a_wrong_type_or_without_content_counts_as_missing(field: str, value: object) -> None:
    assert normalise(raw(**{field: value}), TELEGRAM) == InvalidMessage(field=field)


@pytest.mark.requirement("ingress.normalise.required_fields")
@pytest.mark.parametrize("field", ["content", "sender"])
@pytest.mark.parametrize("value", [None, 5, True, b"x", ["x"], {"text": "x"}])
def test_a_text_of_a_wrong_type_counts_as_missing(field: str, value: object) -> None:
    assert normalise(raw(**{field: value}), TELEGRAM) == InvalidMessage(field=field)


def test_text_may_be_empty_and_a_sender_nameless() -> None:
    found = message(content="", sender="")
    assert (found.text, found.sender.name) == ("", "")


def test_ids_are_texts_whatever_they_came_as() -> None:
    number, text = (
        message(id=7, chat_id=-42, sender_id=1001),
        message(id=" 7 ", chat_id="-42", sender_id="1001\n"),
    )
    assert (number.id, number.chat.id, number.sender.id) == ("7", "-42", "1001")
    assert (text.id, text.chat.id, text.sender.id) == ("7", "-42", "1001")


@given(padding=st.integers(0, 3000), tail=st.sampled_from(["", "x", "2"]))
def test_no_stretched_id_becomes_the_owners(padding: int, tail: str) -> None:
    found = message(sender_id="1001" + " " * padding + tail)
    access = ChannelAccess(owner=UserId("1001"))
    decision = authorise(found.channel, found.sender.ids(), Policies(channels={found.channel: access}))
    is_owner = isinstance(decision, Authorization) and decision.trust is Trust.OPERATOR
    assert is_owner == (not tail or (padding, tail) == (0, ""))


def test_two_long_ids_do_not_become_one() -> None:
    long = "k" * 5000
    keys = {message(id=i, key=long + str(i)).key for i in (1, 2)}
    assert len(keys) == 2


@given(chat=st.text(":ab", min_size=1), number=st.text(":ab", min_size=1))
def test_a_key_made_from_chat_and_id_belongs_to_one_pair(chat: str, number: str) -> None:
    one = message(chat_id=chat, id=number)
    other = message(chat_id=chat + ":" + number.partition(":")[0], id=number.partition(":")[2] or "z")
    assert one.key != other.key


def test_the_adapters_key_is_kept_and_chat_and_id_make_one_otherwise() -> None:
    assert message(key="wamid.1").key == "wamid.1"
    assert message(chat_id=-42, id=7).key == "-42:7"


@pytest.mark.requirement("ingress.authorise.names_never_match")
def test_a_display_name_is_no_id() -> None:
    found = message(sender="1001")
    access = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("1001")}))
    assert list(found.sender.ids()) == []
    decision = authorise(found.channel, found.sender.ids(), Policies(channels={found.channel: access}))
    assert not isinstance(decision, Authorization)


def test_the_senders_id_may_stand_in_the_metadata() -> None:
    assert message(metadata={"user_id": 1001}).sender.id == "1001"
    assert message(metadata={"sender_id": "2002"}).sender.id == "2002"
    assert message(sender_id=3003, metadata={"user_id": 1001}).sender.id == "3003"
    assert message(metadata="user_id").sender.id is None


def test_an_alias_without_an_id_still_identifies() -> None:
    sender = message(sender_aliases=["uuid-1", 42, None, True, ""]).sender
    assert (sender.id, list(sender.ids())) == (None, ["uuid-1", "42"])


@pytest.mark.requirement("ingress.normalise.facts.of_place_and_sender")
def test_the_facts_of_place_and_sender_are_kept() -> None:
    found = message(
        Registration(channel=ChannelName("discord"), account=AccountId("bot9")),
        sender="Ann",
        sender_id=1001,
        sender_aliases=["ann#1"],
        sender_is_bot=True,
        sender_roles=[5, "admin"],
        chat_kind="channel",
        chat_title="lobby",
        chat_parent=40,
        guild=4,
        reply_target=43,
        thread_ts=9,
        thread_starter="first words",
    )
    assert (found.channel, found.account, found.reply_target) == ("discord", "bot9", "43")
    assert (found.sender.name, found.sender.id, found.sender.aliases) == ("Ann", "1001", ("ann#1",))
    assert (found.sender.is_bot, found.sender.roles) == (True, ("5", "admin"))
    assert (found.chat.kind, found.chat.title) == (ChatKind.CHANNEL, "lobby")
    assert (found.chat.parent, found.chat.guild) == ("40", "4")
    assert found.thread is not None
    assert (found.thread.id, found.thread.starter) == ("9", "first words")


@pytest.mark.requirement("ingress.normalise.facts.of_content")
def test_the_facts_of_content_are_kept() -> None:
    sent, edited = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)
    found = message(
        content="hi",
        raw_content="@fermix hi",
        mentions=[{"id": 5000, "start": 0, "end": 7, "is_us": True}],
        mentions_detectable=True,
        command_bot="fermix",
        references=[
            {"kind": "reply", "message": 6, "author": "Bob", "text": "earlier", "is_ours": True},
            {"kind": "forward", "author": "Eve"},
        ],
        album="a1",
        sent_at=sent,
        edited_at=edited,
    )
    assert (found.text, found.raw_text) == ("hi", "@fermix hi")
    assert (found.mentions_us, found.mentions_detectable, found.command_bot) == (True, True, "fermix")
    reply, forward = found.references
    assert (reply.kind, reply.message, reply.author, reply.text) == (
        ReferenceKind.REPLY,
        "6",
        "Bob",
        "earlier",
    )
    assert (reply.is_ours, forward.is_ours) == (True, False)
    assert (forward.kind, forward.message) == (ReferenceKind.FORWARD, None)
    assert (found.album, found.sent_at, found.edited_at) == ("a1", sent, edited)


def test_absent_facts_take_their_neutral_values() -> None:
    found = message()
    assert found.thread_scope is ThreadScope.ROOT
    assert (found.raw_text, found.mentions_us, found.attachments) == ("hello", False, ())
    assert (found.chat.kind, found.sender.is_bot) == (ChatKind.DIRECT, False)
    assert (found.sent_at, found.edited_at, found.album) == (None, None, None)


def test_a_thread_is_set_exactly_when_the_message_stands_in_one() -> None:
    assert message(thread_ts="1.5").thread_scope is ThreadScope.THREAD
    for absent in (None, "", "  ", True):
        assert message(thread_ts=absent).thread_scope is ThreadScope.ROOT


@pytest.mark.parametrize("kind", ["supergroup", "GROUP", "mpim", "", 5, True])
def test_a_chat_of_a_kind_we_do_not_know_is_taken_for_a_shared_one(kind: object) -> None:
    assert message(chat_kind=kind).chat.kind is not ChatKind.DIRECT


def test_lists_and_texts_are_bounded() -> None:
    found = message(
        content="x" * (MAX_TEXT + 1),
        attachments=[{"kind": "image", "reference": str(i)} for i in range(MAX_ITEMS + 1)],
        sender_roles=list(range(MAX_ITEMS + 1)),
    )
    assert len(found.text) == MAX_TEXT
    assert (len(found.attachments), len(found.sender.roles)) == (MAX_ITEMS, MAX_ITEMS)


def test_a_text_of_one_megabyte_is_kept_whole() -> None:
    assert len(message(content="x" * 1024 * 1024).text) == 1024 * 1024


@given(instant=st.datetimes(timezones=st.none() | st.just(timezone(timedelta(hours=5)))))
def test_every_time_says_its_zone(instant: datetime) -> None:
    found = message(sent_at=instant)
    assert found.sent_at is not None
    assert found.sent_at.utcoffset() == (timedelta(0) if instant.tzinfo is None else instant.utcoffset())


@pytest.mark.parametrize("instant", [1_700_000_000, "2030-01-01", None])
def test_a_time_that_is_no_time_is_left_out(instant: object) -> None:
    assert message(sent_at=instant, edited_at=instant).edited_at is None


def test_nul_bytes_are_kept_as_they_were_written() -> None:
    assert message(content="a\x00b").text == "a\x00b"
