"""Whether the database of messages and turns is sound, and what waits in it for its owner."""

from collections.abc import Iterator
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, fail, ok, skip, warn
from fermix.application.operations.doctor.sizes import MIB, size

WAL_WARN_ABOVE = 256 * MIB
"""The writer brings its log back every few MiB; this much means that something keeps it from doing so."""

_MOST_NAMED = 10
_BACKUP = "restore a backup, or move the file away: it holds what was said and what waits"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """The database's files as they are found.

    Attributes:
        path: of the main file.
        exists: whether it is there.
        bytes: its size.
        wal_bytes: size of the log beside it.
        mode: permission bits of the most open of them.
        in_use: an owner has it open, so nothing more was looked at.
        unread: why its content could not be looked at without changing anything; nobody's fault.
        closed: why this user cannot look at it.
        trouble: why it cannot be used.
        schema: version of its tables.
        checked: whether all of it was looked at for damage in the time there was.
    """

    path: str
    exists: bool
    bytes: int = 0
    wal_bytes: int = 0
    mode: int = 0o600
    in_use: bool = False
    unread: str | None = None
    closed: str | None = None
    trouble: str | None = None
    schema: int | None = None
    checked: bool = False


def judge_database(facts: DatabaseFacts) -> Finding:
    """Fails where a start would, and where the content is damaged."""
    return next(_findings(facts))


def _findings(facts: DatabaseFacts) -> Iterator[Finding]:
    """All that holds, the first thing to say first."""
    if not facts.exists:
        yield ok(f"{facts.path} does not exist yet; the first start makes it")
    if facts.closed is not None:
        yield fail(facts.closed, remedy="run as the user that owns the home, or correct its permissions")
    if facts.trouble is not None:
        yield fail(facts.trouble, remedy=_BACKUP)
    sizes = f"{facts.path} has {size(facts.bytes)} and a log of {size(facts.wal_bytes)}"
    if facts.mode & 0o077:
        yield warn(
            f"{sizes}, and other users may open it (mode {facts.mode:04o})",
            remedy=f"chmod 600 {facts.path}; the next start does it too",
        )
    if facts.wal_bytes > WAL_WARN_ABOVE:
        yield warn(
            f"{sizes}; more than {size(WAL_WARN_ABOVE)} means that another program keeps the database open",
            remedy="end that program, or restart the daemon",
        )
    if facts.in_use:
        yield ok(f"{sizes}; in use, so its content was left alone")
    if facts.unread is not None:
        yield ok(f"{sizes}; {facts.unread}")
    state = "no damage found" if facts.checked else "no damage found in the time there was"
    yield ok(f"{sizes}; version {facts.schema} of its tables, {state}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedFacts:
    """Requests that a death cut off after they had done something; each pauses its conversation.

    Attributes:
        count: how many; `None`: not known.
        turns: their ids, where they are known.
        unknown_because: why the count is not known.
    """

    count: int | None
    turns: tuple[int, ...] = ()
    unknown_because: str = ""


def judge_paused(facts: PausedFacts) -> Finding:
    """Warns while a conversation waits for a decision that only its owner can take."""
    if facts.count is None:
        return skip(facts.unknown_because)
    if facts.count == 0:
        return ok("no conversation waits for a decision")
    what = "1 conversation waits" if facts.count == 1 else f"{facts.count} conversations wait"
    named = ", ".join(map(str, facts.turns[:_MOST_NAMED]))
    more = f" and {len(facts.turns) - _MOST_NAMED} more" if len(facts.turns) > _MOST_NAMED else ""
    details = [f"lost requests: {named}{more}"] if facts.turns else []
    return warn(
        f"{what} for a decision: a request was cut off after it had done something",
        details=details,
        remedy='in a chat of yours or with `fermix ask`: "/retry" runs it again, "/discard" drops it',
    )
