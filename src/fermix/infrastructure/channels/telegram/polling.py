"""Long polling: an update is acknowledged, by asking for the next one, only after the gateway has it on disk."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
from telegram import Update
from telegram.error import TelegramError

from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.domain.ids import ChatId
from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused, listen_error
from fermix.infrastructure.channels.telegram.moves import told_move
from fermix.infrastructure.channels.telegram.taps import Tap, read_tap
from fermix.infrastructure.channels.telegram.wire_in import Moved, OurBot, read_update


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a poll lasts: a connection that says nothing is noticed after both, well within a minute.

    Attributes:
        poll_seconds: how long Telegram holds a poll without news.
        margin_seconds: what its answer may take longer.
    """

    poll_seconds: int = 25
    margin_seconds: float = 10.0

    def whole_answer(self, wait: int) -> float:
        """Seconds until the end of an answer that keeps coming, to a poll that is held for `wait` seconds."""
        return wait + 1.5 * self.margin_seconds


FIRST_PAUSE = timedelta(seconds=0.25)
LONGEST_PAUSE = timedelta(seconds=30)
"""Between two polls while the gateway takes nothing."""

_NUMBERS_END = 2**53
"""Beyond it not every reader of JSON holds a number exactly; Telegram stays far below."""

_NOT_TAKEN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})
_ODD = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    OSError,
    RecursionError,
    TelegramError,
)
"""What the library raises at an update that has not the promised shape."""

_log = logging.getLogger("fermix.telegram")


def _is_numbered(update: Mapping[str, Any]) -> bool:
    """Whether it says where it stands; a number that is no place must not become our offset."""
    number = update.get("update_id")
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number < _NUMBERS_END


@dataclass(slots=True)
class Position:
    """How far the bot's updates were taken in this process; a new process is told by Telegram.

    Attributes:
        next_update: the first one that was not; `None` before any was.
    """

    next_update: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What an update holds: a message, the move of a chat, nothing for us, or nothing that can be read.

    Attributes:
        tap: what the message comes from when nobody wrote it.
    """

    update: int
    message: RawMessage | None = None
    move: Moved | None = None
    tap: Tap | None = None
    odd: bool = False


class Poller:
    """Reads one bot's updates with an offset of our own; one of these lives as long as its connection does."""

    def __init__(
        self,
        *,
        api: BotApi,
        us: OurBot,
        clock: Clock,
        patience: Patience,
        position: Position,
        moved: Callable[[Moved], None],
        tapped: Callable[[Tap, Verdict], None],
    ) -> None:
        self._tapped = tapped
        self._position = position
        self._patience = patience
        self._api = api
        self._us = us
        self._clock = clock
        self._moved = moved
        self._webhook_removed = False
        self._pause = FIRST_PAUSE

    async def look(self, inbox: Inbox) -> None:
        """Take what waits already, without waiting: the answer proves that we are heard.

        Raises:
            ChannelError: we are not; see `Channel.run`.
        """
        await self._round(inbox, await self._ask(0))

    async def listen(self, inbox: Inbox) -> None:
        """Take updates until cancelled.

        After a broken connection, which the pool drops, it asks again at once; if that does not help, whoever
        runs us waits.

        Raises:
            ChannelError: Telegram cannot be heard any more; see `Channel.run`.
        """
        while True:
            try:
                updates = await self._poll(self._patience.poll_seconds)
            except (NotSent, NoAnswer) as exc:
                _log.warning("telegram.poll_broke", extra={"cause": exc.message})
                updates = await self._ask(0)
            except Refused as exc:
                updates = await self._after(exc)
            await self._round(inbox, updates)

    async def _ask(self, wait: int) -> Sequence[dict[str, Any]]:
        try:
            return await self._poll(wait)
        except (NotSent, NoAnswer) as exc:
            raise listen_error(exc) from exc
        except Refused as exc:
            return await self._after(exc)

    async def _after(self, exc: Refused) -> Sequence[dict[str, Any]]:
        """Remove a webhook that was left on the bot, once; nothing else can be mended here."""
        if not exc.is_left_webhook or self._webhook_removed:
            raise listen_error(exc) from exc
        self._webhook_removed = True
        try:
            await self._api.call("deleteWebhook", drop_pending_updates=False)
        except (NotSent, NoAnswer, Refused) as failure:
            raise listen_error(failure) from failure
        _log.warning("telegram.webhook_removed", extra={"kept": "what waited for it"})
        return await self._ask(0)

    async def _poll(self, wait: int) -> Sequence[dict[str, Any]]:
        margin = self._patience.margin_seconds
        try:
            with anyio.fail_after(self._patience.whole_answer(wait)):
                return await self._api.updates(
                    offset=self._position.next_update, wait_seconds=wait, margin_seconds=margin
                )
        except TimeoutError as exc:
            raise NoAnswer("an answer that does not end") from exc

    async def _round(self, inbox: Inbox, updates: Sequence[dict[str, Any]]) -> None:
        """Hand over what came, in its order: a chat's move stands between what came before and after it."""
        readings = [self._read(update) for update in updates if _is_numbered(update)]
        if updates and not readings:
            # They will come again at once, since nothing can be said to acknowledge them.
            await self._rest()
            return
        while True:
            moves = [number for number, reading in enumerate(readings) if reading.move is not None]
            end = moves[0] if moves else len(readings)
            if not await self._offer(inbox, readings[:end]):
                await self._rest()
                return
            if not moves:
                break
            if not await self._tell(inbox, readings[end]):
                await self._rest()
                return
            readings = readings[end + 1 :]
        self._pause = FIRST_PAUSE

    async def _offer(self, inbox: Inbox, readings: Sequence[_Reading]) -> bool:
        """Offer messages as one list; whether all of them are taken."""
        offered = [Offered(message=one.message) for one in readings if one.message is not None]
        verdicts = iter(await inbox.accept(offered))
        for reading in readings:
            if reading.message is not None:
                verdict = next(verdicts)
                if verdict in _NOT_TAKEN:
                    return False
                if reading.tap is not None:
                    self._tapped(reading.tap, verdict)
            if reading.odd:
                inbox.unreadable()
            self._position.next_update = reading.update + 1
        return True

    async def _tell(self, inbox: Inbox, reading: _Reading) -> bool:
        """Tell of a move; whether that is taken."""
        if reading.move is not None:
            self._moved(reading.move)
            verdict = await inbox.moved(old=ChatId(reading.move.old), new=ChatId(reading.move.new))
            if verdict in _NOT_TAKEN:
                return False
        self._position.next_update = reading.update + 1
        return True

    async def _rest(self) -> None:
        _log.warning("telegram.waits_for_gateway", extra={"pause": self._pause.total_seconds()})
        await self._clock.sleep_until(self._clock.now() + self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _read(self, raw: dict[str, Any]) -> _Reading:
        number = raw["update_id"]
        try:
            update = Update.de_json(raw, None)
            tapped = read_tap(update)
            if tapped is not None:
                return _Reading(update=number, message=tapped[1], tap=tapped[0])
            move = told_move(update)
            message = None if move is not None else read_update(update, self._us)
        except _ODD as exc:
            # Neither the update nor what the error says of it: both may hold what people wrote.
            _log.error("telegram.update_unreadable", extra={"update": number, "error": type(exc).__name__})
            return _Reading(update=number, odd=True)
        if message is None and move is None:
            _log.debug("telegram.update_passed", extra={"update": number})
        return _Reading(update=number, message=message, move=move)
