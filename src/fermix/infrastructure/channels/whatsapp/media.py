"""Files: uploaded before the message that shows them, and fetched in two steps by their id."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.channel import (
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    MediaTooLarge,
)
from fermix.application.ports.fetching import within
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaPart
from fermix.infrastructure.channels.whatsapp.content import MEDIA_ID
from fermix.infrastructure.channels.whatsapp.errors import (
    CREDENTIAL_REFUSED,
    NoAnswer,
    NotSent,
    Refused,
    rate_limited,
    send_error,
)
from fermix.infrastructure.channels.whatsapp.graph import Graph
from fermix.infrastructure.channels.whatsapp.wire_out import CAPS_HERE, SentAs

OUR_HOSTS = (".fbsbx.com", ".fbcdn.net", ".facebook.com", ".whatsapp.net")
"""Where Meta keeps files; our token is shown to nobody else."""

_TRIES = 2
"""An address lives for five minutes: one that is stale is asked for anew, once."""

_STALE = frozenset({403, 404, 410})


async def upload(graph: Graph, blobs: ReadsBlobs, part: MediaPart, how: SentAs) -> str:
    """Upload a file; its id there.

    Raises:
        ChannelRateLimited, ChannelUnreachable, ChannelRejected: nothing was sent.
        BlobError: the file could not be read.
    """
    form = _form(part.blob, how)
    try:
        answer = await graph.post_file(
            form.filled(blobs, part.blob), content_type=form.content_type, length=form.length(part.blob)
        )
    except NoAnswer as exc:
        # A file that nobody shows harms nobody, so it may be uploaded again.
        raise ChannelUnreachable(f"the upload broke off: {exc}") from exc
    except (NotSent, Refused) as exc:
        error = send_error(exc)
        known = isinstance(error, ChannelRateLimited | ChannelRejected | ChannelUnreachable)
        raise error if known else ChannelUnreachable("the upload failed") from exc
    media = answer.get("id")
    if not isinstance(media, str) or not media:
        raise ChannelUnreachable("the upload was answered without an id")
    return media


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """The form of an upload, but for the file in its middle."""

    content_type: str
    head: bytes
    tail: bytes

    def length(self, blob: BlobRef) -> int:
        """Bytes of the whole form."""
        return len(self.head) + blob.size_bytes + len(self.tail)

    async def filled(self, blobs: ReadsBlobs, blob: BlobRef) -> AsyncIterator[bytes]:
        """The whole form, the file read from the store as it leaves."""
        yield self.head
        async with blobs.open(blob) as pieces:
            async for piece in pieces:
                yield piece
        yield self.tail


def _form(blob: BlobRef, how: SentAs) -> _Form:
    # Nobody can write a file that holds its own digest.
    boundary = f"fermix-{blob.digest[:48]}"
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("messaging_product", "whatsapp"), ("type", how.mime_type))
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n'
        f"Content-Type: {how.mime_type}\r\n\r\n"
    )
    return _Form(
        content_type=f"multipart/form-data; boundary={boundary}",
        head=head.encode(),
        tail=f"\r\n--{boundary}--\r\n".encode(),
    )


class WhatsAppMedia:
    """The `MediaSource` of WhatsApp."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of a file; see the `MediaSource` port."""
        most = min(limit, CAPS_HERE.media_in or 0)
        async with AsyncExitStack() as stack:
            try:
                pieces = await self._found(stack, reference, most)
            except (NotSent, NoAnswer, Refused) as exc:
                raise _fetch_error(exc) from exc
            yield await stack.enter_async_context(aclosing(_capped(pieces, most)))

    async def _found(self, stack: AsyncExitStack, reference: str, limit: int) -> AsyncIterator[bytes]:
        if not MEDIA_ID.fullmatch(reference):
            raise ChannelRejected("this is no id of a file at WhatsApp")
        for last in range(_TRIES):
            told = await self._graph.about_file(reference)
            size = told.get("file_size")
            if (
                isinstance(size, int | str)
                and str(size).isascii()
                and str(size).isdigit()
                and int(size) > limit
            ):
                raise MediaTooLarge(limit=limit)
            try:
                headers, pieces = await stack.enter_async_context(self._graph.download(self._address(told)))
            except Refused as exc:
                if exc.status in _STALE and last < _TRIES - 1:
                    continue
                raise
            if _is_a_page(headers) and not str(told.get("mime_type")).startswith("text/html"):
                raise ChannelRejected("a web page came in place of the file")
            return pieces
        raise ChannelRejected("the file is not there any more")

    def _address(self, told: Mapping[str, Any]) -> str:
        url = told.get("url")
        if not isinstance(url, str) or not self._may_see_token(url):
            raise ChannelRejected("the file lies at an address that is not Meta's")
        return url

    def _may_see_token(self, url: str) -> bool:
        try:
            parts, own = urlsplit(url), urlsplit(self._graph.place.root)
            same = (parts.scheme, parts.hostname, parts.port) == (own.scheme, own.hostname, own.port)
        except ValueError:
            return False
        host = f".{parts.hostname or ''}"
        return same or (parts.scheme == "https" and parts.port in {None, 443} and host.endswith(OUR_HOSTS))


def _is_a_page(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").strip().lower().startswith("text/html")


async def _capped(pieces: AsyncIterator[bytes], limit: int) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(within(pieces, limit=limit)) as counted:
            async for piece in counted:
                yield piece
    except NoAnswer as exc:
        raise ChannelUnreachable(f"the transfer broke off: {exc}") from exc


def _fetch_error(
    exc: NotSent | NoAnswer | Refused,
) -> ChannelRateLimited | ChannelUnreachable | ChannelRejected:
    """What a failed fetch means: nothing is lost by trying again, unless the file is gone."""
    if not isinstance(exc, Refused):
        return ChannelUnreachable(f"WhatsApp cannot be reached: {exc}")
    if exc.is_about_us:
        return ChannelUnreachable(CREDENTIAL_REFUSED)
    error = send_error(exc)
    if isinstance(error, ChannelRateLimited):
        return rate_limited(exc)
    if exc.code in {100, 131052} or 300 <= exc.status <= 399 or exc.status in _STALE:
        return ChannelRejected(f"the file cannot be had ({exc.code or exc.status})")
    return ChannelUnreachable(f"WhatsApp does not hand the file over ({exc.code or exc.status})")
