"""Keeps one channel listening: the only place where a channel's failure is caught, noted and waited out."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.health import HealthBoard
from fermix.application.gateway.inbox import ChannelInbox
from fermix.application.gateway.stages import Door
from fermix.application.ports.admissions import LISTENING, CursorMove
from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelRateLimited,
    Inbox,
    Offered,
    Verdict,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.application.ports.ledger_errors import LedgerError, LedgerUnavailable
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.domain.ids import ChannelName, ChatId
from fermix.domain.telemetry import IngressFailed
from fermix.domain.telemetry_fields import name_of

_log = logging.getLogger("fermix.channel")

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)
HEALTHY_AFTER = timedelta(minutes=5)
_NOT_TAKEN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})


class _Listening:
    """The inbox of a channel that had failed: the first list it hands over shows that it listens again."""

    def __init__(self, inbox: Inbox, board: HealthBoard, name: ChannelName, cursor: str | None) -> None:
        self._inbox = inbox
        self._board = board
        self._name = name
        self._failed = False
        self.cursor = cursor

    def failed(self, cause: str) -> None:
        self._failed = True
        self._board.channel(ChannelHealth(name=self._name, status=ChannelStatus.DEGRADED, detail=cause[:200]))

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        self._heard()
        verdicts = await self._inbox.accept(offered, cursor=cursor)
        if cursor is not None and cursor.scope == LISTENING and not _NOT_TAKEN & set(verdicts):
            self.cursor = cursor.value
        return verdicts

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        self._heard()
        return await self._inbox.moved(old=old, new=new)

    def unreadable(self) -> None:
        self._inbox.unreadable()

    def _heard(self) -> None:
        if self._failed:
            self._failed = False
            self._board.channel(ChannelHealth(name=self._name, status=ChannelStatus.READY))
            _log.info("channel.listens_again", extra={"channel": self._name})


async def supervise(
    channel: Channel,
    door: Door,
    *,
    gateway: Gateway,
    board: HealthBoard,
    clock: Clock,
    cursor: str | None,
    telemetry: Telemetry = UNHEARD,
) -> None:
    """Run a channel until cancelled; start it again after a pause that grows from 1 s to 60 s.

    A platform that asks for a longer wait gets it. After a failure the channel counts as ready when it hands
    over its next list, empty ones included: that something was asked again is no proof that it is heard.

    Raises:
        LedgerError: the ledger is broken or the home is lost; the process must end.
    """
    name = door.registration.channel
    inbox = _Listening(ChannelInbox(gateway=gateway, door=door), board, name, cursor)
    board.channel(ChannelHealth(name=name, status=ChannelStatus.READY))
    pause = FIRST_PAUSE
    while True:
        started = clock.monotonic()
        asked_for = FIRST_PAUSE
        try:
            await channel.run(inbox, cursor=inbox.cursor)
            cause = "it stopped listening"
        except LedgerUnavailable as exc:
            cause = f"{type(exc).__name__}: {exc}"
        except LedgerError:
            raise
        except ChannelError as exc:
            cause = f"{type(exc).__name__}: {exc}"
            asked_for = exc.retry_after if isinstance(exc, ChannelRateLimited) else FIRST_PAUSE
        except Exception as exc:  # noqa: BLE001  # whatever a channel raises must not end the others
            cause = type(exc).__name__  # what a bug says may hold a secret; it stands in the log, redacted
            _log.warning("channel.failed", exc_info=exc, extra={"channel": name})
        if clock.monotonic() - started > HEALTHY_AFTER.total_seconds():
            pause = FIRST_PAUSE
        wait = max(pause, asked_for)
        _log.warning(
            "channel.restarts", extra={"channel": name, "cause": cause, "pause": wait.total_seconds()}
        )
        reason = name_of(cause.partition(":")[0])
        telemetry.emit(IngressFailed(channel=name, reason=reason, pause=wait.total_seconds()))
        inbox.failed(cause)
        await clock.sleep_until(clock.now() + wait)
        pause = min(pause * 2, LONGEST_PAUSE)
