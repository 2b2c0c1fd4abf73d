"""Whether the owner of the home runs and is well, and whether its control socket is closed to others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from fermix.application.operations.doctor.report import Finding, fail, ok, skip, warn
from fermix.application.ports.control import OwnerKind, Readiness, RefusedSender, Status

_TRIES_AGAIN = "its log says more; what cannot be reached, or finds no room, is tried again by itself"
_RESTART = "`fermix stop`, then start it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOwner:
    """Nobody owns the home.

    Attributes:
        wanted: channels that wait for a daemon.
    """

    wanted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenOwner:
    """Whether anybody owns the home cannot be seen from here; `why` ends a sentence."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentOwner:
    """Somebody holds the home, or the socket, and did not answer as an owner should; `why` is a sentence."""

    pid: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringOwner:
    """The owner told how it stands.

    Attributes:
        refused: who was refused lately, the newest first; `None` when it does not tell.
    """

    status: Status
    refused: tuple[RefusedSender, ...] | None = None


Owner: TypeAlias = NoOwner | HiddenOwner | SilentOwner | AnsweringOwner


def judge_daemon(owner: Owner, *, home: str, version: str) -> Finding:
    """Fails when the owner hangs or is degraded.

    Args:
        owner: what was found.
        home: the home that was meant.
        version: of this program.
    """
    match owner:
        case NoOwner():
            return _not_running(owner)
        case HiddenOwner():
            return skip(f"not looked for: {owner.why}")
        case SilentOwner():
            who = "a process" if owner.pid is None else f"process {owner.pid}"
            return fail(
                f"{who} holds the home but does not answer: {owner.why}",
                remedy="wait a moment if it has just started; else end that process",
            )
        case AnsweringOwner():
            return next(_answered(owner.status, home=home, version=version))
        case _:
            assert_never(owner)


def _not_running(owner: NoOwner) -> Finding:
    if owner.wanted:
        names = ", ".join(owner.wanted)
        return warn(f"not running, so nothing is received from {names}", remedy="`fermix run`")
    return ok("not running; `fermix ask` answers without it")


def _answered(status: Status, *, home: str, version: str) -> Iterator[Finding]:
    """All that holds, the first thing to say first."""
    identity = status.identity
    if identity.kind is OwnerKind.IN_PROCESS:
        yield ok(f"not running; a `fermix ask` (process {identity.pid}) is using the home")
    running = f"running as process {identity.pid}, version {identity.version}"
    health = status.health
    details = [
        *(f"failing: {name}" for name in health.failures),
        *(f"{one.name}: {one.status}{_because(one.detail)}" for one in health.providers if one.detail),
        *(f"{one.name}: {one.status}{_because(one.detail)}" for one in health.channels if one.detail),
    ]
    if health.status is Readiness.READY:
        details = []  # what a ready owner lacks is nothing that anybody asked for
    if health.status is Readiness.DEGRADED:
        yield fail(f"{running}, degraded", remedy=_TRIES_AGAIN, details=details)
    if identity.home != home:
        yield warn(f"{running}, but for the home {identity.home}", remedy=_RESTART, details=details)
    if identity.version != version:
        sentence = f"{running}, while this program is version {version}"
        yield warn(sentence, remedy=_RESTART, details=details)
    if health.status is Readiness.SETUP_REQUIRED:
        yield warn(f"{running}; it needs to be set up", remedy="see the lines above it", details=details)
    if status.draining:
        yield ok(f"{running}, ending", details=details)
    yield ok(f"{running}, ready", details=details)


def _because(detail: str | None) -> str:
    return "" if detail is None else f" ({detail})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketFacts:
    """The control socket as it is found.

    Attributes:
        path: where it lies.
        exists: whether anything is there.
        is_socket: whether that is a socket.
        is_ours: whether it belongs to this user.
        mode: its permission bits.
        folder_private: whether others are kept out of its folder.
        served: whether an owner runs.
    """

    path: str
    exists: bool
    is_socket: bool = True
    is_ours: bool = True
    mode: int = 0o600
    folder_private: bool = True
    served: bool = True


def judge_socket(facts: SocketFacts) -> Finding:
    """Fails where others could put their own in its place, or nobody can connect."""
    return next(_socket_findings(facts))


def _socket_findings(facts: SocketFacts) -> Iterator[Finding]:
    """All that holds, the first thing to say first."""
    if not facts.exists:
        if facts.served:
            yield fail(f"{facts.path} is missing, so nobody can connect", remedy="restart the daemon")
        yield skip("there is none while nobody owns the home")
    if not facts.is_socket:
        yield fail(f"{facts.path} is no socket", remedy="move it away: a start cannot listen there")
    if not facts.is_ours:
        yield fail(f"{facts.path} belongs to another user", remedy="remove it, and see who put it there")
    if facts.mode & 0o077:
        yield warn(
            f"{facts.path} is open to other users (mode {facts.mode:04o}); each is still asked who they are",
            remedy=f"chmod 600 {facts.path}",
        )
    if not facts.folder_private:
        yield warn(f"the folder of {facts.path} is open to other users", remedy="chmod 700 the folder")
    if not facts.served:
        yield ok(f"{facts.path} was left by a former owner; the next start replaces it")
    yield ok(f"{facts.path} is there, for its owner alone")
