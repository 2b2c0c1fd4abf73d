"""Why a ledger file cannot be opened; each names the file and what to do about it."""

from pathlib import Path

from fermix.application.ports.ledger_errors import LedgerError


class LedgerNotOpened(LedgerError):
    """The ledger file cannot be used as it is; nothing was changed. `path` is the file."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(text)
        self.path = path


class LedgerInaccessible(LedgerNotOpened):
    """The file or its folder cannot be read or written: rights, a missing folder, a read-only disk."""


class NotALedger(LedgerNotOpened):
    """The file is not a ledger of ours: another program's database, or no database at all."""


class LedgerDamaged(LedgerNotOpened):
    """The file is a ledger, and its content is damaged: restore a backup, or move it away."""


class NewerLedger(LedgerNotOpened):
    """A newer Fermix wrote the file: install that version, or a newer one."""

    def __init__(self, path: Path, *, found: int, known: int) -> None:
        super().__init__(
            path,
            f"{path} was written by a newer Fermix (schema version {found}; this one knows {known}). "
            "Install the newer version.",
        )
        self.found = found
        self.known = known
