"""What Telegram tells of a message, as facts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import Update

from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import InboundMessage, ReferenceKind
from fermix.domain.normalise import RawMessage, Registration, normalise
from fermix.infrastructure.channels.telegram.wire_in import (
    Moved,
    OddUpdate,
    OurBot,
    read_move,
    read_update,
    read_us,
)

US = OurBot(id=777, name="fermix_test_bot")
OWNER = {"id": 1001, "is_bot": False, "first_name": "Olga"}
OTHER = {"id": 1002, "is_bot": False, "first_name": "Max", "username": "max"}
OUR_USER = {"id": 777, "is_bot": True, "first_name": "Fermix", "username": "Fermix_Test_Bot"}
DIRECT = {"id": 1001, "type": "private", "first_name": "Olga"}
GROUP = {"id": -300, "type": "group", "title": "Friends"}
FORUM = {"id": -100700, "type": "supergroup", "title": "Forum", "is_forum": True}
CHANNEL = {"id": -100900, "type": "channel", "title": "News"}


def message(text: str | None = None, *, chat: dict[str, Any] = DIRECT, **more: Any) -> dict[str, Any]:
    raw = {"message_id": 5, "date": 1_700_000_000, "chat": chat, "from": OWNER, **more}
    return raw if text is None else {**raw, "text": text}


def update(kind: str = "message", **raw: Any) -> Update:
    found = Update.de_json({"update_id": 1, kind: raw}, None)
    assert found is not None
    return found


def read(raw: dict[str, Any], kind: str = "message") -> RawMessage:
    found = read_update(update(kind, **raw), US)
    assert found is not None
    return found


def arrives(raw: dict[str, Any], kind: str = "message") -> InboundMessage:
    registration = Registration(channel=ChannelName("telegram"), account=AccountId("777"))
    found = normalise(read(raw, kind), registration)
    assert isinstance(found, InboundMessage)
    return found


def mention(offset: int, length: int, kind: str = "mention", **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.requirement("ingress.dedupe.platform_keys")
def test_a_direct_message_carries_its_facts() -> None:
    found = arrives(message("hello"))
    assert (found.text, found.raw_text, found.id, found.key) == ("hello", "hello", "5", "1001:5")
    assert (found.sender.id, found.sender.name, found.sender.is_bot) == ("1001", "Olga", False)
    assert (found.chat.id, found.chat.kind.value, found.reply_target) == ("1001", "direct", "1001")
    assert found.thread is None
    assert found.edited_at is None
    assert found.sent_at == datetime.fromtimestamp(1_700_000_000, UTC)


@pytest.mark.requirement("media.references_per_platform")
def test_a_caption_is_text() -> None:
    photo = [
        {"file_id": "small", "file_unique_id": "s", "width": 10, "height": 10},
        {"file_id": "large", "file_unique_id": "l", "width": 90, "height": 90, "file_size": 5},
    ]
    found = arrives(message(caption="look", photo=photo))
    assert found.text == "look"
    (picture,) = found.attachments
    assert (picture.kind.value, picture.reference, picture.size_bytes) == ("image", "large", 5)


def test_a_topic_is_a_thread_and_general_is_none() -> None:
    assert read(message("x", chat=FORUM, is_topic_message=True, message_thread_id=77))["thread_ts"] == 77
    assert read(message("x", chat=FORUM))["thread_ts"] is None
    assert read(message("x", chat=FORUM, is_topic_message=True, message_thread_id=1))["thread_ts"] is None


def test_a_reply_in_a_group_without_topics_opens_no_thread() -> None:
    assert read(message("x", chat=GROUP, message_thread_id=12))["thread_ts"] is None


@pytest.mark.parametrize(
    ("text", "content", "bot"),
    [
        ("/WhoAmI@Fermix_Test_Bot", "/WhoAmI", None),
        ("/new@fermix_test_bot now", "/new now", None),
        ("/new@some_other_bot", "/new@some_other_bot", "some_other_bot"),
        ("/new", "/new", None),
        ("mail me@fermix_test_bot", "mail me@fermix_test_bot", None),
    ],
)
def test_our_name_is_taken_off_a_command_and_another_is_told(
    text: str, content: str, bot: str | None
) -> None:
    found = arrives(message(text, chat=GROUP))
    assert (found.text, found.raw_text, found.command_bot) == (content, text, bot)
    assert found.is_for_another_bot is (bot is not None)


def test_a_mention_after_emoji_is_found_where_it_stands() -> None:
    text = "😀😀 @fermix_test_bot hi"
    found = arrives(message(text, chat=GROUP, entities=[mention(5, 16)]))
    (named,) = found.mentions
    assert text[named.start : named.end] == "@fermix_test_bot"
    assert found.mentions_us
    assert found.mentions_detectable


@pytest.mark.parametrize(
    ("text", "offset", "content"),
    [
        ("@fermix_test_bot, hi", 0, "hi"),
        ("hi @fermix_test_bot", 3, "hi"),
        ("ask @fermix_test_bot about it", 4, "ask @fermix_test_bot about it"),
        ("@fermix_test_bot /new", 0, "/new"),
    ],
)
def test_our_name_at_an_edge_is_no_part_of_what_was_said(text: str, offset: int, content: str) -> None:
    assert read(message(text, chat=GROUP, entities=[mention(offset, 16)]))["content"] == content


def test_a_person_without_a_user_name_is_mentioned_by_id() -> None:
    entities = [mention(0, 4, "text_mention", user=OWNER), mention(5, 6, "text_mention", user=OUR_USER)]
    found = arrives(message("Olga Fermix", chat=GROUP, entities=entities))
    assert [(one.id, one.is_us) for one in found.mentions] == [("1001", False), ("777", True)]


@pytest.mark.parametrize(("offset", "length"), [(0, 100), (-1, 2), (50, 1), (1, 1), (0, 1)])
def test_a_mention_outside_the_text_is_left_out(offset: int, length: int) -> None:
    assert read(message("🙂", entities=[mention(offset, length)]))["mentions"] == []


@given(text=st.text(max_size=20), offset=st.integers(-5, 50), length=st.integers(-5, 50))
def test_no_entity_raises(text: str, offset: int, length: int) -> None:
    found = read_update(update(**message(text + "x", entities=[mention(offset, length)])), US)
    assert found is not None
    for one in found["mentions"]:
        assert 0 <= int(str(one["start"])) < int(str(one["end"])) <= len(text) + 1


def test_a_reply_says_what_it_answers_and_whose_that_is() -> None:
    ours = {"message_id": 3, "date": 1, "chat": DIRECT, "from": OUR_USER, "text": "before"}
    (one,) = arrives(message("and?", reply_to_message=ours)).references
    assert (one.kind, one.message, one.text, one.is_ours) == (ReferenceKind.REPLY, "3", "before", True)


def test_a_quote_is_the_part_that_was_chosen() -> None:
    theirs = {"message_id": 3, "date": 1, "chat": GROUP, "from": OTHER, "text": "one two three"}
    raw = message("two?", chat=GROUP, reply_to_message=theirs, quote={"text": "two", "position": 4})
    (one,) = arrives(raw).references
    assert (one.kind, one.author, one.text, one.is_ours) == (ReferenceKind.QUOTE, "max", "two", False)


def test_the_message_that_opened_a_topic_is_no_reply() -> None:
    opened = {
        "message_id": 77,
        "date": 1,
        "chat": FORUM,
        "from": OTHER,
        "forum_topic_created": {"name": "Topic", "icon_color": 1},
    }
    raw = message("x", chat=FORUM, is_topic_message=True, message_thread_id=77, reply_to_message=opened)
    assert arrives(raw).references == ()


@pytest.mark.parametrize(
    ("origin", "author"),
    [
        ({"type": "user", "date": 1, "sender_user": OTHER}, "max"),
        ({"type": "hidden_user", "date": 1, "sender_user_name": "Hidden"}, "Hidden"),
        ({"type": "channel", "date": 1, "chat": CHANNEL, "message_id": 9}, "News"),
        ({"type": "chat", "date": 1, "sender_chat": GROUP}, "Friends"),
    ],
)
def test_forwarded_text_is_somebody_elses_and_runs_no_command(origin: dict[str, Any], author: str) -> None:
    found = arrives(message("/new", forward_origin=origin))
    assert (found.text, found.raw_text, found.is_actionable) == ("", "/new", True)
    (one,) = found.references
    assert (one.kind, one.author, one.text) == (ReferenceKind.FORWARD, author, "/new")


def test_an_edit_has_the_key_of_its_message() -> None:
    first, edit = arrives(message("a")), arrives(message("b", edit_date=1_700_000_100), "edited_message")
    assert first.key == edit.key
    assert edit.edited_at == datetime.fromtimestamp(1_700_000_100, UTC)


@pytest.mark.parametrize(
    "service",
    [
        {"new_chat_members": [OTHER]},
        {"left_chat_member": OTHER},
        {"new_chat_title": "New"},
        {"pinned_message": {"message_id": 2, "date": 1, "chat": GROUP}},
        {"migrate_to_chat_id": -100300},
        {"group_chat_created": True},
    ],
)
def test_service_messages_are_silent(service: dict[str, Any]) -> None:
    assert read_update(update(**message(chat=GROUP, **service)), US) is None


def test_a_sticker_is_a_message_without_anything_readable() -> None:
    sticker = {
        "file_id": "f",
        "file_unique_id": "u",
        "type": "regular",
        "width": 1,
        "height": 1,
        "is_animated": False,
        "is_video": False,
    }
    found = arrives(message(sticker=sticker))
    assert [one.kind.value for one in found.attachments] == ["other"]
    assert not found.is_actionable


FILE = {"file_id": "f", "file_unique_id": "u", "file_size": 7}
FRAME = {"width": 1, "height": 1}
FILM = {**FILE, **FRAME, "duration": 1, "mime_type": "video/mp4"}


@pytest.mark.requirement("media.audio_kinds")
@pytest.mark.parametrize(
    ("content", "kind", "mime_type"),
    [
        ({"photo": [{**FILE, **FRAME}]}, "image", "image/jpeg"),
        ({"voice": {**FILE, "duration": 1}}, "audio", "audio/ogg"),
        ({"audio": {**FILE, "duration": 1, "mime_type": "audio/mpeg"}}, "audio", "audio/mpeg"),
        ({"video_note": {**FILE, "length": 1, "duration": 1}}, "audio", "video/mp4"),
        ({"document": {**FILE, "mime_type": "Audio/X-Wav"}}, "audio", "Audio/X-Wav"),
        ({"document": {**FILE, "mime_type": "application/pdf"}}, "file", "application/pdf"),
        ({"document": FILE}, "file", None),
        ({"video": FILM}, "file", "video/mp4"),
        ({"animation": FILM, "document": {**FILE, "mime_type": "video/mp4"}}, "file", "video/mp4"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_a_file_is_what_telegram_calls_it_and_sound_is_heard_in_whatever_form(
    content: dict[str, Any], kind: str, mime_type: str | None
) -> None:
    (found,) = arrives(message(**content)).attachments
    assert (found.kind.value, found.reference, found.mime_type, found.size_bytes) == (kind, "f", mime_type, 7)


@pytest.mark.parametrize("kind", ["channel_post", "edited_channel_post", "message", "edited_message"])
def test_channel_posts_never_arrive(kind: str) -> None:
    assert read_update(update(kind, **message("post", chat=CHANNEL)), US) is None


def test_whoever_writes_as_a_chat_counts_as_a_bot() -> None:
    assert arrives(message("x", chat=GROUP, sender_chat=CHANNEL)).sender.is_bot
    assert arrives(message("x", **{"from": OUR_USER})).sender.is_bot


def test_a_message_from_nobody_is_odd() -> None:
    nobody: dict[str, Any] = {"message_id": 1, "date": 1, "chat": DIRECT}
    with pytest.raises(OddUpdate):
        read_update(update(**nobody), US)


def test_both_sides_of_a_move_are_read() -> None:
    expected = Moved(old="-300", new="-100300")
    assert read_move(update(**message(chat=GROUP, migrate_to_chat_id=-100300))) == expected
    supergroup = {"id": -100300, "type": "supergroup", "title": "Friends"}
    assert read_move(update(**message(chat=supergroup, migrate_from_chat_id=-300))) == expected
    assert read_move(update(**message("hello"))) is None


def test_get_me_tells_who_we_are() -> None:
    assert read_us({"id": 777, "username": "b"}) == OurBot(id=777, name="b")
    with pytest.raises(OddUpdate):
        read_us(True)
