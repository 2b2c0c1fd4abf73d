"""How one step of preparing an attachment ended, sorted by what happens next."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from fermix.domain.blob import BlobRef
from fermix.domain.incoming_media import MAX_ATTEMPTS, MediaFailed, MediaResult

FIRST_PAUSE = timedelta(seconds=2)
LONGEST_PAUSE = timedelta(minutes=5)
"""A platform that asks for a longer wait is not waited for: whoever wrote would wait as long without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Its bytes are here."""

    content: BlobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """It is what it is to become."""

    result: MediaResult


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """It cannot become anything; `cause` is for the log."""

    result: MediaFailed
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgain:
    """Later it may work.

    Attributes:
        result: what becomes of it when it was tried too often.
        after: the shortest pause, where somebody asks for one.
        forgets: what was fetched is of no use and is fetched again.
    """

    result: MediaFailed
    cause: str
    after: timedelta | None = None
    forgets: bool = False


Made: TypeAlias = Ready | GivenUp | TryAgain
Download: TypeAlias = Fetched | GivenUp | TryAgain


def pause_after(tried: TryAgain, *, attempts: int) -> timedelta | None:
    """How long to wait before the next attempt; `None`: there is none.

    Args:
        attempts: begun so far, the one that just ended included.
    """
    pause = max(FIRST_PAUSE * 4 ** (attempts - 1), tried.after or timedelta(0))
    return None if attempts >= MAX_ATTEMPTS or pause > LONGEST_PAUSE else pause
