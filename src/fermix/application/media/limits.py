"""How much preparing may cost, and what is refused before anything is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass

from fermix.application.ports.channel import ChannelFeatures
from fermix.domain.caps import MIB
from fermix.domain.ids import ChannelName
from fermix.domain.incoming_media import MediaFailed, MediaProblem
from fermix.domain.message import Attachment, AttachmentKind
from fermix.domain.picture import MAX_FILE_BYTES

DEFAULT_FETCHED = 20 * MIB
"""The most that is fetched from a channel that names no limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """How much preparing may cost.

    Attributes:
        audio_bytes: the largest recording that is transcribed.
        downloads: files of one channel that are fetched at the same time.
        recordings: recordings that are with the transcriber at the same time.
        pictures: pictures that are worked on at the same time.
        conversation: files of one conversation that are on their way at the same time: however many somebody
            sends, there are places left for what others send.
        piece_seconds: how long a download may stand still.
        download_seconds: how long a whole download may take.
        work_seconds: how long the transcriber, or work on a picture, may take; beyond its own limits.
    """

    audio_bytes: int = 20 * MIB
    downloads: int = 4
    recordings: int = 2
    pictures: int = 2
    conversation: int = 2
    piece_seconds: float = 30.0
    download_seconds: float = 300.0
    work_seconds: float = 600.0

    @property
    def at_once(self) -> int:
        """Files of one channel that are on their way at the same time, those included that wait for a place."""
        return 2 * (self.downloads + self.recordings + self.pictures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How large what comes in may be: by its channel, and for recordings by the owner's setting.

    A picture that would be too large to be looked at is not fetched either.
    """

    features: Mapping[ChannelName, ChannelFeatures]
    audio_bytes: int

    def of(self, channel: ChannelName, kind: AttachmentKind) -> int:
        """The most bytes that are fetched."""
        features = self.features.get(channel)
        fetched = DEFAULT_FETCHED if features is None else features.media_in or DEFAULT_FETCHED
        match kind:
            case AttachmentKind.AUDIO:
                return min(fetched, self.audio_bytes)
            case AttachmentKind.IMAGE:
                return min(fetched, MAX_FILE_BYTES)
            case _:
                return fetched

    def too_large(
        self, channel: ChannelName, kind: AttachmentKind, *, size_bytes: int | None = None
    ) -> MediaFailed:
        """What is said of a file that is over its limit."""
        limit = self.of(channel, kind)
        by_setting = kind is AttachmentKind.AUDIO and limit == self.audio_bytes
        return MediaFailed(
            problem=MediaProblem.AUDIO_TOO_LARGE if by_setting else MediaProblem.FILE_TOO_LARGE,
            kind=kind,
            size_bytes=size_bytes,
            limit_bytes=limit,
        )

    def refused_unseen(self, channel: ChannelName, attachment: Attachment) -> MediaFailed | None:
        """Refuse by the declared size what need not be fetched to know that it is too large."""
        size = attachment.size_bytes
        if size is None or size <= self.of(channel, attachment.kind):
            return None
        return self.too_large(channel, attachment.kind, size_bytes=size)
