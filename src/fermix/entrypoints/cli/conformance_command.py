"""`fermix conformance`: prove that an adapter keeps the promises of its port."""

from collections.abc import Sequence
from typing import Any, TextIO

import click

from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.conformance import (
    ConformanceUnavailable,
    Outcome,
    Suite,
    find_suites,
    promise_of,
    run_suites,
)
from fermix.entrypoints.exit_codes import ExitCode


@click.command()
@click.argument("module")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def conformance(module: str, *, as_json: bool) -> int:
    """Prove that an adapter keeps the promises of its port.

    MODULE (such as my_package.my_channel) holds a class that subclasses ChannelConformance, ModelConformance,
    TranscriberConformance, SecretStoreConformance, BlobConformance or LedgerConformance of fermix.testing.suites;
    of a package its module "conformance" will do. What it declares that it cannot keep is printed first. Exit
    status 1 when a promise is not kept.
    """
    terminal = this_terminal()
    try:
        suites = find_suites(module)
    except ConformanceUnavailable as exc:
        raise CommandFailed(f"{exc}.", code=exc.code, exit_code=ExitCode.USAGE) from exc
    if not as_json:
        _write(terminal.out, gap_lines(suites))
    outcomes: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        if not as_json:
            is_next = len(suites) > 1 and (not outcomes or outcomes[-1].suite != outcome.suite)
            _write(
                terminal.out,
                [f"{outcome.suite}:", outcome_line(outcome)] if is_next else [outcome_line(outcome)],
            )
        outcomes.append(outcome)

    passed = run_suites(suites, tell=tell)
    status = ExitCode.OK if passed else ExitCode.FAILURE
    if as_json:
        write_document(terminal.out, _document(suites, outcomes, status))
    else:
        _write(terminal.out, ["", summary(outcomes)])
    return status


def gap_lines(suites: Sequence[Suite]) -> list[str]:
    """What each suite declares that its adapter cannot keep, a line for each gap."""
    lines: list[str] = []
    for suite in suites:
        count = len(suite.gaps)
        declared = "declares no gap" if not count else f"declares {count} gap{'s' if count > 1 else ''}:"
        lines.append(f"{suite.__name__} {declared}")
        lines += [f"  {gap.check}: {gap.reason}" for gap in suite.gaps]
    return [*lines, ""]


def outcome_line(outcome: Outcome) -> str:
    """One line for one check."""
    if outcome.failure is not None:
        own, _, _ = outcome.check.partition(" ")
        return f"FAILED  {outcome.check}: {outcome.failure.removeprefix(f'{own}: ')}"
    return f"gap     {outcome.check}" if outcome.gap is not None else f"passed  {outcome.check}"


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many ended how."""
    failed = sum(outcome.failure is not None for outcome in outcomes)
    gaps = sum(outcome.gap is not None for outcome in outcomes)
    kept = len(outcomes) - failed - gaps
    return f"{kept} kept, {gaps} met a declared gap, {failed} failed"


def _document(suites: Sequence[Suite], outcomes: Sequence[Outcome], status: ExitCode) -> dict[str, Any]:
    return {
        "ok": status is ExitCode.OK,
        "suites": [
            {
                "name": suite.__name__,
                "gaps": [{"check": gap.check, "reason": gap.reason} for gap in suite.gaps],
            }
            for suite in suites
        ],
        "checks": [
            {
                "suite": outcome.suite,
                "check": outcome.check,
                "promise": promise_of(suites, outcome.check.partition(" ")[0]),
                "status": "failed" if outcome.failure else "gap" if outcome.gap else "passed",
                "failure": outcome.failure,
            }
            for outcome in outcomes
        ],
        "exit_code": int(status),
    }


def _write(out: TextIO, lines: Sequence[str]) -> None:
    out.write("".join(f"{visible(line)}\n" for line in lines))
    out.flush()
