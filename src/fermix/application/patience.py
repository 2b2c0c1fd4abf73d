"""Holding on to something already done until the ledger can take it down."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerUnavailable

_log = logging.getLogger("fermix.ledger")

_T = TypeVar("_T")

_FIRST_PAUSE = timedelta(milliseconds=200)
_LONGEST_PAUSE = timedelta(seconds=15)


Waits = Callable[[str], None]
"""Told why a write has to wait, each time."""


def nobody_waits(_cause: str) -> None:
    """For whoever keeps no account of it."""


async def until_stored(
    clock: Clock, what: str, write: Callable[[], Awaitable[_T]], *, waits: Waits = nobody_waits
) -> _T:
    """Repeat a write until the ledger takes it: the disk may be full now and have space later.

    Only for what has already happened outside (an answer, a delivery) and would otherwise happen twice. It
    waits without end, on purpose; whoever ends the process cancels it, and the next start decides from what
    is on disk.

    Args:
        clock: for the pauses, which grow from 0.2 s to 15 s.
        what: names the write in the log.
        write: one ledger call, safe to repeat when it raised `LedgerUnavailable`.
        waits: see `Waits`.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await write()
        except LedgerUnavailable as exc:
            cause = str(exc) or type(exc).__name__
            _log.warning("ledger.write_waits", extra={"what": what, "cause": cause})
            waits(cause)
            await clock.sleep_until(clock.now() + pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
