"""Changes of the sandbox: what each makes of a policy, what it adds, and why it may be refused."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from typing import TypeAlias, TypeVar, assert_never

from fermix.domain.sandbox import Sandbox, SandboxMode, SandboxPolicy, is_within
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile
from fermix.domain.sandbox_environment import FromProgram, is_variable
from fermix.domain.trust import Trust

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantPath:
    """Let the agent reach a folder."""

    path: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokePath:
    """Take a grant back; the folder need not exist any more."""

    path: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """Reach further or less far."""

    mode: SandboxMode


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowVariable:
    """Show a variable of the daemon's environment to commands; a denial of it is lifted."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable:
    """Show a variable to commands whose value a program prints; a denial of it is lifted."""

    name: str
    command: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DenyVariable:
    """Never show a variable to commands."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetVariable:
    """Show a variable no longer than any other; a denial of it stays."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProfile:
    """Choose a set of presets."""

    profile: CommandProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class EnablePreset:
    """Offer the programs of a preset."""

    preset: CommandPreset


@dataclass(frozen=True, slots=True, kw_only=True)
class DisablePreset:
    """Offer the programs of a preset only as far as the profile brings them."""

    preset: CommandPreset


SandboxChange: TypeAlias = (
    GrantPath
    | RevokePath
    | SetMode
    | AllowVariable
    | SetVariable
    | DenyVariable
    | UnsetVariable
    | SetProfile
    | EnablePreset
    | DisablePreset
)


class ChangeProblem(StrEnum):
    """Why a change is refused."""

    BAD_PATH = "bad_path"
    MISSING = "missing"
    NOT_A_FOLDER = "not_a_folder"
    FILESYSTEM_ROOT = "filesystem_root"
    USER_HOME = "user_home"
    HOLDS_USER_HOME = "holds_user_home"
    OWN_HOME = "own_home"
    HOLDS_OWN_HOME = "holds_own_home"
    PROTECTED = "protected"
    BLOCKED = "blocked"
    NOT_GRANTED = "not_granted"
    BAD_VARIABLE = "bad_variable"
    BAD_PROGRAM = "bad_program"
    OUTDATED = "outdated"
    UNWRITABLE = "unwritable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What a change opens that was closed before."""

    roots: tuple[PurePath, ...] = ()
    variables: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.roots or self.variables or self.commands)

    def covers(self, other: "Additions") -> bool:
        """Whether nothing is in `other` that is not in here."""
        return (
            all(any(is_within(path, root) for root in self.roots) for path in other.roots)
            and set(other.variables) <= set(self.variables)
            and set(other.commands) <= set(self.commands)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProposal:
    """A change that was checked and not made yet.

    Attributes:
        change: with the canonical path.
        additions: what it opens; empty: nobody has to confirm it.
        diff: the lines of the configuration that it takes (`- `) and adds (`+ `), under the name of their table;
            empty: the configuration says so already.
        reason: why it is wanted, in the words of whoever wants it.
    """

    change: SandboxChange
    additions: Additions
    diff: tuple[str, ...]
    reason: str | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether the configuration says so already."""
        return not self.diff

    @property
    def widens(self) -> bool:
        """Whether it opens anything, so that its owner has to confirm it."""
        return bool(self.additions)


def changed(policy: SandboxPolicy, change: SandboxChange) -> SandboxPolicy:
    """The policy after a change."""
    match change:
        case GrantPath():
            return replace(policy, allowed=_with(policy.allowed, change.path))
        case RevokePath():
            return replace(policy, allowed=_without(policy.allowed, change.path))
        case SetMode():
            return replace(policy, mode=change.mode)
        case AllowVariable() | SetVariable() | DenyVariable() | UnsetVariable():
            return _with_variable(policy, change)
        case SetProfile():
            return replace(policy, commands=replace(policy.commands, profile=change.profile))
        case EnablePreset():
            presets = _with(policy.commands.presets, change.preset)
        case DisablePreset():
            presets = _without(policy.commands.presets, change.preset)
        case _:
            assert_never(change)
    return replace(policy, commands=replace(policy.commands, presets=presets))


def _with_variable(
    policy: SandboxPolicy, change: AllowVariable | SetVariable | DenyVariable | UnsetVariable
) -> SandboxPolicy:
    rules, name = policy.environment, change.name
    match change:
        case AllowVariable():
            rules = replace(rules, allow=_with(rules.allow, name), deny=_without(rules.deny, name))
        case SetVariable():
            source = FromProgram(command=change.command, arguments=change.arguments)
            rules = replace(
                rules,
                allow=_with(rules.allow, name),
                deny=_without(rules.deny, name),
                sources={**rules.sources, name: source},
            )
        case DenyVariable():
            rules = replace(rules, allow=_without(rules.allow, name), deny=_with(rules.deny, name))
        case UnsetVariable():
            rules = replace(rules, allow=_without(rules.allow, name))
        case _:
            assert_never(change)
    return replace(policy, environment=rules)


def problem_with(sandbox: Sandbox, change: SandboxChange) -> ChangeProblem | None:
    """Why a change of this sandbox is refused, as far as that can be said without looking at the disk."""
    match change:
        case GrantPath():
            problem = sandbox.root_problem(change.path)
            return None if problem is None else ChangeProblem(problem.value)
        case RevokePath():
            return None if change.path in sandbox.policy.allowed else ChangeProblem.NOT_GRANTED
        case AllowVariable() | SetVariable() | DenyVariable() | UnsetVariable():
            return _problem_with_variable(change)
        case SetMode() | SetProfile() | EnablePreset() | DisablePreset():
            return None
        case _:
            assert_never(change)


def _problem_with_variable(
    change: AllowVariable | SetVariable | DenyVariable | UnsetVariable,
) -> ChangeProblem | None:
    if not is_variable(change.name):
        return ChangeProblem.BAD_VARIABLE
    if isinstance(change, SetVariable):
        words = (change.command, *change.arguments)
        if not change.command.strip() or not all(word.isprintable() for word in words):
            return ChangeProblem.BAD_PROGRAM
    return None


def additions(before: Sandbox, after: Sandbox) -> Additions:
    """What `after` opens that `before` kept closed.

    Roots are those of an operator's turn that brings no folder of its own; a folder inside one that was open is no
    addition. A variable or program whose source changed counts as added.
    """
    open_before = [root.path for root in before.roots(trust=Trust.OPERATOR, request_cwd=None)]
    roots = [root.path for root in after.roots(trust=Trust.OPERATOR, request_cwd=None)]
    offered = before.policy.commands.offered()
    return Additions(
        roots=tuple(path for path in roots if not any(is_within(path, known) for known in open_before)),
        variables=tuple(_added_variables(before.policy, after.policy)),
        commands=tuple(
            name for name, command in after.policy.commands.offered().items() if offered.get(name) != command
        ),
    )


def _added_variables(before: SandboxPolicy, after: SandboxPolicy) -> Iterable[str]:
    old, new = before.environment, after.environment
    for name in dict.fromkeys(new.allow):
        if new.shows(name) and not (old.shows(name) and old.sources.get(name) == new.sources.get(name)):
            yield name


def _with(values: tuple[_T, ...], value: _T) -> tuple[_T, ...]:
    return values if value in values else (*values, value)


def _without(values: tuple[_T, ...], value: _T) -> tuple[_T, ...]:
    return tuple(each for each in values if each != value)
