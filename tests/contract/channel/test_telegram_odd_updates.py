"""Whatever shape single fields of an update have, what stands beside it in a poll comes in."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fermix.domain.message import InboundMessage
from fermix.testing.channel_checks.check import DirectedInbox, listening, normalised
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.contract.channel.platforms import HastyClock
from tests.contract.channel.telegram_far_side import FORUM, telegram

Path: TypeAlias = tuple[str | int, ...]

_PERSON = {"id": 1001, "is_bot": False, "first_name": "Olga", "username": "olga"}
_CHAT = {"id": FORUM, "type": "supergroup", "title": "Garden", "is_forum": True}
_FILE = {"file_id": "F", "file_unique_id": "U", "file_size": 9}
RICH: Mapping[str, Any] = {
    "message_id": 7,
    "date": 1_790_000_000,
    "edit_date": 1_790_000_001,
    "chat": _CHAT,
    "from": _PERSON,
    "sender_chat": _CHAT,
    "message_thread_id": 77,
    "is_topic_message": True,
    "text": "@fermix_test_bot hello",
    "caption": "hello",
    "entities": [{"type": "mention", "offset": 0, "length": 16}],
    "caption_entities": [{"type": "text_mention", "offset": 0, "length": 5, "user": _PERSON}],
    "reply_to_message": {"message_id": 5, "date": 1, "chat": _CHAT, "from": _PERSON, "text": "before"},
    "quote": {"text": "before", "position": 0},
    "forward_origin": {"type": "user", "date": 1, "sender_user": _PERSON},
    "media_group_id": "a1",
    "photo": [{**_FILE, "width": 1, "height": 1}],
    "document": {**_FILE, "file_name": "plan.pdf", "mime_type": "application/pdf"},
    "voice": {**_FILE, "duration": 1},
    "migrate_to_chat_id": -100,
}
PAIRS = st.dictionaries(
    st.sampled_from(["id", "type", "text", "date", "user", "x"]), st.integers(), max_size=2
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.lists(st.integers() | PAIRS, max_size=3)
    | PAIRS
)


def paths(value: Any, before: Path = ()) -> Iterator[Path]:
    """Every place in a tree."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*before, step)
        yield from paths(inner, (*before, step))


PLACES = sorted(paths(dict(RICH)), key=str)


def odd_message(place: Path, value: object, kept: frozenset[str]) -> Mapping[str, Any]:
    """A message with one odd field, beside some that are in order."""
    needed = {"message_id", "date", "chat", "from", "text", str(place[0])}
    message = deepcopy({name: inner for name, inner in RICH.items() if name in kept | needed})
    inner: Any = message
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return message


ODD = st.builds(odd_message, st.sampled_from(PLACES), VALUES, st.frozensets(st.sampled_from(sorted(RICH))))


@pytest.mark.requirement("channel.telegram.one_odd_update")
@settings(max_examples=20)
@given(messages=st.lists(ODD, min_size=20, max_size=60), edited=st.booleans())
def test_an_odd_field_holds_up_no_other_update(messages: list[Mapping[str, Any]], edited: bool) -> None:
    anyio.run(come_in_beside_a_good_one, messages, "edited_message" if edited else "message")


async def come_in_beside_a_good_one(messages: list[Mapping[str, Any]], kind: str) -> None:
    inbox = DirectedInbox()
    good = {**RICH, "text": "good", "entities": []}
    del good["migrate_to_chat_id"], good["forward_origin"]
    numbered = [{"update_id": number, kind: each} for number, each in enumerate(messages, start=1)]
    numbered.append({"update_id": len(numbered) + 1, "message": good})
    with telegram_server() as server:
        server.fault("getUpdates", body=json.dumps({"ok": True, "result": numbered}))
        async with telegram(server, HastyClock()) as channel, listening(channel, inbox):
            with anyio.fail_after(5):
                await inbox.was_offered_text("good")
                await server.until_confirmed(len(numbered) + 1)
        message = normalised(channel, inbox.offered[-1])
    assert isinstance(message, InboundMessage)
    assert message.text == "good"
