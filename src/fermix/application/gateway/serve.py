"""The running gateway: what is started in which order, and how it ends."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import anyio
import anyio.lowlevel

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.gateway.drain import drain
from fermix.application.gateway.files import SweepFiles
from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.health import LEDGER, HealthBoard
from fermix.application.gateway.stages import Door
from fermix.application.gateway.supervisor import supervise
from fermix.application.media.preparer import Preparer, ToldOfMedia
from fermix.application.ports.admissions import Admissions, CursorMove
from fermix.application.ports.blobs import BlobError
from fermix.application.ports.channel import Channel
from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.ownership import Ownership, Recovered, Retention
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.application.ports.turns import Turns
from fermix.domain.ids import ChannelName

_log = logging.getLogger("fermix.gateway")

SWEEP_EVERY = timedelta(hours=1)
SWEEP_ROWS = 500
PROBE_EVERY = timedelta(seconds=5)

LAST_RESULT_SECONDS = 1.0
"""How long the results of turns that have ended may take to reach those who wait on the control socket."""

Listener = Callable[[], Coroutine[object, object, None]]
"""Something that listens until cancelled: the control socket, the HTTP server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The parts of one gateway that run together.

    Attributes:
        files: without it nobody looks after stored files.
        preparer: without it nothing that hangs on messages is prepared.
    """

    gateway: Gateway
    dispatcher: Dispatcher
    deliverer: Deliverer
    admissions: Admissions
    turns: Turns
    ownership: Ownership
    board: HealthBoard
    clock: Clock
    telemetry: Telemetry = UNHEARD
    files: SweepFiles | None = None
    preparer: Preparer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One channel this process serves, and the door its messages come in by."""

    channel: Channel
    door: Door
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """How it runs and ends."""

    grace: timedelta
    retention: Retention


async def serve(
    core: Core,
    served: Mapping[ChannelName, Served],
    listeners: Sequence[Listener],
    *,
    settings: ServeSettings,
    stopping: anyio.Event,
    answered: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
) -> None:
    """Recover, serve until `stopping` is set, drain, and leave in order.

    Shutdown is the nesting: channels stop first, so that nothing new comes in; then running turns finish;
    then the control socket closes, since those who wait on it must hear how their turn ended; then delivery
    stops.

    Args:
        answered: returns once nobody waits for an answer on the control socket.

    Raises:
        LedgerError: the ledger is broken or the home is lost. Nothing more was acknowledged; the next start
            reads the truth.
    """
    recovered = await core.ownership.recover(channels=frozenset(served))
    _report(recovered)
    async with anyio.create_task_group() as work:
        work.start_soon(core.deliverer.run)
        core.deliverer.submit(recovered.parts)
        work.start_soon(core.dispatcher.run)
        work.start_soon(core.gateway.run)
        core.dispatcher.wake()
        if core.preparer is not None:
            told = ToldOfMedia(prepared=core.dispatcher.wake, spoken=core.gateway.spoken)
            work.start_soon(core.preparer.run, told)
            core.preparer.wake()
        work.start_soon(_sweep, core, settings.retention)
        work.start_soon(_probe_ledger, core)
        async with anyio.create_task_group() as listening:
            for listener in listeners:
                listening.start_soon(listener)
            async with anyio.create_task_group() as ears:
                for one in served.values():
                    ears.start_soon(_ear, core, one)
                await stopping.wait()
                core.gateway.close()
                if core.preparer is not None:
                    core.preparer.close()
                ears.cancel_scope.cancel()
            _log.info("gateway.draining", extra={"running": core.dispatcher.running()})
            with anyio.move_on_after(settings.grace.total_seconds()):
                await core.gateway.drained()  # one that is cut off is reported by the next start
            await drain(
                dispatcher=core.dispatcher,
                deliverer=core.deliverer,
                turns=core.turns,
                grace=settings.grace,
            )
            with anyio.move_on_after(LAST_RESULT_SECONDS):
                await answered()
            listening.cancel_scope.cancel()
        work.cancel_scope.cancel()
    try:
        await core.ownership.leave()
    except LedgerUnavailable as exc:
        # The next start only looks more closely than it need.
        _log.warning("gateway.end_not_noted", extra={"cause": str(exc) or type(exc).__name__})


async def _ear(core: Core, one: Served) -> None:
    await supervise(
        one.channel,
        one.door,
        gateway=core.gateway,
        board=core.board,
        clock=core.clock,
        cursor=one.cursor,
        telemetry=core.telemetry,
    )


def _report(recovered: Recovered) -> None:
    found = {
        "replayed": len(recovered.replayed),
        "interrupted": len(recovered.interrupted),
        "failed": len(recovered.failed),
        "unknown": len(recovered.unknown),
        "commands": recovered.commands,
        "repeated_parts": recovered.repeated,
    }
    if any(found.values()):
        _log.warning("gateway.recovered", extra=found)
    ended = {"interrupted": recovered.interrupted, "failed": recovered.failed, "unknown": recovered.unknown}
    for outcome, turns in ended.items():
        for turn in turns:
            _log.warning("turn.cut_off", extra={"turn": turn, "outcome": outcome})


async def _sweep(core: Core, retention: Retention) -> None:
    while True:
        try:
            while await core.ownership.sweep(retention, limit=SWEEP_ROWS) >= SWEEP_ROWS:
                await anyio.lowlevel.checkpoint()
        except LedgerUnavailable as exc:
            _log.warning("ledger.sweep_waits", extra={"cause": str(exc)})
            core.board.failing(LEDGER, str(exc) or type(exc).__name__)
        await _sweep_files(core)
        await core.clock.sleep_until(core.clock.now() + SWEEP_EVERY)


async def _sweep_files(core: Core) -> None:
    if core.files is None:
        return
    try:
        removed = await core.files()
    except (LedgerUnavailable, BlobError) as exc:
        _log.warning("files.sweep_waits", extra={"cause": str(exc)})
        return
    if removed:
        _log.info("files.swept", extra={"removed": removed})


async def _probe_ledger(core: Core) -> None:
    """While the ledger does not take writes, try a small one now and then: health heals without a message."""
    while True:
        await core.clock.sleep_until(core.clock.now() + PROBE_EVERY)
        if not core.board.is_failing(LEDGER):
            continue
        probe = CursorMove(origin="health", scope="probe", value=core.clock.now().isoformat())
        try:
            await core.admissions.admit((), cursor=probe)
        except LedgerUnavailable:
            continue
        _log.info("ledger.takes_writes_again")
        core.board.working(LEDGER)
