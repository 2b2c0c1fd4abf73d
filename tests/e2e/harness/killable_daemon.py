"""The daemon with the test-only channel, and with a place in its ledger where it kills itself.

`python -m tests.e2e.harness.killable_daemon --far PORT [--kill before:settle:1]` is `fermix run` with three parts
of its container replaced; the product itself knows nothing of any of this. With `--broken FILE` the disk refuses
every sync of the ledger while that file is there.
"""

import argparse
import os
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import anyio

from fermix.application.ports.admissions import (
    Admission,
    Admissions,
    AdmitResult,
    Amended,
    Command,
    CursorMove,
)
from fermix.application.ports.channel import Channel
from fermix.application.ports.conversations import QueueView
from fermix.application.ports.outbox import DueParts, LeftDraft, Outbox, PartEnd, SendingPart
from fermix.application.ports.ownership import Ownership, PausedTurn, Recovered, Retention, Takeover
from fermix.application.ports.sandbox import SandboxSource
from fermix.application.ports.turns import Claims, EffectIntent, Settlement, Turns
from fermix.domain.authorization import ChannelAccess, Policies
from fermix.domain.delivery import Part
from fermix.domain.ids import ChannelName, Generation, MessageRow, PartId, TurnId, UserId
from fermix.domain.message import InboundMessage
from fermix.domain.route import ChatMove
from fermix.entrypoints.container import Container
from fermix.entrypoints.daemon import main as run_daemon
from tests.e2e.harness.people import GUEST, HELPER, OWNER
from tests.e2e.harness.polling_channel import TEST_CHANNEL, PollingChannel
from tests.e2e.harness.shifted_clock import shift_clocks
from tests.integration.ledger.disks import a_disk

CALLS = (
    *("receive", "admit", "command", "acknowledge", "claim", "model", "stream"),
    *("begin_effect", "tool", "end_effect", "settle", "send", "done", "finish_command", "recover"),
)


