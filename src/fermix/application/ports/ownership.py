"""One owner per home: taking it over, putting right what the last owner left, and sweeping what is old."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from fermix.application.ports.outbox import SendingPart
from fermix.domain.ids import ChannelName, Epoch, Generation, LaneId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """The new owner's epoch, and how the last one left.

    Attributes:
        first: nobody owned this home before.
        clean: the last owner left in order.
        rebooted: the machine was started anew since (so a power cut is possible).
    """

    epoch: Epoch
    first: bool
    clean: bool
    rebooted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What a start found and did.

    Attributes:
        replayed: turns back in their place in the queue.
        interrupted: turns ended, and their people told where a channel can tell them.
        failed: turns that were tried too often.
        unknown: turns that wait for their owner; their lanes are paused.
        commands: commands that were cut off before they reported.
        repeated: parts that were on their way and leave once more, marked.
        parts: parts to send now.
    """

    replayed: tuple[TurnId, ...] = ()
    interrupted: tuple[TurnId, ...] = ()
    failed: tuple[TurnId, ...] = ()
    unknown: tuple[TurnId, ...] = ()
    commands: int = 0
    repeated: int = 0
    parts: tuple[SendingPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long what is done with is kept."""

    sent_parts: timedelta = timedelta(days=7)
    bodies: timedelta = timedelta(days=7)
    keys: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedTurn:
    """A turn in state unknown, which pauses its lane."""

    turn: TurnId
    lane: LaneId
    generation: Generation


class Ownership(Protocol):
    """Raises `LedgerError` and nothing else."""

    async def take(self, *, instance: str, boot: str) -> Takeover:
        """Become the owner: the epoch goes up and every older one is refused from now on.

        The caller holds the home's lock.
        """
        ...

    async def recover(self, *, channels: Collection[ChannelName]) -> Recovered:
        """Put right what older owners left on the served channels; doing it again changes nothing."""
        ...

    async def discard(self, paused: PausedTurn) -> None:
        """End an unknown turn as interrupted; its lane goes on.

        Raises:
            StaleTurn: it is not unknown any more, or not of this generation.
        """
        ...

    async def sweep(self, retention: Retention, *, limit: int = 500) -> int:
        """Remove up to `limit` rows that are older than their retention; returns how many went."""
        ...

    async def leave(self) -> None:
        """Note that the owner left in order."""
        ...
