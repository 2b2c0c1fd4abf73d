"""Files: uploaded in three steps, and fetched in two by their id."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from fermix.application.ports.blobs import BlobError, ReadsBlobs
from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelUnreachable,
    MediaTooLarge,
    SendError,
)
from fermix.application.ports.fetching import asked_again, within
from fermix.domain.delivery import MediaPart
from fermix.domain.normalise import clean
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.errors import CallError, NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.infrastructure.channels.slack.wire_in import FILE_ID
from fermix.infrastructure.channels.slack.wire_out import CAPS_HERE, formatted, thread_of

MAX_NAME = 200
_GONE = frozenset({"file_deleted", "file_not_found", "foreign_file_address", "too_many_redirects"})


async def upload(api: SlackApi, blobs: ReadsBlobs, target: Target, part: MediaPart) -> None:
    """Send a file; it is shown with the last of three calls, so what breaks before that was not sent.

    Raises:
        CallError: the last of them failed; the file may be shown.
        ChannelRateLimited, ChannelUnreachable, ChannelRejected: nothing was sent.
        BlobError: the file could not be read.
    """
    if part.blob.size_bytes == 0:
        raise ChannelRejected("Slack takes no empty files")
    file = await _store(api, blobs, part)
    await api.call(
        "files.completeUploadExternal",
        files=[{"id": file, "title": _name(part)}],
        channel_id=target.chat,
        thread_ts=thread_of(target),
        initial_comment=formatted(part.caption) if part.caption.strip() else None,
    )


async def _store(api: SlackApi, blobs: ReadsBlobs, part: MediaPart) -> str:
    """Put the bytes at Slack's, where nobody sees them yet; the id of the file.

    A file that nobody shows harms nobody, so what is not known of it may be done again.
    """
    try:
        place = await api.ask(
            "files.getUploadURLExternal", filename=_name(part), length=str(part.blob.size_bytes)
        )
        url, file = place.get("upload_url"), place.get("file_id")
        if not isinstance(url, str) or not isinstance(file, str):
            raise ChannelUnreachable("Slack does not say where the file is to go")
        async with blobs.open(part.blob) as pieces:
            reading = _Reading(pieces)
            try:
                await api.upload(url, reading.pieces(), size=part.blob.size_bytes)
            except (NotSent, NoAnswer, Refused):
                if reading.failed is not None:
                    raise reading.failed from None
                raise
        return file
    except (NotSent, NoAnswer, Refused) as exc:
        if isinstance(exc, Refused) and (exc.asks_to_wait or exc.is_about_us):
            raise
        error = send_error(exc)
        if isinstance(error, ChannelOutcomeUnknown):
            raise ChannelUnreachable(f"the upload broke off: {error}") from exc
        raise error from exc


class _Reading:
    """Hands on pieces, and remembers how reading failed: the client says only that sending did."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.failed: BlobError | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._pieces:
                yield piece
        except BlobError as exc:
            self.failed = exc
            raise


def _name(part: MediaPart) -> str:
    return clean(part.file_name)[:MAX_NAME] or part.kind.value


class SlackMedia:
    """The `MediaSource` of Slack."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of a file; see the `MediaSource` port."""
        most = min(limit, CAPS_HERE.media_in or 0)
        if not FILE_ID.fullmatch(reference):
            raise ChannelRejected("this is no id of a file at Slack")
        try:
            told = (await self._api.ask("files.info", file=reference)).get("file")
            file = told if isinstance(told, dict) else {}
            async with self._api.download(_address(file, most)) as (headers, pieces):
                if _is_a_page(headers, file):
                    raise ChannelRejected("a web page came in place of the file: the app may not read files")
                yield _counted(pieces, most)
        except (NotSent, NoAnswer, Refused) as exc:
            raise _fetch_error(exc) from exc


def _address(file: Mapping[str, object], most: int) -> str:
    size = file.get("size")
    if isinstance(size, int) and size > most:
        raise MediaTooLarge(limit=most)
    url = file.get("url_private_download") or file.get("url_private")
    if file.get("is_external") is True or not isinstance(url, str) or not url:
        raise ChannelRejected("Slack does not keep this file")
    return url


def _is_a_page(headers: Mapping[str, str], file: Mapping[str, object]) -> bool:
    """Whether the page where people log in came, which is answered with success; a page may be a file too."""
    if not headers.get("Content-Type", "").strip().lower().startswith("text/html"):
        return False
    if not str(file.get("mimetype")).startswith("text/html"):
        return True
    length = headers.get("Content-Length")
    return length is None or length != str(file.get("size"))


async def _counted(pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    try:
        async with aclosing(within(pieces, limit=limit)) as counted:
            async for piece in counted:
                yield piece
    except NoAnswer as exc:
        raise ChannelUnreachable(f"the transfer broke off: {exc}") from exc


def _fetch_error(exc: CallError) -> SendError:
    """What a failed fetch means: nothing is lost by trying again, unless the file is gone."""
    if isinstance(exc, Refused) and (exc.code in _GONE or exc.status in {403, 404, 410}):
        return ChannelRejected(f"the file cannot be had ({exc.code or exc.status})")
    return asked_again(send_error(exc))