@dataclass(slots=True, kw_only=True)
class Death:
    """Kills this process before, in or after the n-th call of one kind that has something to commit.

    Attributes:
        marker: the file that says, when the process has died, where.
    """

    when: str = "never"
    call: str = ""
    number: int = 0
    count: int = 0
    marker: Path | None = None

    @classmethod
    def parse(cls, text: str | None) -> "Death":
        """Read `before:settle:1`."""
        if text is None:
            return cls()
        when, call, number = text.split(":")
        if when not in {"before", "in", "after"} or call not in CALLS:
            raise ValueError(text)
        return cls(when=when, call=call, number=int(number))

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        """A call is made in the block; what it commits is committed at the block's end."""
        number = 0
        if call == self.call and self.when != "in":
            self.count += 1
            number = self.count
        self._strike("before", number)
        yield
        self._strike("after", number)

    def _strike(self, when: str, number: int) -> None:
        if number and number == self.number and when == self.when:
            self.strike()

    def strike(self) -> None:
        """Die here."""
        if self.marker is not None:
            self.marker.write_text(f"{self.when}:{self.call}:{self.number}")
        os.kill(os.getpid(), signal.SIGKILL)

    def inside(self, call: str) -> bool:
        """Whether this is the call that it dies in; whoever asks counts the call."""
        if self.when != "in" or call != self.call:
            return False
        self.count += 1
        return self.count == self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalAdmissions:
    """T1."""

    inner: Admissions
    death: Death

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        if not batch:
            return await self.inner.admit(batch, cursor=cursor)
        if self.death.inside("admit"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(self.inner.admit, batch, cursor=cursor))
                await anyio.sleep(Random().uniform(0, 0.001))
                self.death.strike()
        has_command = any(isinstance(item, Command) for item in batch)
        with self.death.around("admit"), self.death.around("command") if has_command else nullcontext():
            return await self.inner.admit(batch, cursor=cursor)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        return await self.inner.amend(edited, key=key)

    async def move_chat(self, move: ChatMove) -> bool:
        return await self.inner.move_chat(move)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        with self.death.around("finish_command"):
            return await self.inner.finish_command(row, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalTurns:
    """T3, T4 and T5. A claim counts when something waits.

    Where claims are counted, a look that found nothing waiting claims nothing either: a message admitted right
    after the look would otherwise be claimed without being counted. Its admission wakes the dispatcher again.
    """

    inner: Turns
    queue: QueueView
    death: Death

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        if self.death.call == "claim" and not (await self.queue.counts()).waiting:
            return Claims(turns=(), next_due=None)
        with self.death.around("claim"):
            return await self.inner.claim(limit=limit, channels=channels)

    async def begin_effect(self, effect: EffectIntent) -> SendingPart | None:
        with self.death.around("begin_effect"):
            return await self.inner.begin_effect(effect)

    async def end_effect(self, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
        with self.death.around("end_effect"):
            await self.inner.end_effect(turn, generation=generation, step=step, outcome=outcome)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        with self.death.around("settle"):
            return await self.inner.settle(settlement)

    async def release(self, turn: TurnId, *, generation: Generation) -> bool:
        return await self.inner.release(turn, generation=generation)

    async def cancel(self, turn: TurnId) -> bool:
        return await self.inner.cancel(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalOutbox:
    """T6."""

    inner: Outbox
    death: Death

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        return await self.inner.due(channels=channels, limit=limit)

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        return await self.inner.left_drafts(channels=channels)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        with self.death.around("done"):
            return await self.inner.done(part, end)


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalOwnership:
    """T8."""

    inner: Ownership
    death: Death

    async def take(self, *, instance: str, boot: str) -> Takeover:
        return await self.inner.take(instance=instance, boot=boot)

    async def recover(self, *, channels: Collection[ChannelName]) -> Recovered:
        with self.death.around("recover"):
            return await self.inner.recover(channels=channels)

    async def discard(self, paused: PausedTurn) -> None:
        await self.inner.discard(paused)

    async def sweep(self, retention: Retention, *, limit: int = 500) -> int:
        return await self.inner.sweep(retention, limit=limit)

    async def leave(self) -> None:
        await self.inner.leave()


@dataclass(frozen=True, slots=True)
class FixedPolicies:
    """One owner, one guest, and one guest who may use the owner's commands; the sandbox as it stands."""

    sandbox: SandboxSource

    def current(self) -> Policies:
        access = ChannelAccess(
            owner=UserId(OWNER),
            allowed=frozenset({UserId(GUEST), UserId(HELPER)}),
            command_allowlist=frozenset({UserId(HELPER)}),
        )
        return Policies(channels={ChannelName(TEST_CHANNEL): access}, sandbox=self.sandbox.current())


def put_in(container: Container, *, port: int, death: Death, max_text: int | None = None) -> None:
    """Replace what the test brings along."""
    channel = PollingChannel(port=port, max_text=max_text, around=death.around)
    channels: Mapping[ChannelName, Channel] = {ChannelName(TEST_CHANNEL): channel}
    ledger = container.ledger()
    container.remote_channels.override(channels)
    container.policies.override(FixedPolicies(sandbox=container.sandbox()))
    container.ledger.override(
        replace(
            ledger,
            admissions=MortalAdmissions(inner=ledger.admissions, death=death),
            turns=MortalTurns(inner=ledger.turns, queue=ledger.queue, death=death),
            outbox=MortalOutbox(inner=ledger.outbox, death=death),
            ownership=MortalOwnership(inner=ledger.ownership, death=death),
        )
    )


def main() -> int:
    """Run it; the exit status is the daemon's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--far", type=int, required=True)
    parser.add_argument("--kill", type=Death.parse, default=Death())
    parser.add_argument("--max-text", type=int)
    parser.add_argument("--clock", type=Path)
    parser.add_argument("--broken", type=Path)
    given = parser.parse_args()
    if given.clock is not None:
        shift_clocks(given.clock)
    override = partial(put_in, port=given.far, max_text=given.max_text, death=given.kill)
    if given.broken is None:
        return run_daemon([], override=override)
    with a_disk() as disk:
        disk.refuses_syncs_while = given.broken
        return run_daemon([], override=override)


if __name__ == "__main__":
    raise SystemExit(main())
