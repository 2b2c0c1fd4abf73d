"""Keeps one channel listening: the only place where a channel's failure is caught, noted and waited out."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
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
from fermix.application.ports.remarks import MakesRemarks, Remark
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.domain.ids import ChannelName, ChatId
from fermix.domain.telemetry import IngressFailed
from fermix.domain.telemetry_fields import name_of

_log = logging.getLogger("fermix.channel")

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)
HEALTHY_AFTER = timedelta(minutes=5)
MAX_CAUSE_CHARACTERS = 400
"""Of what health says of a failure; what an owner has to do stands at the end of our own sentences."""

MAX_CAUSES = 16
"""Of one failure that are remembered as told; a network that breaks fails in several ways."""

_NOT_TAKEN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})


class _Listening:
    """The inbox of a channel, which knows whether it had failed: the first list handed over ends that."""

    def __init__(self, inbox: Inbox, board: HealthBoard, name: ChannelName, cursor: str | None) -> None:
        self._inbox = inbox
        self._board = board
        self._name = name
        self._told: deque[str] = deque(maxlen=MAX_CAUSES)
        self.cursor = cursor

    def failed(self, cause: str, *, pause: float, bug: Exception | None) -> None:
        """Tell it in health; in the log each cause only once, until it listens again."""
        level = logging.DEBUG if cause in self._told else logging.WARNING
        if bug is not None:
            _log.log(level, "channel.failed", exc_info=bug, extra={"channel": self._name})
        _log.log(level, "channel.restarts", extra={"channel": self._name, "cause": cause, "pause": pause})
        self._told.append(cause)
        self._board.channel(
            ChannelHealth(name=self._name, status=ChannelStatus.DEGRADED, detail=cause[:MAX_CAUSE_CHARACTERS])
        )

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
        if self._told:
            self._told.clear()
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
    One failure is one line of the log, however often the channel is tried meanwhile.

    Raises:
        LedgerError: the ledger is broken or the home is lost; the process must end.
    """
    name = door.registration.channel
    inbox = _Listening(ChannelInbox(gateway=gateway, door=door), board, name, cursor)
    board.channel(ChannelHealth(name=name, status=ChannelStatus.READY))
    board.remarked(name, _remarks_of(channel, name))
    pause = FIRST_PAUSE
    while True:
        started = clock.monotonic()
        asked_for, bug = FIRST_PAUSE, None
        try:
            await channel.run(inbox, cursor=inbox.cursor)
            cause, reason = "it stopped listening", "ended"
        except LedgerUnavailable as exc:
            cause, reason = f"nothing can be stored: {exc}", type(exc).__name__
        except LedgerError:
            raise
        except ChannelError as exc:
            cause, reason = str(exc) or type(exc).__name__, type(exc).__name__
            asked_for = exc.retry_after if isinstance(exc, ChannelRateLimited) else FIRST_PAUSE
        except Exception as exc:  # noqa: BLE001  # whatever a channel raises must not end the others
            cause = reason = type(exc).__name__  # what a bug says may hold a secret; the log has it redacted
            bug = exc
        if clock.monotonic() - started > HEALTHY_AFTER.total_seconds():
            pause = FIRST_PAUSE
        wait = max(pause, asked_for)
        telemetry.emit(IngressFailed(channel=name, reason=name_of(reason), pause=wait.total_seconds()))
        inbox.failed(cause, pause=wait.total_seconds(), bug=bug)
        await clock.sleep_until(clock.now() + wait)
        pause = min(pause * 2, LONGEST_PAUSE)


def _remarks_of(channel: Channel, name: ChannelName) -> Callable[[], tuple[Remark, ...]]:
    """What the channel remarks, if it can; one that fails at it is asked no more."""
    failed = False

    def remarks() -> tuple[Remark, ...]:
        nonlocal failed
        if failed:
            return ()
        try:
            return tuple(channel.remarks) if isinstance(channel, MakesRemarks) else ()
        except Exception as exc:  # noqa: BLE001  # whatever a channel raises must not take everybody's health away
            failed = True
            _log.warning("channel.remarks_failed", exc_info=exc, extra={"channel": name})
            return ()

    return remarks
