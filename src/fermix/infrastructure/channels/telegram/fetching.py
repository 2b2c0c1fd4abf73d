"""Attachments: asked for by their file id, then read from the same server and from nowhere else."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from fermix.application.ports.channel import ChannelRejected, MediaTooLarge, SendError
from fermix.application.ports.fetching import asked_again, within
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import CallError, NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.telegram.wire_out import CAPS_HERE


class TelegramMedia:
    """See the `MediaSource` port; https://core.telegram.org/bots/api#getfile."""

    def __init__(self, *, api: BotApi) -> None:
        self._api = api

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See `MediaSource.fetch`."""
        most = min(limit, CAPS_HERE.media_in or 0)
        path = await self._path_of(reference, most)
        try:
            async with self._api.file(path) as pieces, aclosing(within(pieces, limit=most)) as counted:
                yield counted
        except Refused as exc:
            if exc.status == 404:
                raise ChannelRejected("Telegram does not keep this file any more") from exc
            raise _fetch_error(exc, most) from exc
        except (NotSent, NoAnswer) as exc:
            raise _fetch_error(exc, most) from exc

    async def _path_of(self, reference: str, most: int) -> str:
        try:
            file = await self._api.call("getFile", file_id=reference)
        except (NotSent, NoAnswer, Refused) as exc:
            raise _fetch_error(exc, most) from exc
        size = file.get("file_size") if isinstance(file, dict) else None
        path = file.get("file_path") if isinstance(file, dict) else None
        if isinstance(size, int) and size > most:
            raise MediaTooLarge(limit=most)
        if not isinstance(path, str) or not path or path.startswith("/") or ".." in path.split("/"):
            raise ChannelRejected("Telegram's server does not say where the file is")
        return path


def _fetch_error(exc: CallError, limit: int) -> SendError:
    """What a failed call means for who wants the file: what nobody knows of a message can be asked again here."""
    if isinstance(exc, Refused) and exc.says_too_big:
        return MediaTooLarge(limit=limit)
    return asked_again(send_error(exc))
