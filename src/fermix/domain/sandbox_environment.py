"""What the agent's commands see of the environment. Pure: the values come in, nothing is run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

ORDINARY = frozenset({"PATH", "HOME", "USER", "LANG", "SHELL", "TMPDIR"})
"""Variables that every command sees, besides those that begin with `LC_`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvironmentMode(StrEnum):
    """Where the list of variables begins."""

    ALLOWLIST = "allowlist"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class FromDaemon:
    """The value that the variable `name` has in the daemon's environment."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FromProgram:
    """What a program prints, without the line end."""

    command: str
    arguments: tuple[str, ...] = ()
    time_limit: timedelta = timedelta(seconds=3)


VariableSource: TypeAlias = FromDaemon | FromProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPlan:
    """The environment of one command.

    Attributes:
        values: what is known already.
        programs: variables whose value a program has to give.
        missing: allowed variables that have no value anywhere; the command runs without them.
    """

    values: Mapping[str, str] = field(repr=False)
    programs: Mapping[str, FromProgram] = field(default_factory=dict[str, FromProgram])
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRules:
    """The owner's decisions about variables.

    Attributes:
        allow: names that commands see besides the ordinary ones.
        deny: names that they never see; these win, over ordinary ones too.
        sources: where the values of allowed names come from; absent: from the daemon, under the same name.
    """

    mode: EnvironmentMode = EnvironmentMode.ALLOWLIST
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sources: Mapping[str, VariableSource] = field(default_factory=dict[str, VariableSource])

    def shows(self, name: str) -> bool:
        """Whether commands see a variable of that name, if it has a value."""
        if name in self.deny or not is_variable(name):
            return False
        return self.mode is EnvironmentMode.ALL or is_ordinary(name) or name in self.allow

    def plan(self, daemon: Mapping[str, str]) -> EnvironmentPlan:
        """What a command gets.

        Args:
            daemon: the daemon's own environment.
        """
        named = [name for name in dict.fromkeys(self.allow) if self.shows(name)]
        values = {name: value for name, value in daemon.items() if self.shows(name)}
        programs: dict[str, FromProgram] = {}
        missing: list[str] = []
        for name in named:
            source = self.sources.get(name, FromDaemon(name=name))
            if isinstance(source, FromProgram):
                values.pop(name, None)
                programs[name] = source
            elif source.name in daemon:
                values[name] = daemon[source.name]
            else:
                values.pop(name, None)
                missing.append(name)
        return EnvironmentPlan(values=values, programs=programs, missing=tuple(missing))


def is_ordinary(name: str) -> bool:
    """Whether every command sees this variable."""
    return name in ORDINARY or name.startswith("LC_")


def is_variable(name: str) -> bool:
    """Whether a variable can have this name."""
    return _NAME.fullmatch(name) is not None
