"""Long polling: an update is acknowledged, by asking for the next one, only after the gateway has it on disk."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
from telegram import Update
from telegram.error import TelegramError

from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused, listen_error
from fermix.infrastructure.channels.telegram.wire_in import Moved, OurBot, read_move, read_update


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a poll lasts: a connection that says nothing is noticed after both, well within a minute.

    Attributes:
        poll_seconds: how long Telegram holds a poll without news.
        margin_seconds: what its answer may take longer.
    """

    poll_seconds: int = 25
    margin_seconds: float = 10.0


FIRST_PAUSE = timedelta(seconds=0.25)
LONGEST_PAUSE = timedelta(seconds=30)
"""Between two polls while the gateway takes nothing."""

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


@dataclass(slots=True)
class Position:
    """How far the bot's updates were taken in this process; a new process is told by Telegram.

    Attributes:
        next_update: the first one that was not; `None` before any was.
    """

    next_update: int | None = None


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
    ) -> None:
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
            with anyio.fail_after(wait + margin * 2):
                return await self._api.updates(
                    offset=self._position.next_update, wait_seconds=wait, margin_seconds=margin
                )
        except TimeoutError as exc:
            raise NoAnswer("an answer that does not end") from exc

    async def _round(self, inbox: Inbox, updates: Sequence[dict[str, Any]]) -> None:
        numbered = [update for update in updates if isinstance(update.get("update_id"), int)]
        messages = [self._read(update) for update in numbered]
        offered = [Offered(message=message) for message in messages if message is not None]
        verdicts = iter(await inbox.accept(offered))
        for update, message in zip(numbered, messages, strict=True):
            if message is not None and next(verdicts) in _NOT_TAKEN:
                await self._rest()
                return
            self._position.next_update = update["update_id"] + 1
        self._pause = FIRST_PAUSE

    async def _rest(self) -> None:
        _log.warning("telegram.waits_for_gateway", extra={"pause": self._pause.total_seconds()})
        await self._clock.sleep_until(self._clock.now() + self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _read(self, raw: dict[str, Any]) -> RawMessage | None:
        try:
            update = Update.de_json(raw, None)
            move = read_move(update)
            message = read_update(update, self._us)
        except _ODD as exc:
            # Neither the update nor what the error says of it: both may hold what people wrote.
            _log.error(
                "telegram.update_unreadable",
                extra={"update": raw["update_id"], "error": type(exc).__name__},
            )
            return None
        if move is not None:
            self._moved(move)
        if message is None:
            _log.debug("telegram.update_passed", extra={"update": raw["update_id"]})
        return message
