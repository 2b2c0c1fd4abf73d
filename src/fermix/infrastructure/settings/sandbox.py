"""`[sandbox]`, `[sandbox.env]`, `[sandbox.commands]`: what the agent's own commands may touch and see."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from fermix.infrastructure.settings.section import FilePath, Paths, Section, Text, Texts, refused

_PRESETS = frozenset({"ai_tools", "dev_tools"})


def _current_name(value: Any) -> Any:
    return "allowlist" if value == "selected" else value


def _known_presets(names: tuple[str, ...]) -> tuple[str, ...]:
    if not _PRESETS.issuperset(names):
        raise refused("may name ai_tools and dev_tools only")
    return names


class SandboxVariable(Section):
    """Where the value of one allowed variable comes from."""

    source: Literal["env", "command"] = "env"
    """`env`: the daemon's environment; `command`: what a program prints."""
    name: Text | None = None
    """Another name in the daemon's environment."""
    command: Text | None = None
    """The program."""
    args: Texts = ()
    """Its arguments."""
    timeout_ms: Annotated[int, Field(ge=100, le=60_000)] = 3000
    """How long it may take."""


class SandboxEnvironment(Section):
    """The environment of the agent's commands; each further table is named after a variable."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SandboxVariable] = Field(init=False)

    mode: Annotated[Literal["allowlist", "all"], BeforeValidator(_current_name)] = "allowlist"
    """`allowlist`: the ordinary variables and those of `allow`; `all`: the daemon's but those of `deny`."""
    allow: Texts = ()
    """Names of variables that commands see."""
    deny: Texts = ()
    """Names of variables that commands never see."""

    @property
    def variables(self) -> Mapping[str, SandboxVariable]:
        """The variables that have a table of their own, by name."""
        return self.__pydantic_extra__


class SandboxCommand(Section):
    """A program that the agent may call by name."""

    command: Text
    """The program."""
    args: Texts = ()
    """Arguments that always come first."""
    pass_env: Texts = ()
    """Names of variables that it needs."""
    timeout_ms: Annotated[int, Field(ge=100, le=3_600_000)] = 30_000
    """How long it may take."""
    description: Text | None = None
    """What the model is told about it."""
    enabled: bool = True
    """Whether it is offered."""


class SandboxCommands(Section):
    """Ready-made and own programs; each further table is named after a command."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SandboxCommand] = Field(init=False)

    profile: Literal["bare", "assistant", "extended"] = "bare"
    """A set of presets."""
    presets: Annotated[Texts, AfterValidator(_known_presets)] = ()
    """Further presets: `ai_tools`, `dev_tools`."""

    @property
    def commands(self) -> Mapping[str, SandboxCommand]:
        """The owner's own commands, by name."""
        return self.__pydantic_extra__


class SandboxSettings(Section):
    """Folders that the agent's tools may reach."""

    mode: Literal["strict", "standard", "open"] = "standard"
    """`strict`: workspace and grants; `standard`: also where you called it from; `open`: your home folder too."""
    workspace_root: FilePath | None = None
    """The workspace; unset: `workspace` in the home."""
    allowed_roots: Paths = ()
    """Further folders."""
    blocked_roots: Paths = ()
    """Folders that are never reachable; these win."""
    env: SandboxEnvironment = SandboxEnvironment()
    commands: SandboxCommands = SandboxCommands()
