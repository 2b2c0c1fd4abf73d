"""Keeps one channel listening: the only place where a channel's failure is caught, noted and waited out."""

import logging
from datetime import timedelta

from fermix.application.gateway.gateway import ChannelInbox, Gateway
from fermix.application.gateway.health import HealthBoard
from fermix.application.gateway.stages import Door
from fermix.application.ports.channel import Channel
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.application.ports.ledger_errors import LedgerError, LedgerUnavailable

_log = logging.getLogger("fermix.channel")

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)
HEALTHY_AFTER = timedelta(minutes=5)


async def supervise(
    channel: Channel, door: Door, *, gateway: Gateway, board: HealthBoard, clock: Clock, cursor: str | None
) -> None:
    """Run a channel until cancelled; start it again after a pause that grows from 1 s to 60 s.

    Raises:
        LedgerError: the ledger is broken or the home is lost; the process must end.
    """
    name = door.registration.channel
    inbox = ChannelInbox(gateway=gateway, door=door)
    pause = FIRST_PAUSE
    while True:
        started = clock.now()
        board.channel(ChannelHealth(name=name, status=ChannelStatus.READY))
        try:
            await channel.run(inbox, cursor=cursor)
            cause = "it stopped listening"
        except LedgerUnavailable as exc:
            cause = f"{type(exc).__name__}: {exc}"
        except LedgerError:
            raise
        except Exception as exc:  # noqa: BLE001  # whatever a channel raises must not end the others
            cause = f"{type(exc).__name__}: {exc}"
            _log.warning("channel.failed", exc_info=exc, extra={"channel": name})
        if clock.now() - started > HEALTHY_AFTER:
            pause = FIRST_PAUSE
        _log.warning(
            "channel.restarts", extra={"channel": name, "cause": cause, "pause": pause.total_seconds()}
        )
        board.channel(ChannelHealth(name=name, status=ChannelStatus.DEGRADED, detail=cause[:200]))
        await clock.sleep_until(clock.now() + pause)
        pause = min(pause * 2, LONGEST_PAUSE)
