"""Runs `fermix doctor` and reads its document; and remembers how a folder was."""

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.cli.command_line import Done, fermix


class Seen(NamedTuple):
    """One run with `--json`."""

    status: int
    rows: dict[str, Any]
    text: str

    def status_of(self, name: str) -> str:
        return str(self.rows[name]["status"])

    def words_of(self, name: str) -> str:
        row = self.rows[name]
        return "\n".join([row["sentence"], *row["details"], row["remedy"] or ""])


def doctor(home: Path, **environ: str) -> Seen:
    done: Done = fermix(home, "doctor", "--json", text=None, cwd=None, **environ)
    assert done.err == ""
    document = done.document
    assert document["exit_code"] == done.status
    assert document["ok"] == (done.status == 0)
    return Seen(done.status, {row["name"]: row for row in document["rows"]}, done.out)


def trace_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Name, kind, mode, owner, size, time and content of everything in a folder; reading leaves no trace in it.

    Not the time of the last change of rights: SQLite, run by root, gives each file the owner that it has.
    """
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *folder.rglob("*")] if folder.exists() else []:
        status = os.lstat(path)
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        owner = (status.st_uid, status.st_gid)
        found[str(path)] = (status.st_mode, owner, status.st_size, status.st_mtime_ns, content)
    return found
