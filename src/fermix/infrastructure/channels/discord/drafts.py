"""Drafts: messages of the bot that it changes while their text is written, and deletes when none comes of them."""

from typing import Any

from discord.http import MultipartParameters

from fermix.application.ports.channel import ChannelOutcomeUnknown, ChannelRejected, Delivered
from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.discord.rest import RestClient
from fermix.infrastructure.channels.discord.wire_out import edit, in_answer_to, message, number_of


class DiscordDrafts:
    """See the `Drafts` port. A draft is called `chat/message`: its number means nothing in another chat.

    Discord limits changes of messages by themselves, so a draft keeps no reply from being sent.
    """

    def __init__(self, *, rest: RestClient) -> None:
        self._rest = rest

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        """Send the first text as any message, pointing at what it answers."""
        chat = number_of(target.chat)
        body = {**message(text), **in_answer_to(target.reply_to)}
        try:
            sent = await self._rest.send_message(chat, params=_body(body))
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc
        number = sent.get("id") if isinstance(sent, dict) else None
        if not isinstance(number, str):
            raise ChannelOutcomeUnknown("Discord did not say which message it is")
        return PlatformMessageId(f"{chat}/{number}")

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:  # noqa: ARG002  # the port's
        """Replace the text."""
        chat, number = _read(draft)
        try:
            await self._rest.edit_message(chat, number, params=_body(edit(text)))
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        """Replace the text for good."""
        await self.edit(target, draft, body.text)
        return Delivered(platform_id=PlatformMessageId(str(_read(draft)[1])))

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:  # noqa: ARG002  # the port's
        """Delete the message."""
        chat, number = _read(draft)
        try:
            await self._rest.delete_message(chat, number)
        except (NotSent, NoAnswer, Refused) as exc:
            if not (isinstance(exc, Refused) and exc.says_it_is_gone):
                raise send_error(exc) from exc


def _body(payload: dict[str, Any]) -> MultipartParameters:
    return MultipartParameters(payload=payload, multipart=None, files=None)


def _read(draft: PlatformMessageId) -> tuple[int, int]:
    """Chat and number of a draft.

    Raises:
        ChannelRejected: no draft of Discord's is called so.
    """
    chat, _, number = draft.partition("/")
    if not number:
        raise ChannelRejected("not a draft of Discord's")
    return number_of(chat), number_of(number)
