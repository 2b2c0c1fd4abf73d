"""Whether the home can be used, and by its owner alone."""

from collections.abc import Iterator
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, fail, ok, warn

_OTHERS = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """The home's folder as it is found.

    Attributes:
        path: absolute.
        exists: whether anything is there.
        is_folder: whether it is a folder, links followed; of the nearest folder above while it does not exist.
        is_ours: whether it belongs to this user; likewise.
        usable: whether this user may read, write and enter it; likewise.
        mode: its permission bits.
        exposed_at: a folder above it where every user may replace what is in it.
        read_only: whether its file system is.
        is_text: whether the path is UTF-8, as `daemon.json` and every reply need it.
    """

    path: str
    exists: bool
    is_folder: bool = True
    is_ours: bool = True
    usable: bool = True
    mode: int = 0o700
    exposed_at: str | None = None
    read_only: bool = False
    is_text: bool = True


_ELSEWHERE = "or set FERMIX_HOME to another folder"


def judge_home(facts: HomeFacts) -> Finding:
    """Fails where a start would."""
    return next(_findings(facts))


def _findings(facts: HomeFacts) -> Iterator[Finding]:
    """All that holds, the first thing to say first."""
    if not facts.is_text:
        yield fail(f"the path {facts.path} is not UTF-8 text", remedy="set FERMIX_HOME to another folder")
    if not facts.is_folder:
        yield fail(f"{facts.path} cannot be a home: no folder is there", remedy=f"move it away, {_ELSEWHERE}")
    if facts.exposed_at is not None:
        sentence = f"every user may replace {facts.path}, for {facts.exposed_at} is writable by all"
        yield fail(sentence, remedy=f"chmod o-w {facts.exposed_at}, {_ELSEWHERE}")
    if facts.read_only:
        yield fail(f"the file system of {facts.path} is read-only", remedy=f"mount it writable, {_ELSEWHERE}")
    if not facts.exists:
        if not facts.usable:
            yield fail(f"{facts.path} does not exist and cannot be made", remedy=f"make it, {_ELSEWHERE}")
        yield ok(f"{facts.path} does not exist yet; the first start makes it")
    if not facts.is_ours:
        yield fail(f"{facts.path} belongs to another user", remedy=f"run as that user, {_ELSEWHERE}")
    if not facts.usable:
        sentence = f"this user may not read, write and enter {facts.path} (mode {facts.mode:04o})"
        yield fail(sentence, remedy=f"chmod 700 {facts.path}, {_ELSEWHERE}")
    if facts.mode & _OTHERS:
        sentence = f"{facts.path} is open to other users (mode {facts.mode:04o})"
        yield warn(sentence, remedy=f"chmod 700 {facts.path}; the next start does it too")
    yield ok(f"{facts.path} is usable, by its owner alone")
