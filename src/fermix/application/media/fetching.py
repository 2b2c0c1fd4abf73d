"""Fetching an attachment from its platform into the store of files: watched, limited, and never by an address."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import anyio

from fermix.application.media.attempt import Download, Fetched, GivenUp, TryAgain
from fermix.application.media.limits import Caps, MediaLimits
from fermix.application.ports.blobs import BlobError, Blobs, BlobTooLarge
from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    MediaSource,
    MediaTooLarge,
)
from fermix.application.ports.media_queue import WaitingMedia
from fermix.domain.blob import BlobRef
from fermix.domain.ids import ChannelName
from fermix.domain.incoming_media import HEAD_BYTES, MediaFailed, MediaProblem, Recognised, recognise
from fermix.domain.message import AttachmentKind
from fermix.domain.trust import Trust


class _NothingForGuests(Exception):
    """What comes is neither picture nor recording, and its sender is a guest: the rest is not fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchMedia:
    """Fetches attachments by the references their channels understand."""

    sources: Mapping[ChannelName, MediaSource]
    blobs: Blobs
    caps: Caps
    limits: MediaLimits

    def refused_unseen(self, media: WaitingMedia) -> MediaFailed | None:
        """Refuse what is too large by the size that its platform declares, without asking for it."""
        return self.caps.refused_unseen(media.channel, media.attachment)

    async def __call__(self, media: WaitingMedia) -> Download:
        """Fetch one; its bytes are stored, or nothing of them is left."""
        source = self.sources.get(media.channel)
        if source is None:
            return GivenUp(result=_not_fetched(media), cause="its channel fetches nothing")
        try:
            return Fetched(content=await self._stored(source, media))
        except (ChannelError, BlobError, TimeoutError, _NothingForGuests) as exc:
            return self._judged(exc, media)

    async def _stored(self, source: MediaSource, media: WaitingMedia) -> BlobRef:
        limit = self.caps.of(media.channel, media.attachment.kind)
        with anyio.fail_after(self.limits.download_seconds):
            async with (
                source.fetch(media.reference, limit=limit) as pieces,
                aclosing(self._watched(pieces, media)) as watched,
            ):
                return await self.blobs.store(watched, limit=limit)

    def _judged(self, exc: Exception, media: WaitingMedia) -> GivenUp | TryAgain:
        """What can be done about a download that failed."""
        failed, cause = _not_fetched(media), str(exc)
        match exc:
            case MediaTooLarge() | BlobTooLarge():
                return GivenUp(result=self.caps.too_large(media.channel, media.attachment.kind), cause=cause)
            case _NothingForGuests():
                refused = MediaFailed(problem=MediaProblem.FILE_OF_A_GUEST, kind=AttachmentKind.FILE)
                return GivenUp(result=refused, cause="a guest's file is neither picture nor recording")
            case ChannelRejected():
                return GivenUp(result=failed, cause=cause)
            case ChannelRateLimited(retry_after=after):
                return TryAgain(result=failed, cause=cause, after=after)
            case _:
                return TryAgain(result=failed, cause=cause or "the download took too long, or stood still")

    async def _watched(self, pieces: AsyncIterator[bytes], media: WaitingMedia) -> AsyncGenerator[bytes]:
        """The pieces as they come, none of them waited for too long; ends where the rest is of no use."""
        head = b""
        while (piece := await self._next(pieces)) is not None:
            if len(head) < HEAD_BYTES:
                head += piece[:HEAD_BYTES]
                _turn_away(head, media)
            yield piece

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        with anyio.fail_after(self.limits.piece_seconds):
            return await anext(pieces, None)


def _not_fetched(media: WaitingMedia) -> MediaFailed:
    return MediaFailed(problem=MediaProblem.NOT_FETCHED, kind=media.attachment.kind)


def _turn_away(head: bytes, media: WaitingMedia) -> None:
    if media.trust is Trust.OPERATOR or len(head) < HEAD_BYTES:
        return
    match recognise(media.attachment.kind, head[:HEAD_BYTES]):
        case Recognised(kind=AttachmentKind.FILE):
            raise _NothingForGuests
        case _:
            return
