"""Attachments: their message is asked for again, since addresses expire, and the file read from Discord's host."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from fermix.application.ports.channel import ChannelRejected, MediaTooLarge, SendError
from fermix.application.ports.fetching import asked_again, within
from fermix.infrastructure.channels.discord.errors import CallError, NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.discord.rest import Requests, RestClient
from fermix.infrastructure.channels.discord.wire_in import read_reference, stored_file
from fermix.infrastructure.channels.discord.wire_out import LIMITS


class DiscordMedia:
    """See the `MediaSource` port."""

    def __init__(self, *, rest: RestClient, requests: Requests) -> None:
        self._rest = rest
        self._requests = requests

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See `MediaSource.fetch`. The bot's token is not shown to the host of the files."""
        most = min(limit, LIMITS.media_in or 0)
        place = read_reference(reference)
        if place is None:
            raise ChannelRejected("not an attachment of Discord's")
        chat, message, number = place
        try:
            file = stored_file(await self._message(chat, message), number)
            if file is None or not self._requests.holds_files(file.address):
                raise ChannelRejected("Discord does not say where the file is")
            if file.size_bytes is not None and file.size_bytes > most:
                raise MediaTooLarge(limit=most)
            async with (
                self._requests.file(file.address) as pieces,
                aclosing(within(pieces, limit=most)) as counted,
            ):
                yield counted
        except (NotSent, NoAnswer, Refused) as exc:
            raise _fetch_error(exc) from exc

    async def _message(self, chat: int, message: int) -> Mapping[str, Any]:
        found: object = await self._rest.get_message(chat, message)
        if not isinstance(found, dict):
            raise NoAnswer("an answer that is no message")
        return found


def _fetch_error(exc: CallError) -> SendError:
    """What a failed call means for who wants the file: what nobody knows of a message can be asked again here."""
    if isinstance(exc, Refused) and exc.status in {403, 404, 410}:
        return ChannelRejected("Discord does not keep this file any more")
    return asked_again(send_error(exc))
