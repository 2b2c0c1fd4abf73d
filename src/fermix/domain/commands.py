"""The grammar of slash commands, and what a command is to its users: name, aliases, words, gate."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fermix.domain.authorization import Gate

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """One command. `usage` shows its arguments, empty when it takes none."""

    name: str
    description: str
    gate: Gate
    aliases: tuple[str, ...] = ()
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """What was typed: the name in lower case, and the arguments with single spaces between them."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForAnotherBot:
    """`/name@other_bot`: not ours to run, and not ours to answer."""


Parsed: TypeAlias = ParsedCommand | ForAnotherBot | None


def parse_command(text: str, *, bot_name: str | None = None) -> Parsed:
    """Read a command from the start of a text.

    The first word must be `/` and a name of letters, digits and underscores; upper case counts as lower.
    A suffix `@name` is taken off when it is `bot_name` (in any case). With another name the command is for
    another bot; an empty suffix, or any where we have no bot name, makes it ordinary text.

    Returns:
        The command, `ForAnotherBot`, or `None` for ordinary text.
    """
    words = text.split()
    if not words or not text.lstrip().startswith("/"):
        return None
    name, at, bot = words[0][1:].partition("@")
    if not name.isascii() or not _NAME.fullmatch(name := name.lower()):
        return None
    if at:
        if bot_name is None or not bot:
            return None
        if bot.lower() != bot_name.lower().removeprefix("@"):
            return ForAnotherBot()
    return ParsedCommand(name=name, arguments=tuple(words[1:]))


def index_commands(specs: Iterable[CommandSpec]) -> Mapping[str, CommandSpec]:
    """All names and aliases, each to its command.

    Raises:
        ValueError: a name or alias is taken twice, or is none that could be typed.
    """
    index: dict[str, CommandSpec] = {}
    for spec in specs:
        for name in (spec.name, *spec.aliases):
            if not _NAME.fullmatch(name):
                raise ValueError(f"/{name} is no command name")
            if name in index:
                raise ValueError(f"/{name} is registered twice")
            index[name] = spec
    return index
