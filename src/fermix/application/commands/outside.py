"""Commands whose work lies outside the ledger: what is to be done, as values, and who does it."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from fermix.domain import approval_wording as wording
from fermix.domain.message import InboundMessage
from fermix.domain.route import Route, Target
from fermix.domain.sandbox_changes import SandboxChange
from fermix.domain.trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSandbox:
    """`/grant`, `/revoke`, `/sandbox mode` and their like: make the change, or propose it if it opens anything."""

    change: SandboxChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """`/confirm TOKEN`, typed or tapped."""

    token: str


OutsideWork: TypeAlias = ChangeSandbox | Confirm


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideCommand:
    """A command whose row is committed and whose work is still to be done."""

    message: InboundMessage
    route: Route
    target: Target
    trust: Trust
    work: OutsideWork


class CarriesOut(Protocol):
    """Does the work of commands, each once."""

    async def carry_out(self, command: OutsideCommand) -> str:
        """Do it; returns what its sender reads.

        Raises:
            LedgerError: the ledger broke, or the home is lost.
        """
        ...

    async def tidy(self, command: OutsideCommand) -> None:
        """Clear up after a command whose reply is on its way; nothing depends on it."""
        ...

    def stopped(self) -> None:
        """Everything was stopped: what the agent had asked for is asked no more."""
        ...


class CarriesOutNothing:
    """Where no command has work outside: each is told so."""

    async def carry_out(self, command: OutsideCommand) -> str:  # noqa: ARG002  # the port's signature
        """Say that it cannot be done here."""
        return wording.NOT_HERE

    async def tidy(self, command: OutsideCommand) -> None:
        """Nothing was done."""

    def stopped(self) -> None:
        """Nobody was asked."""


NOTHING_OUTSIDE: CarriesOut = CarriesOutNothing()
