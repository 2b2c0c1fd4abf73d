"""What doctor says: rows in a fixed order, each with a status, a sentence and a remedy, and their sum."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Subject = TypeVar("Subject")


class RowStatus(StrEnum):
    """How one thing stands.

    `WARN` works and should be looked at, `FAIL` does not work, `SKIP` was not looked at or does not matter here.
    """

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How one thing stands, in words.

    Attributes:
        sentence: one line, without a full stop at its end.
        details: further lines, such as each problem of a file.
        remedy: what its owner can do; `None` where there is nothing to do.
    """

    status: RowStatus
    sentence: str
    details: tuple[str, ...] = ()
    remedy: str | None = None


def ok(sentence: str, *, details: Sequence[str] = ()) -> Finding:
    """All is well."""
    return Finding(status=RowStatus.OK, sentence=sentence, details=tuple(details))


def warn(sentence: str, *, remedy: str | None, details: Sequence[str] = ()) -> Finding:
    """It works, and should be looked at."""
    return Finding(status=RowStatus.WARN, sentence=sentence, details=tuple(details), remedy=remedy)


def fail(sentence: str, *, remedy: str | None, details: Sequence[str] = ()) -> Finding:
    """It does not work."""
    return Finding(status=RowStatus.FAIL, sentence=sentence, details=tuple(details), remedy=remedy)


def skip(sentence: str) -> Finding:
    """It was not looked at; the sentence says why."""
    return Finding(status=RowStatus.SKIP, sentence=sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[Subject]):
    """One row's name, and what looks at the subject for it. `look` may raise `OSError` and nothing else."""

    name: str
    look: Callable[[Subject], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A named finding."""

    name: str
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All rows, in the order of the checks."""

    rows: tuple[Row, ...]

    @property
    def counts(self) -> Mapping[RowStatus, int]:
        """How many rows have each status, every status named."""
        counted = Counter(row.finding.status for row in self.rows)
        return {status: counted[status] for status in RowStatus}

    @property
    def failed(self) -> bool:
        """Whether any row fails; warnings do not count."""
        return self.counts[RowStatus.FAIL] > 0

    def map_texts(self, change: Callable[[str], str]) -> "Report":
        """The same report with every sentence, detail and remedy changed, names kept."""
        return Report(
            rows=tuple(Row(name=row.name, finding=_mapped(row.finding, change)) for row in self.rows)
        )


def examine(checks: Sequence[Check[Subject]], subject: Subject) -> Report:
    """Look at everything. What the system lets nobody look at is a failed row; the others still follow."""
    return Report(rows=tuple(Row(name=check.name, finding=_looked(check, subject)) for check in checks))


def _looked(check: Check[Subject], subject: Subject) -> Finding:
    try:
        return check.look(subject)
    except OSError as exc:
        what = f"{exc.filename}: " if exc.filename else ""
        return fail(
            f"could not be looked at: {what}{(exc.strerror or str(exc)).lower()}",
            remedy="run doctor as the user that owns the home",
        )


def _mapped(finding: Finding, change: Callable[[str], str]) -> Finding:
    return Finding(
        status=finding.status,
        sentence=change(finding.sentence),
        details=tuple(change(detail) for detail in finding.details),
        remedy=None if finding.remedy is None else change(finding.remedy),
    )
