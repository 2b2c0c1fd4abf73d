"""What signal-cli tells, read: people's messages with every fact, and silence for everything else."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import AttachmentKind, InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.infrastructure.channels.signal.wire_in import (
    OurAccount,
    Silent,
    Unreadable,
    read_notice,
)

US = OurAccount(number="+15550000001")
UUID = "6f2c1b3a-0000-4000-8000-00000000a001"
WHEN = 1_700_000_000_000


def told(*, envelope: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    message = {"timestamp": WHEN, "message": "hi", "expiresInSeconds": 0, "viewOnce": False, **data}
    source = {"sourceNumber": "+15551001", "sourceUuid": UUID, "sourceName": "Ann", "timestamp": WHEN}
    return {"envelope": {**source, "dataMessage": message, **(envelope or {})}, "account": US.number}


def read(notice: object) -> InboundMessage:
    heard = read_notice(notice, US)
    assert not isinstance(heard, Silent | Unreadable), heard
    registration = Registration(channel=ChannelName("signal"), account=AccountId("15550000001"))
    message = normalise(heard, registration)
    assert isinstance(message, InboundMessage), message
    return message


@pytest.mark.requirement("ingress.dedupe.platform_keys")
def test_who_has_a_number_is_known_by_it_and_by_the_id_of_the_user() -> None:
    message = read(told())
    assert list(message.sender.ids()) == [UUID, "15551001", "+15551001"]
    assert (message.chat.id, message.reply_target, message.key) == (UUID, "+15551001", f"{UUID}:{WHEN}")
    assert message.sent_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_who_has_no_number_is_known_and_reached_by_the_id_of_the_user() -> None:
    message = read(told(envelope={"source": UUID, "sourceNumber": None}))
    assert list(message.sender.ids()) == [UUID]
    assert (message.chat.id, message.reply_target, message.key) == (UUID, UUID, f"{UUID}:{WHEN}")


def test_an_old_envelope_without_an_id_of_the_user_is_read() -> None:
    message = read(told(envelope={"source": "+15551001", "sourceNumber": None, "sourceUuid": None}))
    assert (message.chat.id, message.reply_target) == ("15551001", "+15551001")


@pytest.mark.parametrize("wrapped", [False, True])
def test_both_ways_of_handing_over_are_read(wrapped: bool) -> None:
    notice = told()
    assert read({"subscription": 0, "result": notice} if wrapped else notice).text == "hi"


@pytest.mark.parametrize(
    "envelope",
    [
        {"dataMessage": None, "receiptMessage": {"when": 1, "isDelivery": True}},
        {"dataMessage": None, "typingMessage": {"action": "STARTED"}},
        {"dataMessage": None, "callMessage": {"offerMessage": {}}},
        {"dataMessage": None, "storyMessage": {"textAttachment": {"text": "a story"}}},
        {"dataMessage": None, "syncMessage": {"sentMessage": {"message": "dinner?"}}},
        {"syncMessage": None},
        {"sourceNumber": US.number},
    ],
)
def test_what_nobody_wrote_to_us_is_silent(envelope: dict[str, Any]) -> None:
    assert isinstance(read_notice(told(envelope=envelope), US), Silent)


@pytest.mark.parametrize(
    "data",
    [
        {"message": None},
        {"message": None, "groupInfo": {"groupId": "Zz==", "type": "UPDATE"}},
        {"message": None, "isExpirationUpdate": True, "expiresInSeconds": 60},
        {"message": None, "reaction": {"emoji": "👍", "targetSentTimestamp": 1}},
        {"message": None, "remoteDelete": {"timestamp": 1}},
        {"message": None, "pollVote": {"optionIndexes": [0]}},
    ],
)
def test_changes_votes_and_reactions_are_silent(data: dict[str, Any]) -> None:
    assert isinstance(read_notice(told(**data), US), Silent)


@pytest.mark.parametrize("data", [{"sticker": {"stickerId": 1}}, {"pollCreate": {"question": "?"}}])
def test_what_no_agent_can_read_is_empty_and_no_silence(data: dict[str, Any]) -> None:
    message = read(told(message=None, **data))
    assert not message.is_actionable


def test_placeholders_become_names_at_their_places() -> None:
    mentions = [
        {"name": "+15550000001", "number": US.number, "uuid": "u-us", "start": 0, "length": 1},
        {"name": "+15552002", "number": "+15552002", "uuid": "u-ben", "start": 5, "length": 1},
    ]
    message = read(told(message="\ufffc 🎉 \ufffc!", mentions=mentions))
    assert message.raw_text == "@+15550000001 🎉 @+15552002!"
    assert message.text == "🎉 @+15552002!"
    assert message.mentions_us
    assert [message.raw_text[each.start : each.end] for each in message.mentions] == [
        "@+15550000001",
        "@+15552002",
    ]


def test_a_command_behind_our_name_is_one() -> None:
    mentions = [{"number": US.number, "uuid": "u-us", "name": "Fermix", "start": 0, "length": 1}]
    assert read(told(message="\ufffc /help", mentions=mentions)).text == "/help"


def test_an_edit_has_the_key_of_what_it_changes() -> None:
    edit = {"targetSentTimestamp": 5, "dataMessage": {"timestamp": WHEN, "message": "hello"}}
    message = read(told(envelope={"dataMessage": None, "editMessage": edit}))
    assert (message.key, message.text) == (f"{UUID}:5", "hello")
    assert message.edited_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.requirement("media.references_per_platform")
@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/jpeg", AttachmentKind.IMAGE),
        ("audio/aac", AttachmentKind.AUDIO),
        ("video/mp4", AttachmentKind.FILE),
        ("application/pdf", AttachmentKind.FILE),
        ("", AttachmentKind.FILE),
    ],
)
def test_a_file_is_told_by_its_kind(mime: str, kind: AttachmentKind) -> None:
    file = {"contentType": mime, "id": "Ab1.jpg", "filename": None, "size": 5}
    (attachment,) = read(told(message=None, attachments=[file])).attachments
    assert (attachment.kind, attachment.reference, attachment.size_bytes) == (kind, "Ab1.jpg", 5)


@pytest.mark.parametrize("name", ["../../.ssh/id", "/etc/passwd", ".x", "a\\b/c", "", None, 5, "x" * 300])
def test_a_path_is_no_name_of_a_file(name: object) -> None:
    file = {"contentType": "image/png", "id": name, "size": 5}
    (attachment,) = read(told(attachments=[file])).attachments
    assert attachment.kind is AttachmentKind.OTHER


@pytest.mark.parametrize(
    "notice",
    [
        None,
        {},
        {"envelope": 5},
        told(envelope={"dataMessage": None}) | {"exception": {"type": "ProtocolException"}},
        told(timestamp=None, envelope={"timestamp": 0}),
        told(message=5),
        told(groupInfo={"groupId": None}),
        told(envelope={"sourceNumber": None, "sourceUuid": "nobody"}),
        told(envelope={"editMessage": {"dataMessage": {"timestamp": WHEN, "message": "x"}}}),
    ],
)
def test_what_has_not_the_promised_shape_is_unreadable(notice: object) -> None:
    assert isinstance(read_notice(notice, US), Unreadable)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
_FIELDS = st.sampled_from(
    ["message", "timestamp", "mentions", "attachments", "quote", "groupInfo", "reaction", "sticker"]
)
_AROUND = st.sampled_from(
    ["source", "sourceNumber", "sourceUuid", "sourceName", "timestamp", "editMessage", "syncMessage"]
)


@given(st.dictionaries(_FIELDS, _JSON), st.dictionaries(_AROUND, _JSON), _JSON)
def test_nothing_that_comes_in_raises(data: dict[str, Any], around: dict[str, Any], whole: object) -> None:
    read_notice(whole, US)
    heard = read_notice(told(envelope=around, **data), US)
    if not isinstance(heard, Silent | Unreadable):
        read(told(envelope=around, **data))


@given(st.text(alphabet="a🎉 \ufffc,", max_size=12), st.lists(st.integers(-2, 20), max_size=5))
def test_every_mention_stands_where_it_says(text: str, places: list[int]) -> None:
    mentions = [{"number": "+15552002", "uuid": UUID, "start": place, "length": 1} for place in places]
    heard = read_notice(told(message=text, mentions=mentions), US)
    if not isinstance(heard, Silent | Unreadable):
        message = read(told(message=text, mentions=mentions))
        assert all(message.raw_text[one.start : one.end] == "@+15552002" for one in message.mentions)
        assert message.raw_text.replace("@+15552002", "\ufffc") == text
