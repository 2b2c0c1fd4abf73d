"""Drafts: messages of the bot that it edits while their text is written, and deletes when none comes of them."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    Delivered,
)
from fermix.application.ports.clock import Clock
from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.telegram.moves import Moves
from fermix.infrastructure.channels.telegram.pace import MAX_CHATS, Pace
from fermix.infrastructure.channels.telegram.rich_text import RichText
from fermix.infrastructure.channels.telegram.wire_out import edit, formatted, message, raw

_log = logging.getLogger("fermix.telegram")

_Parameters = Callable[[RichText], dict[str, object]]


class TelegramDrafts:
    """See the `Drafts` port. A draft is called `chat/message`: its number means nothing in another chat.

    A wait that Telegram asks for is kept for drafts of that chat and for nothing else: they are what it asked to
    slow down, and a reply is worth a try of its own.
    """

    def __init__(self, *, api: BotApi, moves: Moves, pace: Pace, clock: Clock) -> None:
        self._api = api
        self._moves = moves
        self._pace = pace
        self._clock = clock
        self._held: dict[str, float] = {}

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        """Send the first text as any message, with its looks, in the topic, pointing at what it answers."""
        chat = self._moves.now(target.chat)
        self._take_place(chat)
        sent = await self._show(chat, "sendMessage", text, lambda rich: message(target, chat, rich))
        number = sent.get("message_id") if isinstance(sent, dict) else None
        if not isinstance(number, int):
            raise ChannelOutcomeUnknown("Telegram did not say which message it is")
        return PlatformMessageId(f"{chat}/{number}")

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:  # noqa: ARG002  # the port's
        """Replace the text, at the pace of drafts."""
        chat, number = _read(draft)
        self._take_place(chat)
        await self._show(chat, "editMessageText", text, lambda rich: edit(chat, number, rich))

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:  # noqa: ARG002  # the port's
        """Replace the text for good, at once."""
        chat, number = _read(draft)
        self._pace.note(chat, now=self._clock.monotonic())
        await self._show(chat, "editMessageText", body.text, lambda rich: edit(chat, number, rich))
        return Delivered(platform_id=PlatformMessageId(str(number)))

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:  # noqa: ARG002  # the port's
        """Delete the message."""
        chat, number = _read(draft)
        try:
            await self._api.call("deleteMessage", chat_id=chat, message_id=number)
        except (NotSent, NoAnswer, Refused) as exc:
            if not (isinstance(exc, Refused) and exc.says_it_is_gone):
                raise send_error(exc) from exc

    def _take_place(self, chat: str) -> None:
        now = self._clock.monotonic()
        wait = max(self._held.get(chat, now) - now, 0.0) or self._pace.take_spare(chat, now=now)
        if wait > 0:
            raise ChannelRateLimited(
                "a draft would be too fast for Telegram", retry_after=timedelta(seconds=wait)
            )

    async def _show(self, chat: str, method: str, text: str, parameters: _Parameters) -> Any:
        """The result of a method; formatting that is not understood is left out, once."""
        rich = formatted(text)
        try:
            try:
                return await self._api.call(method, **parameters(rich))
            except Refused as exc:
                if not (exc.is_about_entities and rich.entities):
                    raise
            _log.warning("telegram.formatting_refused", extra={"entities": len(rich.entities)})
            return await self._api.call(method, **parameters(raw(text)))
        except (NotSent, NoAnswer, Refused) as exc:
            if isinstance(exc, Refused) and exc.says_nothing_changed:
                return None
            error = send_error(exc)
            if isinstance(error, ChannelRateLimited):
                self._hold(chat, error.retry_after)
            raise error from exc

    def _hold(self, chat: str, wait: timedelta) -> None:
        if len(self._held) >= MAX_CHATS:
            self._held.clear()
        self._held[chat] = self._clock.monotonic() + wait.total_seconds()


def _read(draft: PlatformMessageId) -> tuple[str, int]:
    """Chat and number of a draft.

    Raises:
        ChannelRejected: no draft of Telegram's is called so.
    """
    chat, _, number = draft.rpartition("/")
    if not chat or not (number.isascii() and number.isdecimal()):
        raise ChannelRejected("not a draft of Telegram's")
    return chat, int(number)
