"""What is told about a setup: the changes, what to do next, and what came of trying."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fermix.application.operations.doctor.report import RowStatus
from fermix.entrypoints.cli.setup.answers import Answers
from fermix.entrypoints.cli.setup.changes import Change, Put, Take, missing_credentials
from fermix.entrypoints.cli.setup.platforms import Looked
from fermix.entrypoints.cli.setup.present import CHANNELS, Present
from fermix.entrypoints.cli.setup.saving import SavedSetup
from fermix.entrypoints.doctor_rows.platforms import to_enter
from fermix.entrypoints.exit_codes import ExitCode
from fermix.entrypoints.messengers import missing_library
from fermix.infrastructure.settings.key_names import find_key
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.value_text import MASK, toml_text

WITHIN_SECONDS = "within_seconds"
AFTER_RESTART = "after_restart"

_MARKS = {
    RowStatus.OK: "[ OK ]",
    RowStatus.WARN: "[WARN]",
    RowStatus.FAIL: "[FAIL]",
    RowStatus.SKIP: "[SKIP]",
}


def summary(changes: Sequence[Change]) -> Iterator[str]:
    """One line for each change, secrets masked."""
    for change in changes:
        match change:
            case Put(path=path, value=value, secret=secret):
                yield f"{dotted(path)} = {MASK if secret else toml_text(value)}"
            case Take(path=path):
                yield f"{dotted(path)} is taken out"


def applies(changes: Sequence[Change], *, daemon: bool) -> str | None:
    """When a running daemon takes the changes; `None` where none runs or nothing changed."""
    if not daemon or not changes:
        return None
    by_itself = all(find_key(change.path).is_policy for change in changes)
    return WITHIN_SECONDS if by_itself else AFTER_RESTART


def notes(answers: Answers, present: Present, saved: SavedSetup) -> Iterator[str]:
    """What is valid and perhaps not meant, a line each.

    Args:
        answers: what was told.
        present: what stood there before, with the environment.
        saved: what was made of it.
    """
    instead = {each.instead for each in saved.kept.values() if each.instead is not None}
    for why in sorted(instead):
        yield f"a private file holds the secrets: {why}"
    for change in saved.changes:
        if change.path in present.variables:
            yield f"{present.variables[change.path]} is set in this environment and wins over the file"
    for answer in answers.channels:
        missing = missing_credentials(answer, present)
        if missing:
            keys = " and ".join(dotted((*CHANNELS, answer.name, key)) for key in missing)
            yield f"{answer.name} cannot start yet: {keys} must be set"


def next_steps(
    answers: Answers, settings: Settings, *, applies_when: str | None, daemon: bool
) -> Iterator[str]:
    """What its owner does now, a line each; looked up is only whether a library is installed.

    Args:
        answers: what was told.
        settings: as they are now.
        applies_when: see `applies`.
        daemon: whether one runs.
    """
    if applies_when == AFTER_RESTART:
        yield "a daemon is running: restart it to apply this (`fermix stop`, then start it again)"
    if applies_when == WITHIN_SECONDS:
        yield "the running daemon takes it within seconds"
    yield 'ask something: `fermix ask "What can you do?"`'
    channels = settings.channels.by_name()
    told = [answer.name for answer in answers.channels if channels[answer.name].enabled]
    for name in told:
        if (install := missing_library(name)) is not None:
            yield f"install what {name} needs: {install}"
    if told and not daemon:
        yield f"start the daemon, which serves {' and '.join(told)}: `fermix run`"
    for name in told:
        yield from to_enter(channels[name], settings.web)


def tried_lines(looked: Sequence[Looked]) -> Iterator[str]:
    """What came of trying, as doctor shows it."""
    for one in looked:
        yield f"{_MARKS[one.finding.status]} {one.name}: {one.finding.sentence}"
        for detail in one.finding.details:
            yield f"       - {detail}"
        if one.finding.remedy is not None:
            yield f"       > {one.finding.remedy}"


def status_of(looked: Sequence[Looked]) -> ExitCode:
    """4 where credentials were refused, 1 where something else does not work."""
    if any(one.refused for one in looked):
        return ExitCode.CREDENTIALS
    failed = any(one.finding.status is RowStatus.FAIL for one in looked)
    return ExitCode.FAILURE if failed else ExitCode.OK


def document(
    saved: SavedSetup,
    looked: Sequence[Looked],
    *,
    applies_when: str | None,
    noted: Sequence[str],
    steps: Sequence[str],
) -> dict[str, Any]:
    """The same for a program."""
    status = status_of(looked)
    return {
        "ok": status is ExitCode.OK,
        "path": str(saved.path),
        "saved": bool(saved.changes),
        "changes": [_change_document(change) for change in saved.changes],
        "secrets": [
            {"key": dotted(path), "kept": each.sentinel, "place": each.place}
            for path, each in saved.kept.items()
        ],
        "applies": applies_when,
        "notes": list(noted),
        "next": list(steps),
        "checks": [_looked_document(one) for one in looked],
        "exit_code": int(status),
    }


def _change_document(change: Change) -> Mapping[str, Any]:
    match change:
        case Put(path=path, value=value, secret=secret):
            return {"key": dotted(path), "value": MASK if secret else value}
        case Take(path=path):
            return {"key": dotted(path), "value": None}


def _looked_document(one: Looked) -> Mapping[str, Any]:
    return {
        "name": one.name,
        "status": one.finding.status.value,
        "sentence": one.finding.sentence,
        "details": list(one.finding.details),
        "remedy": one.finding.remedy,
        "refused": one.refused,
    }


def saved_sentence(path: Path, changes: Sequence[Change]) -> str:
    """That it was saved, or that there was nothing to save."""
    return f"saved in {path}" if changes else f"nothing to change: {path} stays as it is"
