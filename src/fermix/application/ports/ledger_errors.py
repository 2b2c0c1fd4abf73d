"""How the ledger fails, sorted by what its caller can do."""


class LedgerError(Exception):
    """Base of all errors of the ledger ports."""


class LedgerUnavailable(LedgerError):
    """Nothing was written and nothing is wrong with the data: closed, locked too long, or not opened yet.

    The caller does not acknowledge; the platform offers the message again.
    """


class LedgerFull(LedgerUnavailable):
    """The disk is full. Nothing was written; the ledger goes on by itself when space returns."""


class LedgerBroken(LedgerError):
    """A commit failed with an I/O error: whether it is on disk is unknown.

    The process must end without acknowledging anything; the next start reads the truth.
    """


class OwnerLost(LedgerError):
    """Another process owns the home now (a newer epoch). Nothing was written; this process must end."""


class StaleTurn(LedgerError):
    """The turn is no longer this claim's: stopped, settled, or claimed anew. Nothing was written."""
