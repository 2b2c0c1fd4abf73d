"""Runs `fermix` as the process a user would start."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

LIMIT_SECONDS = 20
PROGRAM = (sys.executable, "-m", "fermix.entrypoints.cli.main")


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one document of a `--json` run."""
        return json.loads(self.out)


def environment(home: Path, **more: str) -> Mapping[str, str]:
    return {**os.environ, "FERMIX_HOME": str(home), "PYTHONWARNINGS": "error", **more}


def fermix(
    home: Path, *arguments: str | bytes, text: bytes | None = None, cwd: Path | None = None, **more: str
) -> Done:
    """Run one command; `text` is piped into it, without it standard input is empty and no pipe."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    done = subprocess.run(
        [*PROGRAM, *arguments],
        check=False,
        capture_output=True,
        env=environment(home, **more),
        cwd=cwd,
        timeout=LIMIT_SECONDS,
        **given,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
