"""Handing work on: what a running turn starts beside itself is on disk, with the scope it must keep to."""

from typing import Protocol

from fermix.application.ports.admissions import AdmitResult
from fermix.domain.sub_work import SubWork


class Delegation(Protocol):
    """Raises `LedgerError` and nothing else. A call that was begun is finished even when it is cancelled."""

    async def hand_on(self, work: SubWork) -> AdmitResult:
        """Make a turn of work that a running turn hands on, durably.

        The scope stored with it lies within the parent's stored one, is delegated, and is what its own claim
        works with: neither the caller nor a restart can widen it. The work is asked for by whoever asked the
        parent, with no more trust than the parent has, answers where the parent does, and waits its turn in a
        conversation of its own. Total limits hold for it.

        Returns:
            As for any message: accepted; a duplicate when this turn handed on work of that name before (a
            conflict where the request's wording differs on a local channel); full, with nothing written.

        Raises:
            StaleTurn: the parent was stopped meanwhile, or its claim is an older one.
        """
        ...
