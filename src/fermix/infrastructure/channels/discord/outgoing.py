"""What leaves as a part: a text, a file, a reaction. Each is one call that is made once."""

from typing import Any, assert_never

import orjson
from discord.http import MultipartParameters

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.channel import ChannelOutcomeUnknown, ChannelRejected, Delivered, OutgoingPart
from fermix.domain.delivery import MediaPart, ReactionPart, TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.channels.discord.answers import DiscordButtons
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused
from fermix.infrastructure.channels.discord.multipart import Multipart, Upload
from fermix.infrastructure.channels.discord.rest import RestClient
from fermix.infrastructure.channels.discord.wire_in import our_reactions
from fermix.infrastructure.channels.discord.wire_out import (
    MAX_TEXT,
    in_answer_to,
    message,
    number_of,
    once,
)


class Outgoing:
    """Raises `CallError`, and errors of channels where no call was made."""

    def __init__(self, *, rest: RestClient, blobs: ReadsBlobs, buttons: DiscordButtons) -> None:
        self._rest = rest
        self._blobs = blobs
        self._buttons = buttons

    async def send(self, part: OutgoingPart) -> Delivered:
        """Make a part's call."""
        match part.body:
            case TextPart() as body:
                return await self._say(part, body)
            case MediaPart() as body:
                return await self._show(part, body)
            case ReactionPart() as body:
                return await self._react(part, body)
            case _:
                assert_never(part.body)

    async def _say(self, part: OutgoingPart, body: TextPart) -> Delivered:
        if len(body.text) > MAX_TEXT:
            raise ChannelRejected(f"longer than {MAX_TEXT} characters")
        payload = _payload(part, body.text) | message(body.text, choices=body.choices)
        params = MultipartParameters(payload=payload, multipart=None, files=None)
        sent = _sent(await self._rest.send_message(number_of(part.target.chat), params=params))
        for choice in body.choices:
            self._buttons.remember(choice.token, part.target.chat, str(sent.platform_id))
        return sent

    async def _show(self, part: OutgoingPart, body: MediaPart) -> Delivered:
        payload = orjson.dumps(_payload(part, body.caption))
        async with self._blobs.open(body.blob) as pieces:
            upload = Upload(blob=body.blob, file_name=body.file_name, mime_type=body.mime_type, pieces=pieces)
            return _sent(
                await self._rest.send_file(
                    number_of(part.target.chat), Multipart(payload=payload, upload=upload)
                )
            )

    async def _react(self, part: OutgoingPart, body: ReactionPart) -> Delivered:
        chat, number = number_of(part.target.chat), number_of(body.message)
        await self._rest.add_reaction(chat, number, body.emoji)
        try:
            found: Any = await self._rest.get_message(chat, number)
            others = our_reactions(found) if isinstance(found, dict) else []
            for other in others:
                if other != body.emoji:
                    await self._rest.remove_own_reaction(chat, number, other)
        except (NotSent, NoAnswer, Refused):
            # The new one stands; that an old one stands beside it is no reason to put it there again.
            return Delivered()
        return Delivered()


def _payload(part: OutgoingPart, text: str) -> dict[str, object]:
    return {**message(text), **in_answer_to(part.target.reply_to), **once(part.nonce)}


def _sent(answer: object) -> Delivered:
    number = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(number, str):
        raise ChannelOutcomeUnknown("an answer that names no message")
    return Delivered(platform_id=PlatformMessageId(number))
