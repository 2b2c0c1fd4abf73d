"""The programs that the agent may call by name: ready-made sets, and the owner's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType


class CommandPreset(StrEnum):
    """A ready-made set of programs."""

    AI_TOOLS = "ai_tools"
    DEV_TOOLS = "dev_tools"


class CommandProfile(StrEnum):
    """A choice of presets."""

    BARE = "bare"
    ASSISTANT = "assistant"
    EXTENDED = "extended"


PRESETS_OF = MappingProxyType(
    {
        CommandProfile.BARE: (),
        CommandProfile.ASSISTANT: (CommandPreset.AI_TOOLS,),
        CommandProfile.EXTENDED: (CommandPreset.AI_TOOLS, CommandPreset.DEV_TOOLS),
    }
)
"""Which presets each profile brings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCommand:
    """A program under a name.

    Attributes:
        command: the program.
        arguments: those that always come first.
        variables: names of variables that it sees besides those that every command sees.
    """

    command: str
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    time_limit: timedelta = timedelta(seconds=30)
    description: str | None = None
    enabled: bool = True


PROGRAMS_OF = MappingProxyType(
    {
        CommandPreset.AI_TOOLS: MappingProxyType(
            {"codex": OfferedCommand(command="codex"), "claude_code": OfferedCommand(command="claude")}
        ),
        CommandPreset.DEV_TOOLS: MappingProxyType(
            {
                "git": OfferedCommand(command="git"),
                "gh": OfferedCommand(command="gh"),
                "make": OfferedCommand(command="make"),
            }
        ),
    }
)
"""What each preset offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """The owner's decisions about programs.

    Attributes:
        presets: those that were enabled besides the profile's.
        own: the owner's own programs; one of a preset's name takes its place.
    """

    profile: CommandProfile = CommandProfile.BARE
    presets: tuple[CommandPreset, ...] = ()
    own: Mapping[str, OfferedCommand] = field(default_factory=dict[str, OfferedCommand])

    def presets_in_effect(self) -> tuple[CommandPreset, ...]:
        """The profile's presets and the enabled ones."""
        return tuple(dict.fromkeys([*PRESETS_OF[self.profile], *self.presets]))

    def offered(self) -> Mapping[str, OfferedCommand]:
        """Every program that may be called, by name."""
        merged: dict[str, OfferedCommand] = {}
        for preset in self.presets_in_effect():
            merged |= PROGRAMS_OF[preset]
        merged |= self.own
        return {name: command for name, command in merged.items() if command.enabled}
