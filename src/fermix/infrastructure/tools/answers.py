"""The sentences a model reads when a file cannot be read or a search ended early."""

import json
from collections.abc import Iterable

from fermix.application.ports.workspace import PathProblem, PathRefused, StopReason

_PROBLEMS = {
    PathProblem.BAD_NAME: "is not a usable path.",
    PathProblem.OUTSIDE: "lies outside the folders you may read. Relative paths begin in the workspace.",
    PathProblem.PROTECTED: "lies in a protected folder that is never read.",
    PathProblem.BLOCKED: "lies in a place that the owner has closed; it is never read.",
    PathProblem.MISSING: "does not exist. Use glob_search to look for it.",
    PathProblem.NOT_A_FILE: "is not a regular file.",
    PathProblem.NOT_A_FOLDER: "is not a folder.",
    PathProblem.IS_A_FOLDER: "is a folder. Use glob_search to see what is in it.",
    PathProblem.TOO_MANY_LINKS: "goes through too many links.",
    PathProblem.NO_PERMISSION: "may not be read by this user.",
    PathProblem.BINARY: "is a binary file and cannot be shown as text.",
    PathProblem.UNREADABLE: "cannot be read: the file system reports an error.",
}

_STOPS = {
    StopReason.MATCHES: "there are more results than are shown",
    StopReason.ENTRIES: "too many files had to be looked at",
    StopReason.BYTES: "too much text had to be read",
    StopReason.TIME: "it took too long",
}

MAX_ANSWER_BYTES = 100 * 1024
"""A list of results is no longer than this; notes come on top."""

_NAME_SHOWN = 300


def refused(error: PathRefused) -> str:
    """Why a path was not read."""
    return f"{quoted(error.path)} {_PROBLEMS[error.reason]}"


def stopped(reason: StopReason) -> str:
    """Which part of the answer is missing, and what to do about it."""
    return f"[The search ended early: {_STOPS[reason]}. Narrow it with `path` or a narrower pattern.]"


def listing(lines: Iterable[str], *notes: str) -> str:
    """Result lines, as many as fit into an answer, and then the notes."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode(errors="replace")) + 1
        if size > MAX_ANSWER_BYTES:
            notes = (*notes, stopped(StopReason.MATCHES))
            break
        kept.append(line)
    return "\n".join([*kept, *dict.fromkeys(notes)])


def one_line(name: str) -> str:
    """A file name as one line: a name with line breaks or other invisible characters is shown as a JSON string."""
    return name if name.isprintable() else json.dumps(name)


def quoted(name: str) -> str:
    """A name inside a sentence."""
    short = name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}…"
    return json.dumps(short, ensure_ascii=not short.isprintable())
