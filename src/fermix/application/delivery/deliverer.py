"""Brings committed parts to their channels: in order for each target, each once, marked when it may be twice."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio

from fermix.application.delivery.measuring import DeliveryMeter
from fermix.application.delivery.sealing import Sealing
from fermix.application.delivery.sending import SEND_LIMIT_SECONDS, Sending, send_limit
from fermix.application.patience import Waits, nobody_waits, until_stored
from fermix.application.ports.blobs import BlobError, BlobMissing
from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    OutgoingPart,
    drafts_of,
)
from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.outbox import NotDelivered, Outbox, PartEnd, SendingPart, Sent
from fermix.application.ports.telemetry import UNHEARD, Telemetry, about_turn
from fermix.application.wakeup import Wakeup
from fermix.domain.delivery import (
    GiveUp,
    RetryAt,
    TextPart,
    after_maybe_sent,
    after_not_sent,
    draft_of,
)
from fermix.domain.ids import ChannelName, PartId, PlatformMessageId, TurnId
from fermix.domain.route import Target

_log = logging.getLogger("fermix.delivery")

MAX_SENDS = 16
MAX_NOTICES = 200
_PAUSE = timedelta(seconds=1)

OnDelivered = Callable[[TurnId], None]


@dataclass(slots=True)
class EarlyPart:
    """A part that left before its turn's end."""

    end: PartEnd | None = None
    _ended: anyio.Event = field(default_factory=anyio.Event)

    def ends(self, end: PartEnd) -> None:
        """Tell whoever waits."""
        self.end = end
        self._ended.set()

    async def ended(self, *, within: float) -> PartEnd | None:
        """What became of it; `None` when that is not known after so many seconds."""
        with anyio.move_on_after(within):
            await self._ended.wait()
        return self.end


