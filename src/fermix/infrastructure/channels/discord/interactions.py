"""What people do instead of writing: taps on our buttons and commands picked from Discord's own list. Pure.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fermix.domain.commands import CommandSpec
from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.discord.wire_in import (
    OddEvent,
    OurBot,
    Room,
    chat_kind,
    sender_facts,
    snowflake,
)

COMMAND = 2
COMPONENT = 3

DEFERRED_UPDATE = 6
"""The answer to a tap that shows nothing."""

MESSAGE = 4
"""The answer that is a message."""

EPHEMERAL = 64
"""Only the one who asked sees it."""

MAX_COMMANDS = 100
MAX_DESCRIPTION = 100
ARGUMENTS = "arguments"

_BUTTON = re.compile(r"confirm:(?P<token>[A-Z2-7]{8})")
"""What our buttons carry; far below the 100 characters that are allowed."""

_COMMAND_NAME = re.compile(r"[a-z0-9_-]{1,32}")


class Deed(StrEnum):
    """What was done."""

    TAP = "tap"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """Something to be answered within three seconds.

    Attributes:
        id: its id.
        key: what an answer proves with that it is one; good for a quarter of an hour, and no less secret.
        token: what the button stands for, of a tap.
        chat: where it was done.
        message: the message that the button is under, of a tap.
    """

    deed: Deed
    id: str
    key: str
    chat: str
    token: str = ""
    message: str = ""


def read_interaction(
    data: Mapping[str, Any], us: OurBot, room: Room
) -> tuple[Interaction, RawMessage] | None:
    """A tap on a button of ours or a command, as the message of the one who did it; `None` for all else.

    Each has a key of its own: it is neither the message it is under nor done twice.

    Raises:
        OddEvent: it has not the promised shape.
    """
    given = data.get("data")
    given = given if isinstance(given, dict) else {}
    if data.get("type") == COMPONENT:
        button = _BUTTON.fullmatch(str(given.get("custom_id")))
        return None if button is None else _tap(data, button["token"], us, room)
    return _command(data, given, us, room) if data.get("type") == COMMAND else None


def _tap(data: Mapping[str, Any], token: str, us: OurBot, room: Room) -> tuple[Interaction, RawMessage]:
    under = data.get("message")
    message = snowflake(under.get("id") if isinstance(under, dict) else None)
    interaction = Interaction(
        deed=Deed.TAP,
        id=snowflake(data.get("id")),
        key=_key(data),
        chat=snowflake(data.get("channel_id")),
        token=token,
        message=message,
    )
    raw: RawMessage = {
        **_facts(data, interaction, us, room),
        "key": f"tap:{interaction.id}",
        "id": message,
        "content": f"/confirm {token}",
        "tap": True,
    }
    return interaction, raw


def _command(
    data: Mapping[str, Any], given: Mapping[str, Any], us: OurBot, room: Room
) -> tuple[Interaction, RawMessage]:
    name = given.get("name")
    if not isinstance(name, str) or not _COMMAND_NAME.fullmatch(name):
        raise OddEvent("a command without a name")
    interaction = Interaction(
        deed=Deed.COMMAND,
        id=snowflake(data.get("id")),
        key=_key(data),
        chat=snowflake(data.get("channel_id")),
    )
    raw: RawMessage = {
        **_facts(data, interaction, us, room),
        "key": f"interaction:{interaction.id}",
        "id": f"interaction-{interaction.id}",
        "content": " ".join([f"/{name}", *_arguments(given.get("options"))]),
    }
    return interaction, raw


def _facts(data: Mapping[str, Any], interaction: Interaction, us: OurBot, room: Room) -> RawMessage:
    """Whoever picks a command of ours or taps our button means us, also where others are."""
    member = data.get("member")
    member = member if isinstance(member, dict) else {}
    user = member.get("user") or data.get("user")
    if not isinstance(user, dict):
        raise OddEvent("an interaction of nobody")
    guild, place = data.get("guild_id"), data.get("channel")
    return {
        **sender_facts(user, member),
        "chat_id": interaction.chat,
        "chat_kind": chat_kind(guild, place.get("type") if isinstance(place, dict) else None),
        "chat_title": None if guild is None else room.title,
        "chat_parent": None if guild is None else room.parent,
        "guild": guild,
        "reply_target": interaction.chat,
        "mentions": [{"id": us.id, "start": 0, "end": 0, "is_us": True}],
        "mentions_detectable": True,
    }


def _key(data: Mapping[str, Any]) -> str:
    key = data.get("token")
    if not isinstance(key, str) or not key:
        raise OddEvent("an interaction that cannot be answered")
    return key


def _arguments(options: object) -> list[str]:
    given = options if isinstance(options, list) else []
    return [str(each["value"]) for each in given if isinstance(each, dict) and "value" in each]


def answer(kind: int, *, text: str = "") -> Mapping[str, object]:
    """The body of an answer that only the one who asked sees, and that names nobody."""
    if kind == DEFERRED_UPDATE:
        return {"type": kind}
    return {
        "type": kind,
        "data": {"content": text, "flags": EPHEMERAL, "allowed_mentions": {"parse": []}},
    }


def command_list(commands: Sequence[CommandSpec]) -> list[dict[str, Any]]:
    """The commands as Discord lists them, each under its own name only."""
    return [
        {
            "type": 1,
            "name": spec.name,
            "description": spec.description[:MAX_DESCRIPTION] or spec.name,
            "options": [_argument(spec)] if spec.usage else [],
        }
        for spec in commands[:MAX_COMMANDS]
        if _COMMAND_NAME.fullmatch(spec.name)
    ]


def _argument(spec: CommandSpec) -> dict[str, Any]:
    usage = spec.usage[:MAX_DESCRIPTION]
    return {"type": 3, "name": ARGUMENTS, "description": usage, "required": False}


def same_commands(wanted: Sequence[Mapping[str, Any]], listed: object) -> bool:
    """Whether the list that Discord keeps is the one that is wanted."""
    if not isinstance(listed, list):
        return False
    return sorted(map(_likeness, wanted)) == sorted(
        _likeness(each) for each in listed if isinstance(each, dict)
    )


def _likeness(command: Mapping[str, Any]) -> tuple[str, str, str]:
    options = command.get("options")
    names = [str(each.get("description")) for each in options or [] if isinstance(each, dict)]
    return str(command.get("name")), str(command.get("description")), "\n".join(names)
