"""What telemetry is told of attachments that were prepared."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from fermix.application.ports.clock import Clock
from fermix.application.ports.media_queue import WaitingMedia
from fermix.application.ports.telemetry import Telemetry
from fermix.domain.incoming_media import MediaFailed, MediaResult, PictureReady, Transcribed
from fermix.domain.message import AttachmentKind
from fermix.domain.telemetry import MediaIngest, TranscriptionMessage
from fermix.domain.telemetry_fields import session_of
from fermix.domain.telemetry_words import CallStatus


@dataclass(slots=True)
class Measured:
    """One attempt, and what ended with it."""

    result: MediaResult | None = None

    def ended(self, result: MediaResult) -> None:
        """The attachment became this, for good."""
        self.result = result


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaMeter:
    """Measures attempts; what is to be tried again is not told of."""

    telemetry: Telemetry
    clock: Clock

    @contextmanager
    def measuring(self, media: WaitingMedia) -> Iterator[Measured]:
        """Measure one attempt, and tell of it when it was the last one or was stopped."""
        began, measured = self.clock.monotonic(), Measured()
        try:
            yield measured
        except anyio.get_cancelled_exc_class():
            self._tell(media, media.attachment.kind, CallStatus.CANCELLED, began)
            raise
        result = measured.result
        if result is not None:
            status = CallStatus.FAILED if isinstance(result, MediaFailed) else CallStatus.OK
            self._tell(media, _kind_of(result), status, began)

    def _tell(self, media: WaitingMedia, kind: AttachmentKind, status: CallStatus, began: float) -> None:
        took = self.clock.monotonic() - began
        self.telemetry.emit(
            MediaIngest(
                channel=media.channel,
                kind=kind,
                status=status,
                duration=took,
                session_id=session_of(media.turn),
            )
        )
        if kind is AttachmentKind.AUDIO:
            self.telemetry.emit(TranscriptionMessage(channel=media.channel, status=status, duration=took))


def _kind_of(result: MediaResult) -> AttachmentKind:
    match result:
        case Transcribed():
            return AttachmentKind.AUDIO
        case PictureReady():
            return AttachmentKind.IMAGE
        case MediaFailed(kind=kind):
            return kind
        case _:
            return AttachmentKind.FILE
