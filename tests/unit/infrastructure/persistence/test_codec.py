"""What a column holds decodes to what was encoded, and to nothing else."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import PurePath

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Choice, MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.history import AssistantEntry, CallRecord, HistoryEntry, MarkerEntry, ToolEntry, UserEntry
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId, UserId
from fermix.domain.message import (
    Attachment,
    AttachmentKind,
    Chat,
    ChatKind,
    InboundMessage,
    Mention,
    Reference,
    ReferenceKind,
    Sender,
    Thread,
)
from fermix.domain.picture import Picture
from fermix.domain.route import Target
from fermix.infrastructure.persistence.sqlite import codec

ANY_TEXT = st.text(st.characters(), max_size=8).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
"""NUL and lone halves of surrogate pairs included; two halves side by side are the character they make."""

MAYBE_TEXT = st.none() | ANY_TEXT
OFFSETS = st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(timezones=OFFSETS | st.just(UTC))


SENDERS = st.builds(
    Sender,
    name=ANY_TEXT,
    id=st.none() | ANY_TEXT.map(UserId),
    aliases=st.lists(ANY_TEXT.map(UserId), max_size=2).map(tuple),
    is_bot=st.booleans(),
    roles=st.lists(ANY_TEXT, max_size=2).map(tuple),
)
CHATS = st.builds(
    Chat,
    id=ANY_TEXT.map(ChatId),
    kind=st.sampled_from(ChatKind),
    title=MAYBE_TEXT,
    parent=st.none() | ANY_TEXT.map(ChatId),
    guild=MAYBE_TEXT,
)
MENTIONS = st.builds(
    Mention, id=ANY_TEXT, start=st.integers(0, 99), end=st.integers(0, 99), is_us=st.booleans()
)
REFERENCES = st.builds(
    Reference,
    kind=st.sampled_from(ReferenceKind),
    message=st.none() | ANY_TEXT.map(PlatformMessageId),
    author=MAYBE_TEXT,
    text=MAYBE_TEXT,
    is_ours=st.booleans(),
)
ATTACHMENTS = st.builds(
    Attachment,
    kind=st.sampled_from(AttachmentKind),
    reference=ANY_TEXT,
    mime_type=MAYBE_TEXT,
    size_bytes=st.none() | st.integers(0, 2**53),
    name=MAYBE_TEXT,
)
MESSAGES = st.builds(
    InboundMessage,
    key=ANY_TEXT,
    id=ANY_TEXT.map(PlatformMessageId),
    channel=ANY_TEXT.map(ChannelName),
    account=ANY_TEXT.map(AccountId),
    sender=SENDERS,
    chat=CHATS,
    reply_target=ANY_TEXT.map(ChatId),
    text=ANY_TEXT,
    raw_text=ANY_TEXT,
    thread=st.none() | st.builds(Thread, id=ANY_TEXT.map(ThreadId), starter=MAYBE_TEXT),
    mentions=st.lists(MENTIONS, max_size=2).map(tuple),
    mentions_detectable=st.booleans(),
    command_bot=MAYBE_TEXT,
    references=st.lists(REFERENCES, max_size=2).map(tuple),
    attachments=st.lists(ATTACHMENTS, max_size=2).map(tuple),
    album=MAYBE_TEXT,
    sent_at=st.none() | INSTANTS,
    edited_at=st.none() | INSTANTS,
    request_cwd=st.none() | ANY_TEXT.map(PurePath),
)
CALLS = st.builds(CallRecord, call_id=ANY_TEXT, name=ANY_TEXT, arguments=ANY_TEXT)
PICTURES = st.builds(
    Picture,
    content=st.builds(BlobRef, digest=st.just("ab" * 32), size_bytes=st.integers(0, 2**40)),
    mime_type=st.sampled_from(["image/png", "image/jpeg"]),
    width=st.integers(1, 9000),
    height=st.integers(1, 9000),
)
ENTRIES: st.SearchStrategy[HistoryEntry] = st.one_of(
    st.builds(UserEntry, text=ANY_TEXT, pictures=st.lists(PICTURES, max_size=3).map(tuple)),
    st.builds(
        AssistantEntry,
        text=ANY_TEXT,
        calls=st.lists(CALLS, max_size=2).map(tuple),
        provider=MAYBE_TEXT,
        provider_state=MAYBE_TEXT,
    ),
    st.builds(ToolEntry, call_id=ANY_TEXT, name=ANY_TEXT, text=ANY_TEXT),
    st.builds(MarkerEntry, text=ANY_TEXT),
)
CLEAN_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
TARGETS = st.builds(
    Target,
    channel=CLEAN_TEXT.map(ChannelName),
    account=CLEAN_TEXT.map(AccountId),
    chat=CLEAN_TEXT.map(ChatId),
    thread=st.none() | CLEAN_TEXT.map(ThreadId),
    reply_to=st.none() | CLEAN_TEXT.map(PlatformMessageId),
)


@settings(max_examples=150)
@given(MESSAGES)
def test_a_message_survives_its_column(message: InboundMessage) -> None:
    assert codec.decode_message(codec.encode_message(message)) == message


@given(ENTRIES)
def test_a_history_entry_survives_its_columns(entry: HistoryEntry) -> None:
    assert codec.decode_entry(*codec.encode_entry(entry)) == entry


def test_what_was_said_before_there_were_pictures_is_still_read() -> None:
    assert codec.decode_entry("user", '{"text":"hello"}') == UserEntry(text="hello")


@given(ANY_TEXT)
def test_a_part_survives_its_column(text: str) -> None:
    prompt = TextPart(text=text, choices=(Choice(label="Approve", token="ABCDEFGH"),))
    file = MediaPart(
        kind=MediaKind.VOICE, blob=BlobRef(digest="ab" * 32, size_bytes=7), file_name=text, caption=text
    )
    reaction = ReactionPart(message=PlatformMessageId(text), emoji=text)
    draft = TextPart(text=text, draft=PlatformMessageId("7/8"))
    for part in (TextPart(text=text), draft, prompt, file, reaction):
        assert codec.decode_part(codec.encode_part(part)) == part


@given(TARGETS)
def test_a_target_survives_its_columns(target: Target) -> None:
    assert codec.decode_target(target.key, target.reply_to) == target


@given(INSTANTS)
def test_an_instant_survives_to_the_millisecond(instant: datetime) -> None:
    back = codec.from_ms(codec.to_ms(instant))
    assert timedelta(0) <= instant - back < timedelta(milliseconds=1)


@given(ANY_TEXT)
def test_storable_text_is_text_utf8_has_and_otherwise_unchanged(text: str) -> None:
    stored = codec.storable(text)
    stored.encode()
    assert len(stored) == len(text)
    assert all(kept in {said, "?"} for kept, said in zip(stored, text, strict=True))


A_MESSAGE = InboundMessage(
    key="k",
    id=PlatformMessageId("1"),
    channel=ChannelName("telegram"),
    account=AccountId("bot"),
    sender=Sender(name="Ann"),
    chat=Chat(id=ChatId("7")),
    reply_target=ChatId("7"),
    text="hello",
    raw_text="hello",
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": 5},
        {"mentions_detectable": 1},
        {"chat": {"id": "7", "kind": "palace"}},
        {"sender": "Ann"},
        {"mentions": "none"},
        {"mentions": [{"id": "x", "start": "0", "end": 1}]},
        {"sent_at": "yesterday"},
        {"unheard_of": None},
    ],
)
def test_a_column_that_is_no_message_is_refused(wrong: dict[str, object]) -> None:
    stored = orjson.loads(codec.encode_message(A_MESSAGE)) | wrong
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        codec.decode_message(orjson.dumps(stored).decode())


def test_a_message_without_a_required_field_is_refused() -> None:
    stored = orjson.loads(codec.encode_message(A_MESSAGE))
    del stored["text"]
    with pytest.raises(ValueError, match="not a stored InboundMessage"):
        codec.decode_message(orjson.dumps(stored).decode())


def test_a_field_an_older_version_did_not_know_takes_its_default() -> None:
    stored = orjson.loads(codec.encode_message(A_MESSAGE))
    del stored["references"]
    assert codec.decode_message(orjson.dumps(stored).decode()) == A_MESSAGE


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"kind":"sticker","text":"x"}', '{"text":"x"}'])
def test_a_column_that_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        codec.decode_part(text)


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown history role"):
        codec.decode_entry("system", "{}")
