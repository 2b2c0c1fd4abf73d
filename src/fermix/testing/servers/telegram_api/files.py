"""Files that the bot sends, and its reactions: https://core.telegram.org/bots/api#sendphoto and further on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fermix.testing.servers.telegram_api.chats import Chat, thread_in
from fermix.testing.servers.telegram_api.entities import formatted, units
from fermix.testing.servers.telegram_api.parameters import Parameters, UploadedFile
from fermix.testing.servers.telegram_api.records import Json, Shown, ShownFile
from fermix.testing.servers.telegram_api.refusal import BadRequest, Refused
from fermix.testing.servers.telegram_api.world import World

MIB = 1024 * 1024
MAX_CAPTION = 1024

REACTIONS = frozenset("👍👎🔥🥰👏😁🤔🤯😱🎉🤩🙏👌💯🤣😢😍🙈🤝👀🫡🤗😎😭❤🤬🤮💩🕊🤡🥱🥴🐳")
"""Some of the emoji that a bot may react with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file: its parameter, the largest that is taken, and how the message tells of it."""

    field: str
    max_bytes: int
    told: Mapping[str, Any]


KINDS: Mapping[str, Kind] = {
    "sendPhoto": Kind(field="photo", max_bytes=10 * MIB, told={"width": 90, "height": 60}),
    "sendDocument": Kind(field="document", max_bytes=50 * MIB, told={}),
    "sendAudio": Kind(field="audio", max_bytes=50 * MIB, told={"duration": 1}),
    "sendVoice": Kind(field="voice", max_bytes=50 * MIB, told={"duration": 1}),
    "sendVideo": Kind(field="video", max_bytes=50 * MIB, told={"width": 90, "height": 60, "duration": 1}),
}

Reply = Callable[[World, Chat, Parameters], int | None]
Keep = Callable[[World, Chat, Shown, Json | None], Json]


def send_file(world: World, given: Parameters, kind: Kind, *, reply: Reply, keep: Keep) -> Json:
    """Post a file with its caption; the message."""
    file = given.values.get(kind.field)
    if not isinstance(file, UploadedFile):
        raise BadRequest(f"there is no {kind.field} in the request")
    if not file.content:
        raise BadRequest("file must be non-empty")
    if len(file.content) > kind.max_bytes:
        raise Refused(413, "Request Entity Too Large")
    if kind.field == "photo" and file.content.startswith(b"%PDF"):
        raise BadRequest("IMAGE_PROCESS_FAILED")
    chat = world.chats.open_to_bot(given.text("chat_id"))
    text, entities = given.text("caption"), tuple[Json, ...]()
    if text:
        text, entities = formatted(text, given.structure("caption_entities", "caption entities"))
    if units(text) > MAX_CAPTION:
        raise BadRequest("message caption is too long")
    thread = thread_in(chat, given.text("message_thread_id"))
    reply_to = reply(world, chat, given)
    if world.real_limits:
        world.flood.admit(chat.id, now=time.monotonic())
    number = world.chats.next_message_id(chat)
    shown = Shown(
        message_id=number,
        chat=chat.id,
        thread=thread,
        text=text,
        entities=entities,
        reply_to=reply_to,
        previews=False,
        edits=0,
        at=time.monotonic(),
        file=ShownFile(kind=kind.field, name=file["file"], mime_type=file["type"], content=file.content),
    )
    message = keep(world, chat, shown, None)
    about = {
        "file_id": world.add_file(file.content, f"{kind.field}/file_{number}"),
        "file_unique_id": f"U{number}",
        "file_size": len(file.content),
        **kind.told,
    }
    message.pop("text")
    message.pop("entities", None)
    if text:
        message["caption"] = text
        message |= {"caption_entities": list(entities)} if entities else {}
    message[kind.field] = [about] if kind.field == "photo" else about
    return message


def set_message_reaction(world: World, given: Parameters) -> bool:
    """Put the bot's reaction on a message, in place of the one it has there; at most one."""
    chat = world.chats.open_to_bot(given.text("chat_id"))
    number = given.whole("message_id")
    if (chat.id, number) not in world.messages:
        raise BadRequest("message to react not found")
    wanted = given.structure("reaction", "reaction types")
    if not isinstance(wanted, list) or len(wanted) > 1:
        raise BadRequest("REACTIONS_TOO_MANY")
    world.reactions.pop((chat.id, number), None)
    for each in wanted:
        if not isinstance(each, dict) or each.get("type") != "emoji" or each.get("emoji") not in REACTIONS:
            raise BadRequest("REACTION_INVALID")
        world.reactions[chat.id, number] = str(each["emoji"])
    world.changed.notify_all()
    return True
