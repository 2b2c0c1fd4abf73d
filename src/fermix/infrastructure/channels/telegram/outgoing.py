"""One part as one call: a text, a file, a reaction; and what is done about refusals that say how to do better."""

import logging
import re
from dataclasses import dataclass, replace
from typing import Any, assert_never

from fermix.application.ports.channel import ChannelRejected, Delivered, OutgoingPart
from fermix.domain.delivery import MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.ids import ChatId, PlatformMessageId
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import Refused
from fermix.infrastructure.channels.telegram.moves import Moves
from fermix.infrastructure.channels.telegram.rich_text import RichText
from fermix.infrastructure.channels.telegram.taps import TelegramButtons, keyboard
from fermix.infrastructure.channels.telegram.wire_in import Moved
from fermix.infrastructure.channels.telegram.wire_out import (
    MAX_CAPTION,
    MAX_TEXT,
    captioned,
    formatted,
    message,
    raw,
    reaction,
)

_REMEDIES = 2
_MESSAGE_NUMBER = re.compile(r"[0-9]{1,18}")

_METHODS = {
    MediaKind.IMAGE: ("sendPhoto", "photo"),
    MediaKind.DOCUMENT: ("sendDocument", "document"),
    MediaKind.AUDIO: ("sendAudio", "audio"),
    MediaKind.VOICE: ("sendVoice", "voice"),
    MediaKind.VIDEO: ("sendVideo", "video"),
}

_log = logging.getLogger("fermix.telegram")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How a part is to be sent: where, its words with their looks, and a file as what."""

    chat: str
    words: RichText
    shown_as: MediaKind = MediaKind.DOCUMENT


class Outgoing:
    """Sends parts. Raises `CallError`, `ChannelRejected`, and errors of the store of files."""

    def __init__(self, *, api: BotApi, moves: Moves, buttons: TelegramButtons) -> None:
        self._api = api
        self._moves = moves
        self._buttons = buttons

    async def send(self, part: OutgoingPart, chat: str) -> Delivered:
        """Deliver one part to a chat as it is called now.

        Refusals that say how to do better are followed once each: formatting that is not understood goes out raw,
        a picture that Telegram cannot show goes out as a document, and a group that has moved gets its message at
        the new place.
        """
        way = _first_way(part, chat)
        for _ in range(_REMEDIES):
            try:
                return await self._call(part, way)
            except Refused as exc:
                if exc.says_nothing_changed:
                    return Delivered()
                better = self._better(part, way, exc)
                if better is None:
                    raise
                way = better
        return await self._call(part, way)

    def _better(self, part: OutgoingPart, way: _Way, exc: Refused) -> _Way | None:
        if isinstance(part.body, ReactionPart):
            return None
        if exc.migrate_to is not None and str(exc.migrate_to) != way.chat:
            self._moves.remember(Moved(old=way.chat, new=str(exc.migrate_to)))
            return replace(way, chat=str(exc.migrate_to))
        if exc.is_about_entities and way.words.entities:
            _log.warning("telegram.formatting_refused", extra={"entities": len(way.words.entities)})
            return replace(way, words=raw(part.body.text))
        if exc.is_about_picture and way.shown_as is MediaKind.IMAGE:
            _log.warning("telegram.picture_refused", extra={"cause": exc.description})
            return replace(way, shown_as=MediaKind.DOCUMENT)
        return None

    async def _call(self, part: OutgoingPart, way: _Way) -> Delivered:
        match part.body:
            case TextPart() as body:
                sent = await self._say(part, body, way)
            case MediaPart() as body:
                sent = await self._upload(part, body, way)
            case ReactionPart() as body:
                await self._react(part, body, way)
                return Delivered()
            case _:
                assert_never(part.body)
        number = _number(sent)
        return Delivered(
            platform_id=None if number is None else PlatformMessageId(str(number)),
            moved_to=None if way.chat == part.target.chat else ChatId(way.chat),
        )

    async def _say(self, part: OutgoingPart, body: TextPart, way: _Way) -> Any:
        parameters = {**message(part.target, way.chat, way.words), **keyboard(body.choices)}
        sent = await self._api.call("sendMessage", **parameters)
        number = _number(sent)
        if number is not None:
            for choice in body.choices:
                self._buttons.remember(choice.token, way.chat, number)
        return sent

    async def _upload(self, part: OutgoingPart, body: MediaPart, way: _Way) -> Any:
        method, field = _METHODS[way.shown_as]
        return await self._api.upload(method, field, body, **captioned(part.target, way.chat, way.words))

    async def _react(self, part: OutgoingPart, body: ReactionPart, way: _Way) -> None:
        number = _MESSAGE_NUMBER.fullmatch(body.message)
        if number is None or way.chat != part.target.chat:
            raise ChannelRejected("no message of that chat is called so")
        await self._api.call("setMessageReaction", **reaction(way.chat, int(number[0]), body.emoji))


def _first_way(part: OutgoingPart, chat: str) -> _Way:
    match part.body:
        case TextPart(text=text):
            return _Way(chat=chat, words=formatted(text, limit=MAX_TEXT))
        case MediaPart(caption=caption, kind=kind):
            return _Way(chat=chat, words=formatted(caption, limit=MAX_CAPTION), shown_as=kind)
        case ReactionPart(emoji=emoji):
            return _Way(chat=chat, words=RichText(text=emoji))
        case _:
            assert_never(part.body)


def _number(sent: Any) -> int | None:
    number = sent.get("message_id") if isinstance(sent, dict) else None
    return number if type(number) is int else None
