"""`/sandbox`, `/grant`, `/revoke`: what was typed, as a question about the sandbox or a change of it. Pure."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeAlias

from fermix.domain.authorization import Gate
from fermix.domain.commands import CommandSpec
from fermix.domain.sandbox import Sandbox, SandboxMode
from fermix.domain.sandbox_changes import (
    AllowVariable,
    DenyVariable,
    DisablePreset,
    EnablePreset,
    GrantPath,
    RevokePath,
    SandboxChange,
    SetMode,
    SetProfile,
    SetVariable,
    UnsetVariable,
)
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile
from fermix.domain.sandbox_wording import roots_text, status_text
from fermix.domain.trust import Trust

SANDBOX = CommandSpec(
    name="sandbox",
    description="Show or change what the agent may reach",
    gate=Gate.OWNER_OR_ALLOWLIST,
    usage="[status|explain|mode|env|commands]",
)
GRANT = CommandSpec(
    name="grant",
    description="Let the agent reach a folder, after a confirmation",
    gate=Gate.STRICT_OPERATOR,
    usage="path PATH",
)
REVOKE = CommandSpec(
    name="revoke",
    description="Take a folder back that was granted",
    gate=Gate.STRICT_OPERATOR,
    usage="path PATH",
)

CONFIRM = CommandSpec(
    name="confirm",
    description="Allow what was proposed, with the code that was shown",
    gate=Gate.STRICT_OPERATOR,
    usage="CODE",
)

SANDBOX_USAGE = """Use one of:
/sandbox status
/sandbox explain
/sandbox mode strict|standard|open
/sandbox env allow NAME
/sandbox env set NAME -- PROGRAM ARGUMENTS
/sandbox env deny NAME
/sandbox env unset NAME
/sandbox commands profile bare|assistant|extended
/sandbox commands enable|disable ai_tools|dev_tools"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStatus:
    """Mode, workspace and grants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRoots:
    """Every folder that a turn of the asker may reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A change that is to be proposed."""

    change: SandboxChange


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongUsage:
    """Nothing of that kind; `text` says what there is."""

    text: str


SandboxRequest: TypeAlias = ShowStatus | ShowRoots | Wanted | WrongUsage


def read_sandbox_command(spec: CommandSpec, arguments: tuple[str, ...]) -> SandboxRequest:
    """What the arguments of one of the three commands ask for."""
    if spec is not SANDBOX:
        return _read_path(spec, arguments)
    change: SandboxChange | None
    match arguments:
        case () | ("status",):
            return ShowStatus()
        case ("explain",):
            return ShowRoots()
        case ("mode", mode):
            change = SetMode(mode=SandboxMode(mode)) if mode in set(SandboxMode) else None
        case ("env", *rest):
            change = _read_variable(rest)
        case ("commands", *rest):
            change = _read_commands(rest)
        case _:
            change = None
    return WrongUsage(text=SANDBOX_USAGE) if change is None else Wanted(change=change)


def answer(
    request: ShowStatus | ShowRoots, sandbox: Sandbox, *, trust: Trust | None, request_cwd: PurePath | None
) -> str:
    """What the asker reads; from memory, so it may be said before anything is written."""
    if isinstance(request, ShowStatus):
        return status_text(sandbox)
    return roots_text(sandbox, trust=trust, request_cwd=request_cwd)


def _read_path(spec: CommandSpec, arguments: tuple[str, ...]) -> SandboxRequest:
    match arguments:
        case ("path", *words) if words:
            path = PurePath(" ".join(words))
            return Wanted(change=GrantPath(path=path) if spec is GRANT else RevokePath(path=path))
        case _:
            return WrongUsage(text=f"Use /{spec.name} {spec.usage}")


def _read_variable(words: list[str]) -> SandboxChange | None:
    match words:
        case ["allow", name]:
            return AllowVariable(name=name)
        case ["deny", name]:
            return DenyVariable(name=name)
        case ["unset", name]:
            return UnsetVariable(name=name)
        case ["set", name, "--" | "—", command, *arguments]:  # some keyboards make a dash of two
            return SetVariable(name=name, command=command, arguments=tuple(arguments))
        case _:
            return None


def _read_commands(words: list[str]) -> SandboxChange | None:
    match words:
        case ["profile", profile] if profile in set(CommandProfile):
            return SetProfile(profile=CommandProfile(profile))
        case ["enable", preset] if preset in set(CommandPreset):
            return EnablePreset(preset=CommandPreset(preset))
        case ["disable", preset] if preset in set(CommandPreset):
            return DisablePreset(preset=CommandPreset(preset))
        case _:
            return None