class Deliverer:
    """The only place that sends again. One chain per target, so that parts of one place never overtake."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        channels: Mapping[ChannelName, Channel],
        clock: Clock,
        ids: Ids,
        waits: Waits = nobody_waits,
        telemetry: Telemetry = UNHEARD,
    ) -> None:
        self._meter = DeliveryMeter(telemetry=telemetry, clock=clock, limit=SEND_LIMIT_SECONDS)
        self._outbox = outbox
        self._channels = channels
        self._clock = clock
        self._ids = ids
        self._waits = waits
        self._drafting = frozenset(drafts_of(channels))
        self._sealing = Sealing(drafts_of(channels))
        self._send = Sending(channels=channels, sealing=self._sealing, clock=clock, ids=ids)
        self._wakeup = Wakeup(clock)
        self._ready: deque[SendingPart] = deque()
        self._notices: deque[tuple[Target, str]] = deque(maxlen=MAX_NOTICES)
        self._not_sent: dict[PartId, int] = {}
        self._unsent: dict[PartId, TurnId | None] = {}
        self._withdrawn: set[PartId] = set()
        self._unsealed: dict[PartId, SendingPart] = {}
        self._lost: deque[tuple[Target, PlatformMessageId]] = deque()
        self._may_be_left = True
        self._early: dict[PartId, EarlyPart] = {}
        self._open: dict[TurnId, int] = {}
        self._on_delivered: dict[TurnId, OnDelivered] = {}
        self._slots = anyio.CapacityLimiter(MAX_SENDS)
        self._sending = 0
        self._quiet = anyio.Event()
        self._due: datetime | None = None

    def submit(self, parts: Iterable[SendingPart]) -> None:
        """Send these now; each is already marked as on its way in the ledger, so at most one per target."""
        for part in parts:
            self._unsent[part.part] = part.turn
            self._ready.append(part)
        self._wakeup.wake()

    def submit_early(self, turn: TurnId, part: SendingPart | None) -> EarlyPart | None:
        """Take note of a part that a turn committed before its end; send it now, unless an older one holds it.

        Returns:
            Its end, to wait for; `None` when it leaves only later.
        """
        self._open[turn] = self._open.get(turn, 0) + 1
        if part is None:
            return None
        self.submit((part,))
        return self._early.setdefault(part.part, EarlyPart())

    def expect(self, turn: TurnId, parts: int, on_delivered: OnDelivered) -> None:
        """Call back once a turn's parts are delivered or given up: `parts` of its reply, and the early ones.

        Call before `submit`.
        """
        waiting = self._open.pop(turn, 0) + parts
        if waiting == 0:
            on_delivered(turn)
            return
        self._open[turn] = waiting
        self._on_delivered[turn] = on_delivered

    def withdrawn(self, turn: TurnId) -> None:
        """A turn was ended and its parts withdrawn: nobody is called back, and what stood behind them goes."""
        self._withdrawn.update(part for part, owner in self._unsent.items() if owner == turn)
        self._lose_drafts(part for part in self._unsealed.values() if part.turn == turn)
        self._open.pop(turn, None)
        self._on_delivered.pop(turn, None)
        self.look()

    def all_withdrawn(self) -> None:
        """The parts of all turns were withdrawn: their deliveries end here, and what stood behind them goes."""
        self._withdrawn.update(part for part, owner in self._unsent.items() if owner is not None)
        self._lose_drafts(part for part in self._unsealed.values() if part.turn is not None)
        self._open.clear()
        self._not_sent.clear()  # most of these never come back; the others begin their pauses anew
        callbacks, self._on_delivered = self._on_delivered, {}
        for turn, on_delivered in callbacks.items():
            on_delivered(turn)
        self.look()

    def _lose_drafts(self, parts: Iterable[SendingPart]) -> None:
        """The parts that would have filled these drafts leave no more."""
        for part in tuple(parts):
            self._unsealed.pop(part.part, None)
            draft = draft_of(part.body)
            if draft is not None:
                self._lost.append((part.target, draft))
                self._wakeup.wake()

    def look(self) -> None:
        """Look for due parts: a command may have withdrawn what held others back, or ended what had drafts."""
        self._may_be_left = True
        self._look_at(self._clock.now())

    def say(self, target: Target, text: str) -> None:
        """Send a notice that has no row: once, after what is on its way; a failure is only logged."""
        if len(self._notices) == MAX_NOTICES:
            _log.warning("delivery.notice_dropped", extra={"channel": target.channel})
        self._notices.append((target, text))
        self._wakeup.wake()

    async def quiet(self) -> None:
        """Return when nothing is being sent and nothing is ready to be."""
        while self._sending or self._ready or self._notices or self._lost:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    async def run(self) -> None:
        """Serve until cancelled; errors that end the process pass through."""
        async with anyio.create_task_group() as tasks:
            self._due = self._clock.now()
            while True:
                await self._wakeup.wait(self._due)
                if self._due is not None and self._due <= self._clock.now():
                    await self._take_due()
                while self._ready:
                    self._sending += 1
                    tasks.start_soon(self._chain, self._ready.popleft())
                while self._lost:
                    self._sending += 1
                    tasks.start_soon(self._remove_draft, *self._lost.popleft())
                while self._notices:
                    self._sending += 1
                    tasks.start_soon(self._send_notice, *self._notices.popleft())

    async def _take_due(self) -> None:
        self._due = None
        self._sending += 1
        try:
            await self._take_left_drafts()
            due = await self._outbox.due(channels=frozenset(self._channels), limit=MAX_SENDS * 4)
        except LedgerUnavailable as exc:
            _log.warning("delivery.outbox_waits", extra={"cause": str(exc) or type(exc).__name__})
            self._waits(str(exc) or type(exc).__name__)
            self._look_at(self._clock.now() + _PAUSE)
            return
        finally:
            self._rest()
        if due.next_due is not None:
            self._look_at(due.next_due)
        self.submit(due.parts)

    async def _take_left_drafts(self) -> None:
        """At the start, and after commands: drafts of turns that had no task of their own any more."""
        may_be_left, self._may_be_left = self._may_be_left, False
        if not (may_be_left and self._drafting):
            return
        for left in await self._outbox.left_drafts(channels=self._drafting):
            self._lost.append((left.target, left.draft))

    def _look_at(self, instant: datetime) -> None:
        """Look no later than `instant`: whoever asks for an earlier look while one is under way keeps it."""
        self._due = instant if self._due is None else min(self._due, instant)
        self._wakeup.wake()

    async def _chain(self, part: SendingPart) -> None:
        """Send a part, and then whatever its target has next."""
        try:
            following: SendingPart | None = part
            while following is not None:
                with about_turn(following.turn):
                    following = await self._send_one(following)
        finally:
            self._rest()

    def _rest(self) -> None:
        self._sending -= 1
        self._quiet.set()

    async def _send_one(self, part: SendingPart) -> SendingPart | None:
        async with self._slots:
            wanted = self._still_wanted(part)
            if wanted:
                end = await self._attempt(part)
            else:
                end = NotDelivered(error="withdrawn")
                self._lose_drafts((part,))
        following = await until_stored(
            self._clock, "delivery", lambda: self._outbox.done(part.part, end), waits=self._waits
        )
        self._meter.ended(part, end, withdrawn=not wanted)
        if following is not None:
            self._unsent[following.part] = following.turn
        if isinstance(end, RetryAt):
            if draft_of(part.body) is not None:
                self._unsealed[part.part] = part
            self._look_at(end.when)
        else:
            self._not_sent.pop(part.part, None)
            self._part_ended(part.turn)
            early = self._early.pop(part.part, None)
            if early is not None:
                early.ends(end)
        return following

    def _still_wanted(self, part: SendingPart) -> bool:
        """Whether nothing withdrew the part while it waited to be sent."""
        self._unsent.pop(part.part, None)
        self._unsealed.pop(part.part, None)
        if part.part not in self._withdrawn:
            return True
        self._withdrawn.discard(part.part)
        return False

    def _part_ended(self, turn: TurnId | None) -> None:
        if turn is None or turn not in self._open:
            return
        self._open[turn] -= 1
        if self._open[turn] == 0:
            del self._open[turn]
            on_delivered = self._on_delivered.pop(turn, None)
            if on_delivered is not None:
                on_delivered(turn)

    async def _attempt(self, part: SendingPart) -> PartEnd:
        try:
            with self._meter.attempt(part), anyio.fail_after(send_limit(part.body)):
                delivered = await self._send(part, tries=self._not_sent.get(part.part, 0))
        except (ChannelRejected, BlobMissing) as exc:
            return self._failed(part, exc)
        except (ChannelRateLimited, ChannelUnreachable, BlobError) as exc:
            return self._not_left(part, exc)
        except (ChannelError, TimeoutError) as exc:
            return self._maybe_left(part, exc)
        except Exception as exc:  # noqa: BLE001  # an adapter's bug must not end the gateway or lose the part
            _log.exception(
                "delivery.adapter_failed", extra={"part": part.part, "channel": part.target.channel}
            )
            return self._maybe_left(part, exc)
        return Sent(platform_id=delivered.platform_id, moved_to=delivered.moved_to)

    def _not_left(
        self, part: SendingPart, exc: ChannelRateLimited | ChannelUnreachable | BlobError
    ) -> PartEnd:
        tries = self._not_sent.get(part.part, 0) + 1
        self._not_sent[part.part] = tries
        wait = exc.retry_after if isinstance(exc, ChannelRateLimited) else None
        retry = after_not_sent(now=self._clock.now(), created_at=part.created_at, tries=tries, wait=wait)
        if isinstance(retry, GiveUp):
            return self._failed(part, exc)
        _log.warning(
            "delivery.waits",
            extra={"part": part.part, "channel": part.target.channel, "tries": tries, "cause": str(exc)},
        )
        return retry

    def _maybe_left(self, part: SendingPart, exc: BaseException) -> PartEnd:
        retry = after_maybe_sent(now=self._clock.now(), attempts=part.attempts + 1)
        if isinstance(retry, GiveUp):
            return self._failed(part, exc)
        _log.warning(
            "delivery.outcome_unknown",
            extra={"part": part.part, "channel": part.target.channel, "cause": _cause(exc)},
        )
        return retry

    def _failed(self, part: SendingPart, exc: BaseException) -> PartEnd:
        _log.error(
            "delivery.failed",
            extra={
                "part": part.part,
                "turn": part.turn,
                "channel": part.target.channel,
                "cause": _cause(exc),
            },
        )
        return NotDelivered(error=_cause(exc), target_gone=isinstance(exc, ChannelTargetGone))

    async def _remove_draft(self, target: Target, draft: PlatformMessageId) -> None:
        try:
            await self._sealing.discard(target, draft)
        finally:
            self._rest()

    async def _send_notice(self, target: Target, text: str) -> None:
        try:
            async with self._slots:
                channel = self._channels[target.channel]
                with self._meter.notice(target.channel), anyio.fail_after(SEND_LIMIT_SECONDS):
                    await channel.send(
                        OutgoingPart(target=target, body=TextPart(text=text), nonce=self._ids.new())
                    )
        except (ChannelError, TimeoutError) as exc:
            _log.warning("delivery.notice_failed", extra={"channel": target.channel, "cause": _cause(exc)})
        except Exception:  # noqa: BLE001  # as for parts: an adapter's bug must not end the gateway
            _log.exception("delivery.adapter_failed", extra={"channel": target.channel})
        finally:
            self._rest()


def _cause(exc: BaseException) -> str:
    """What is kept of a failure. Only the errors of the ports promise to hold no secret and no text."""
    ours = isinstance(exc, ChannelError | BlobError)
    return f"{type(exc).__name__}: {exc}"[:500] if ours else type(exc).__name__
