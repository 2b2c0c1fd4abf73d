"""`fermix doctor`: what is well, what is not, and what to do about it."""

from collections.abc import Iterator
from typing import Any

import click

from fermix.application.operations.doctor.report import Report, Row, RowStatus
from fermix.entrypoints.cli.command_failed import write_document
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.doctor import diagnose
from fermix.entrypoints.exit_codes import ExitCode
from fermix.version import __version__

_MARKS = {
    RowStatus.OK: "[ OK ]",
    RowStatus.WARN: "[WARN]",
    RowStatus.FAIL: "[FAIL]",
    RowStatus.SKIP: "[SKIP]",
}
_WORDS = {
    RowStatus.OK: "ok",
    RowStatus.WARN: "to be looked at",
    RowStatus.FAIL: "failed",
    RowStatus.SKIP: "skipped",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(*, as_json: bool) -> int:
    """Say what is well, what is not, and what to do about it.

    Works with and without the daemon, asks nobody outside, and changes nothing. Exit status 1 when a row fails.
    """
    terminal = this_terminal()
    home = home_folder(terminal.environ)
    report = diagnose(home, terminal.environ)
    status = ExitCode.FAILURE if report.failed else ExitCode.OK
    if as_json:
        document = {
            "home": str(home),
            "version": __version__,
            **document_of(report),
            "exit_code": int(status),
        }
        write_document(terminal.out, document)
    else:
        terminal.out.write(table_of(report))
    return status


def table_of(report: Report) -> str:
    """Three columns, details and remedies below their row, and the counts; harmless for a terminal."""
    width = max((len(row.name) for row in report.rows), default=0)
    counts = ", ".join(f"{count} {_WORDS[status]}" for status, count in report.counts.items() if count)
    lines = [line for row in report.rows for line in _lines(row, width)]
    return "".join(f"{line}\n" for line in [*lines, "", counts])


def _lines(row: Row, width: int) -> Iterator[str]:
    finding = row.finding
    yield f"{_MARKS[finding.status]} {row.name:<{width}}  {_one_line(finding.sentence)}"
    margin = " " * (width + 9)
    for detail in finding.details:
        yield f"{margin}- {_one_line(detail)}"
    if finding.remedy is not None:
        yield f"{margin}> {_one_line(finding.remedy)}"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def document_of(report: Report) -> dict[str, Any]:
    """The report for programs; `ok` is false when a row fails."""
    return {
        "ok": not report.failed,
        "rows": [
            {
                "name": row.name,
                "status": row.finding.status.value,
                "sentence": row.finding.sentence,
                "details": list(row.finding.details),
                "remedy": row.finding.remedy,
            }
            for row in report.rows
        ],
        "counts": {status.value: count for status, count in report.counts.items()},
    }
