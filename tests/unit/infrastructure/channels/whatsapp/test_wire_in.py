"""What Meta tells, as facts."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import ChannelAccess, Denial, Policies, authorise
from fermix.domain.ids import AccountId, ChannelName, UserId
from fermix.domain.message import AttachmentKind, InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.domain.phone_numbers import digits_of
from fermix.infrastructure.channels.whatsapp.signature import answer_to_challenge, is_signed
from fermix.infrastructure.channels.whatsapp.wire_in import (
    Heard,
    NotDelivered,
    OddPayload,
    Trouble,
    Unreadable,
    read,
)
from fermix.testing.servers.whatsapp_api.server import (
    DISPLAY_NUMBER,
    PHONE_NUMBER_ID,
    change,
    encoded,
    envelope,
)

OLGA = "15551230001"
WHATSAPP = ChannelName("whatsapp")
HERE = Registration(channel=WHATSAPP, account=AccountId(PHONE_NUMBER_ID))
FIELDS = (
    *(
        "object",
        "entry",
        "changes",
        "field",
        "value",
        "messages",
        "contacts",
        "statuses",
        "errors",
        "metadata",
    ),
    *("from", "id", "type", "text", "image", "context", "group_id", "edit", "message", "phone_number_id"),
    *("status", "location"),
)
ESCAPED = (
    rb'{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":'
    rb'{"messaging_product":"whatsapp","metadata":{"phone_number_id":"100000000000001"},"contacts":[{"wa_id":'
    rb'"15551230001","profile":{"name":"Test"}}],"messages":[{"from":"15551230001","id":"wamid.A33","timestamp":'
    rb'"1700000000","type":"text","text":{"body":"caf\u00e9 \u0040home http:\/\/x.test"}}]}}]}]}'
)
ESCAPED_SIGNATURE = "sha256=3720f053500b962f97e07099aa98ec455b75b1d1455e3ae220328a30256d59c6"


def heard(*messages: Mapping[str, Any], **more: Any) -> list[Heard]:
    body = encoded(envelope(change({"messages": list(messages), **more})))
    return list(read(body, phone_number_id=PHONE_NUMBER_ID))


def told(message: Mapping[str, Any], **more: Any) -> InboundMessage:
    (raw,) = heard({"from": OLGA, "id": "wamid.1", "timestamp": "1790000000", **message}, **more)
    assert isinstance(raw, dict)
    found = normalise(raw, HERE)
    assert isinstance(found, InboundMessage)
    return found


def text(body: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}, **more}


def test_the_signature_is_made_over_the_bytes_that_came() -> None:
    assert len(ESCAPED) == 392
    assert is_signed(ESCAPED, ESCAPED_SIGNATURE, secret="test-app-secret-A")
    for other in (ESCAPED + b"\n", ESCAPED.replace(b"caf", b"Caf"), orjson.dumps(orjson.loads(ESCAPED))):
        assert not is_signed(other, ESCAPED_SIGNATURE, secret="test-app-secret-A")
    (raw,) = read(ESCAPED, phone_number_id="100000000000001")
    assert isinstance(raw, dict)
    assert raw["content"] == "café @home http://x.test"


@given(st.binary(max_size=64), st.text(max_size=80))
def test_no_other_signature_is_taken(body: bytes, signature: str) -> None:
    assert not is_signed(body, signature, secret="a secret that nobody guesses")


def test_without_a_word_of_ours_no_challenge_is_answered() -> None:
    query = {"hub.mode": "subscribe", "hub.verify_token": "", "hub.challenge": "1"}
    assert answer_to_challenge(query, verify_token="") is None
    assert answer_to_challenge({**query, "hub.verify_token": "wörd"}, verify_token="wörd") == "1"


@pytest.mark.parametrize(
    ("sender", "entry", "admitted"),
    [
        ("15551230001", "+1 (555) 123-0001", True),
        ("5215512340000", "+525512340000", True),
        ("554788887777", "+5547988887777", True),
        ("554733334444", "+5547933334444", False),
    ],
)
def test_a_phone_is_known_by_each_of_its_spellings(sender: str, entry: str, admitted: bool) -> None:
    message = told(text("hi", **{"from": sender}))
    access = ChannelAccess(allowed=frozenset({UserId(digits_of(entry))}))
    decision = authorise(WHATSAPP, message.sender.ids(), Policies(channels={WHATSAPP: access}))
    assert isinstance(decision, Denial) is not admitted
    assert message.reply_target == sender


def test_who_hides_their_number_is_known_by_the_id_that_the_business_has_of_them() -> None:
    contacts = [{"user_id": "US.1349", "profile": {"name": "Olga", "username": "olga"}}]
    message = told(text("hi", **{"from": None}, from_user_id="US.1349"), contacts=contacts)
    assert (message.sender.id, message.sender.name, message.chat.id) == ("US.1349", "Olga", "US.1349")


def test_a_number_that_is_told_comes_first_and_the_other_ids_stand_beside_it() -> None:
    contacts = [{"wa_id": OLGA, "user_id": "US.1", "parent_user_id": "US.ENT.2", "profile": {"name": "Olga"}}]
    message = told(text("hi", from_user_id="US.1"), contacts=contacts)
    assert (message.sender.id, message.sender.aliases) == (OLGA, ("US.1", "US.ENT.2"))


def test_a_group_is_a_chat_of_its_own_and_its_pictures_belong_to_who_sent_them() -> None:
    picture = {"type": "image", "image": {"id": "1", "mime_type": "image/png"}, "group_id": "G1"}
    message = told(picture)
    assert (message.chat.id, message.chat.kind, message.reply_target) == ("G1", "group", "G1")
    assert (message.sender.id, message.album) == (OLGA, f"pictures of {OLGA}")


def test_what_is_for_another_of_our_numbers_is_left_out() -> None:
    body = encoded(envelope(change({"messages": [{"from": OLGA, "id": "x", **text("hi")}]}, number="999")))
    assert list(read(body, phone_number_id=PHONE_NUMBER_ID)) == []


def test_what_we_wrote_ourselves_is_left_out() -> None:
    assert heard({"from": DISPLAY_NUMBER, "id": "x", **text("echo")}) == []


@pytest.mark.parametrize("kind", ["reaction", "system", "revoke", "request_welcome"])
def test_what_nobody_wrote_is_silent(kind: str) -> None:
    assert heard({"from": OLGA, "id": "x", "type": kind, kind: {}}) == []


def test_an_edit_that_this_version_of_the_api_cannot_show_is_silent() -> None:
    assert heard({"from": OLGA, "id": "x", "type": "unsupported", "unsupported": {"type": "edit"}}) == []


@pytest.mark.parametrize("kind", ["sticker", "order", "unsupported", "something_new"])
def test_what_can_become_nothing_is_offered_as_nothing(kind: str) -> None:
    message = told({"type": kind, kind: {"id": "1"}})
    assert not message.is_actionable


@pytest.mark.requirement("media.references_per_platform")
@pytest.mark.parametrize(
    ("kind", "raw", "becomes"),
    [
        ("image", {"mime_type": "image/jpeg"}, AttachmentKind.IMAGE),
        ("audio", {"mime_type": "audio/ogg; codecs=opus", "voice": True}, AttachmentKind.AUDIO),
        ("video", {"mime_type": "video/mp4"}, AttachmentKind.FILE),
        ("document", {"mime_type": "application/pdf", "filename": "../a.pdf"}, AttachmentKind.FILE),
        ("document", {"mime_type": "audio/mpeg"}, AttachmentKind.AUDIO),
    ],
)
def test_files_are_told_by_what_fetches_them_again(
    kind: str, raw: Mapping[str, Any], becomes: AttachmentKind
) -> None:
    message = told({"type": kind, kind: {"id": "123456", "url": "https://x.test/", **raw}})
    (attachment,) = message.attachments
    assert (attachment.kind, attachment.reference) == (becomes, "123456")
    assert attachment.name == raw.get("filename")


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            {
                "type": "location",
                "location": {"latitude": 52.5, "longitude": 13, "name": "Gate\nno. 1", "address": "Mitte"},
            },
            "location; 52.5, 13; Gate no. 1; Mitte",
        ),
        (
            {
                "type": "contacts",
                "contacts": [{"name": {"formatted_name": "Ben"}, "phones": [{"phone": "+1 5"}]}],
            },
            "contact; Ben; +1 5",
        ),
    ],
)
def test_places_and_cards_are_one_line_of_data(message: Mapping[str, Any], line: str) -> None:
    found = told(message)
    assert (found.text, [reference.text for reference in found.references]) == ("", [line])


@pytest.mark.parametrize(
    "message",
    [
        {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": {"title": "Yes"}}},
        {"type": "interactive", "interactive": {"type": "list_reply", "list_reply": {"title": "Yes"}}},
        {"type": "button", "button": {"text": "Yes", "payload": "/stop"}},
    ],
)
def test_what_is_tapped_reads_like_its_label(message: Mapping[str, Any]) -> None:
    assert told(message).text == "Yes"


def test_statuses_and_errors_are_no_messages() -> None:
    found = heard(
        statuses=[
            {"id": "a", "status": "sent"},
            {"id": "b", "status": "failed", "errors": [{"code": 131026}]},
            {"id": "c", "status": "failed"},
        ],
        errors=[{"code": 130429}],
    )
    assert found == [
        Trouble(code=130429),
        NotDelivered(message="b", code=131026),
        NotDelivered(message="c", code=None),
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(FIELDS),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_no_shape_breaks_the_reader(odd: object) -> None:
    metadata = {"phone_number_id": PHONE_NUMBER_ID}
    whole = {"object": "whatsapp_business_account", "entry": [{"changes": [odd]}]}
    value = {"field": "messages", "value": {"metadata": metadata, "messages": [odd], "contacts": odd}}
    for payload in (odd, whole, envelope(value)):
        try:
            found = list(read(orjson.dumps(payload), phone_number_id=PHONE_NUMBER_ID))
        except OddPayload:
            continue
        except orjson.JSONEncodeError:
            return
        for one in found:
            assert isinstance(one, dict | Unreadable | NotDelivered | Trouble)
            if isinstance(one, dict):
                normalise(one, HERE)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff", b'{"object":"page"}'])
def test_what_is_no_notification_is_told_apart(body: bytes) -> None:
    with pytest.raises(OddPayload):
        list(read(body, phone_number_id=PHONE_NUMBER_ID))
