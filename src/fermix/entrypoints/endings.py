"""What ended a process, in one sentence for the person who started it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fermix.application.ports.ledger_errors import LedgerError, LedgerUnavailable
from fermix.infrastructure.persistence.sqlite.errors import LedgerNotOpened


class GatewayCrashed(Exception):
    """A bug ended the gateway; the text is a sentence for the person at the terminal, the log has the rest."""

    def __init__(self, cause: BaseException, log: Path) -> None:
        super().__init__(f"Fermix failed unexpectedly ({type(cause).__name__}). The details are in {log}.")


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors inside nested groups."""
    found: list[BaseException] = []
    for exc in group.exceptions:
        found.extend(leaves(exc) if isinstance(exc, BaseExceptionGroup) else [exc])
    return found


@contextmanager
def first_error() -> Iterator[None]:
    """Raise the first error of a group in the group's place; a caller handles one ending, not a tree."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise leaves(group)[0] from group


def why(exc: BaseException) -> str:
    """One sentence for the person who started the process."""
    text = str(exc) or type(exc).__name__
    if isinstance(exc, LedgerNotOpened):
        return text  # it names the file and says what to do
    if isinstance(exc, LedgerUnavailable):
        return f"The ledger cannot be used now: {text}"
    if isinstance(exc, LedgerError):
        return f"The ledger failed, so this process must end: {text}"
    return text
