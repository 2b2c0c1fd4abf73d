"""Which folders the agent may reach, decided from paths alone.

Every path here is absolute and canonical: links followed, `..` taken out, in the case the file system has. Whoever
asks makes it so, and opens what was decided on so that a race cannot lead elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import TypeAlias

from fermix.domain.sandbox_commands import CommandRules
from fermix.domain.sandbox_environment import EnvironmentRules
from fermix.domain.trust import Trust


class SandboxMode(StrEnum):
    """How far the agent reaches; each mode includes the one before it."""

    STRICT = "strict"
    STANDARD = "standard"
    OPEN = "open"


class RootSource(StrEnum):
    """Why a folder may be reached."""

    WORKSPACE = "workspace"
    REQUEST_CWD = "request_cwd"
    LAUNCH_FOLDER = "launch_folder"
    GRANT = "grant"
    USER_HOME = "user_home"


class RootProblem(StrEnum):
    """Why a folder can be no root."""

    FILESYSTEM_ROOT = "filesystem_root"
    USER_HOME = "user_home"
    HOLDS_USER_HOME = "holds_user_home"
    OUTSIDE_USER_HOME = "outside_user_home"
    OWN_HOME = "own_home"
    HOLDS_OWN_HOME = "holds_own_home"
    PROTECTED = "protected"
    BLOCKED = "blocked"


class SandboxRule(StrEnum):
    """Which rule keeps a path out, in the order they are asked."""

    PROTECTED = "protected"
    BLOCKED = "blocked"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveRoot:
    """A folder that may be reached with everything below it, and why."""

    path: PurePath
    source: RootSource


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredRoot:
    """A folder that the configuration names and that is no root all the same."""

    root: EffectiveRoot
    problem: RootProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """The path may be reached; `root` is what lets it in."""

    root: EffectiveRoot


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """The path may not be reached; `by` is the protected or blocked path that keeps it out."""

    rule: SandboxRule
    by: PurePath | None = None


Verdict: TypeAlias = Reachable | Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """The owner's decisions.

    Attributes:
        workspace: the agent's own folder.
        allowed: folders that were granted.
        blocked: folders or files that are never reached, whatever else lets them in.
        environment: what the agent's commands see of the environment.
        commands: programs that the agent may call by name.
    """

    mode: SandboxMode
    workspace: PurePath
    allowed: tuple[PurePath, ...] = ()
    blocked: tuple[PurePath, ...] = ()
    environment: EnvironmentRules = field(default_factory=EnvironmentRules)
    commands: CommandRules = field(default_factory=CommandRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxGround:
    """What the machine adds to the policy.

    Attributes:
        user_home: the home folder of the person.
        home: our own, with settings, ledger and secrets; nothing in it but the workspace is ever reached.
        protected: what is never reached in any mode, `home` included.
        launch_folder: the folder that the gateway was started in.
    """

    user_home: PurePath
    home: PurePath
    protected: tuple[PurePath, ...]
    launch_folder: PurePath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Policy and ground together: all that a decision about a path needs."""

    policy: SandboxPolicy
    ground: SandboxGround

    def roots(self, *, trust: Trust | None, request_cwd: PurePath | None) -> tuple[EffectiveRoot, ...]:
        """The folders that a turn may reach, in the order in which relative paths are looked for in them.

        Args:
            trust: of the turn; only an operator brings a folder of their own.
            request_cwd: the folder that the local asker was in.
        """
        found: dict[PurePath, EffectiveRoot] = {}
        for root in self._wanted(trust=trust, request_cwd=request_cwd):
            if self.problem_of(root) is None:
                found.setdefault(root.path, root)
        return tuple(found.values())

    def judge(self, path: PurePath, *, trust: Trust | None, request_cwd: PurePath | None) -> Verdict:
        """Whether a turn may reach a path: in this order, is it protected, is it blocked, is it in a root."""
        protecting = self.protecting(path)
        if protecting is not None:
            return Unreachable(rule=SandboxRule.PROTECTED, by=protecting)
        blocking = self.blocking(path)
        if blocking is not None:
            return Unreachable(rule=SandboxRule.BLOCKED, by=blocking)
        for root in self.roots(trust=trust, request_cwd=request_cwd):
            if is_within(path, root.path):
                return Reachable(root=root)
        return Unreachable(rule=SandboxRule.OUTSIDE)

    def ignored(self) -> tuple[IgnoredRoot, ...]:
        """What the configuration names as a root and cannot be one."""
        named = [
            EffectiveRoot(path=self.policy.workspace, source=RootSource.WORKSPACE),
            *(EffectiveRoot(path=path, source=RootSource.GRANT) for path in self.policy.allowed),
        ]
        problems = [(root, self.problem_of(root)) for root in named]
        return tuple(
            IgnoredRoot(root=root, problem=problem) for root, problem in problems if problem is not None
        )

    def problem_of(self, root: EffectiveRoot) -> RootProblem | None:
        """Why this folder cannot be a root of that kind, or `None`."""
        path = root.path
        match root.source:
            case RootSource.USER_HOME:
                return self._closed(path)
            case RootSource.REQUEST_CWD | RootSource.LAUNCH_FOLDER:
                if self.ground.user_home not in path.parents:
                    return RootProblem.OUTSIDE_USER_HOME
                if is_within(path, self.policy.workspace):
                    return RootProblem.OWN_HOME
        return self.root_problem(path)

    def root_problem(self, path: PurePath) -> RootProblem | None:
        """Why a folder cannot be granted, or `None`: too much would be open, or it stays closed anyway."""
        user_home, home = self.ground.user_home, self.ground.home
        if not path.parents:
            return RootProblem.FILESYSTEM_ROOT
        if path == user_home:
            return RootProblem.USER_HOME
        if path in user_home.parents:
            return RootProblem.HOLDS_USER_HOME
        if path in home.parents:
            return RootProblem.HOLDS_OWN_HOME
        return self._closed(path)

    def protecting(self, path: PurePath) -> PurePath | None:
        """The protected path that `path` is or lies in; the workspace is open although it lies in our home."""
        home, workspace = self.ground.home, self.policy.workspace
        in_workspace = home in workspace.parents and is_within(path, workspace)
        for folder in self.ground.protected:
            if is_within(path, folder) and not (in_workspace and is_within(home, folder)):
                return folder
        return None

    def blocking(self, path: PurePath) -> PurePath | None:
        """The blocked path that `path` is or lies in."""
        return next((folder for folder in self.policy.blocked if is_within(path, folder)), None)

    def _closed(self, path: PurePath) -> RootProblem | None:
        protecting = self.protecting(path)
        if protecting is not None:
            return RootProblem.OWN_HOME if protecting == self.ground.home else RootProblem.PROTECTED
        return None if self.blocking(path) is None else RootProblem.BLOCKED

    def _wanted(self, *, trust: Trust | None, request_cwd: PurePath | None) -> Iterator[EffectiveRoot]:
        policy = self.policy
        yield EffectiveRoot(path=policy.workspace, source=RootSource.WORKSPACE)
        if policy.mode is not SandboxMode.STRICT:
            if request_cwd is not None and trust is Trust.OPERATOR:
                yield EffectiveRoot(path=request_cwd, source=RootSource.REQUEST_CWD)
            if self.ground.launch_folder is not None:
                yield EffectiveRoot(path=self.ground.launch_folder, source=RootSource.LAUNCH_FOLDER)
        for path in policy.allowed:
            yield EffectiveRoot(path=path, source=RootSource.GRANT)
        if policy.mode is SandboxMode.OPEN:
            yield EffectiveRoot(path=self.ground.user_home, source=RootSource.USER_HOME)


def is_within(path: PurePath, folder: PurePath) -> bool:
    """Whether a path is the folder or lies below it."""
    parts = folder.parts
    return path.parts[: len(parts)] == parts


_OF_A_USER = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".docker",
    ".kube",
    ".codex",
    ".claude",
    ".anthropic",
    ".config/anthropic",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/op",
    ".local/share/keyrings",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
)
"""What holds credentials in a person's home."""

_OF_THE_SYSTEM = (
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/dev",
    "/proc",
    "/sys",
    "/System",
    "/Library",
)


def protected_paths(*, user_home: PurePath, home: PurePath) -> tuple[PurePath, ...]:
    """What no mode and no grant opens, as it is named; our own home comes first."""
    return (
        home,
        *(user_home / name for name in _OF_A_USER),
        *(PurePath(name) for name in _OF_THE_SYSTEM),
    )
