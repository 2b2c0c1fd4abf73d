"""One bot's methods by their names: polls have a connection of their own, everything else shares another pool."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import IO, Any, cast
from urllib.parse import quote

import httpx
from telegram import Bot, InputFile
from telegram.error import InvalidToken, TelegramError
from telegram.warnings import PTBUserWarning
from typing_extensions import override

from fermix.application.ports.blobs import BlobError, ReadsBlobs
from fermix.domain.delivery import MediaPart
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused
from fermix.infrastructure.channels.telegram.multipart import Upload
from fermix.infrastructure.channels.telegram.request import READ_SECONDS, PooledRequest

MAX_CALLS = 16
"""Calls under way at once, polls aside: more only make each of them slower."""

MAX_FILES = 4
"""Files that are fetched at once, beside the calls."""

ALLOWED_UPDATES = ("message", "edited_message", "callback_query")

_library_log = logging.getLogger("fermix.telegram.library")
_library_log.setLevel(logging.WARNING)  # below that it writes down addresses, with the token, and texts


class _RawBot(Bot):
    """A bot whose methods are called by name; the library's advice to call its wrappers is not for us."""

    _LOGGER = _library_log

    @classmethod
    @override
    def _warn(
        cls, message: str | PTBUserWarning, category: type[Warning] = PTBUserWarning, stacklevel: int = 0
    ) -> None:
        if not str(message).startswith("Please use 'Bot."):
            super()._warn(message, category, stacklevel + 1)


class BotApi:
    """Raises `CallError`, and `BlobError` where a file is sent, and nothing else.

    `root` is the address that `/bot<token>/<method>` follows; a call is given up when nothing comes back for
    `answer_seconds`. Files that are sent are read from `blobs`.
    """

    def __init__(
        self,
        *,
        token: str,
        root: str,
        blobs: ReadsBlobs,
        proxy: str | None = None,
        answer_seconds: float = READ_SECONDS,
    ) -> None:
        self._answer_seconds = answer_seconds
        self._blobs = blobs
        self._files = f"{root}/file/bot{token}/"
        tls = cache(httpx.create_ssl_context)
        self._polling = PooledRequest(connections=1, tls=tls, proxy=proxy)
        self._calling = PooledRequest(connections=MAX_CALLS, tls=tls, proxy=proxy)
        self._fetching = PooledRequest(connections=MAX_FILES, tls=tls, proxy=proxy)
        self._bot = _RawBot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._calling,
            get_updates_request=self._polling,
        )

    async def call(self, method: str, **parameters: object) -> Any:
        """The result of a method."""
        return await self._do(method, parameters, read_timeout=self._answer_seconds)

    async def upload(self, method: str, field: str, part: MediaPart, **parameters: object) -> Any:
        """The result of a method that takes a file as its parameter `field`."""
        async with self._blobs.open(part.blob) as pieces:
            file = InputFile(
                cast("IO[bytes]", Upload(blob=part.blob, pieces=pieces)),
                filename=part.file_name or part.kind.value,
                read_file_handle=False,
            )
            file.mimetype = part.mime_type
            return await self._do(method, {**parameters, field: file}, read_timeout=self._answer_seconds)

    @asynccontextmanager
    async def file(self, path: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of a file by the path that `getFile` named, from this server."""
        async with self._fetching.download(self._files + quote(path, safe="/")) as pieces:
            yield pieces

    async def updates(
        self, *, offset: int | None, wait_seconds: int, margin_seconds: float
    ) -> Sequence[dict[str, Any]]:
        """One long poll: what came in, raw; empty after `wait_seconds` without news."""
        parameters: dict[str, object] = {
            "offset": offset,
            "timeout": wait_seconds,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        found = await self._do("getUpdates", parameters, read_timeout=wait_seconds + margin_seconds)
        if not isinstance(found, list):
            raise NoAnswer("updates that are no list")
        return [one for one in found if isinstance(one, dict)]

    @asynccontextmanager
    async def polling(self) -> AsyncGenerator[None]:
        """Polls inside go over a connection that is new at the start and closed at the end."""
        await self._polling.shutdown()
        try:
            yield
        finally:
            await self._polling.shutdown()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._polling.shutdown()
        await self._calling.shutdown()
        await self._fetching.shutdown()

    async def _do(self, method: str, parameters: dict[str, object], *, read_timeout: float) -> Any:
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            return await self._bot.do_api_request(method, api_kwargs=given, read_timeout=read_timeout)
        except (NotSent, NoAnswer, Refused):
            raise
        except RecursionError as exc:
            # The parser gave up on it; the error holds the answer's own words.
            raise NoAnswer("an answer that is nested too deep") from exc
        except InvalidToken as exc:
            raise Refused(401, "") from exc
        except TelegramError as exc:
            if isinstance(exc.__cause__, BlobError):
                raise exc.__cause__ from None
            raise NoAnswer(type(exc).__name__) from exc
