"""How a command that cannot do its work says so: on stderr for a person, as one document for a program."""

import json
from typing import Any, TextIO

from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode


class CommandFailed(Exception):
    """A command's bad end.

    Attributes:
        code: one word for programs.
        exit_code: the status to end with.
        facts: further fields of the JSON document.
    """

    def __init__(
        self, message: str, *, code: str, exit_code: ExitCode, facts: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code
        self.facts = facts or {}


def report(failure: CommandFailed, *, as_json: bool, out: TextIO, err: TextIO) -> int:
    """Tell it and give back the exit status."""
    if as_json:
        write_document(
            out,
            {
                "ok": False,
                "error": {"code": failure.code, "message": str(failure)},
                "exit_code": int(failure.exit_code),
                **failure.facts,
            },
        )
    elif str(failure):
        err.write(f"fermix: {visible(str(failure))}\n")
    return int(failure.exit_code)


def write_document(out: TextIO, document: dict[str, Any]) -> None:
    """The one document of a `--json` run. Pure ASCII: it is safe on any terminal and in any encoding."""
    out.write(json.dumps(document) + "\n")
    out.flush()
