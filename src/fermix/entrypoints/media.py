"""What prepares the files that people send, made of the settings and of who can fetch, hear and see."""

from collections.abc import Mapping

from fermix.application.media.fetching import FetchMedia
from fermix.application.media.limits import Caps, MediaLimits
from fermix.application.media.making import MakeMedia
from fermix.application.media.preparer import Preparer
from fermix.application.ports.blobs import Blobs
from fermix.application.ports.channel import Channel, media_sources_of
from fermix.application.ports.clock import Clock
from fermix.application.ports.media_queue import MediaQueue
from fermix.application.ports.pictures import Pictures
from fermix.application.ports.telemetry import Telemetry
from fermix.application.ports.transcription import Transcriber
from fermix.domain.caps import MIB
from fermix.domain.ids import ChannelName
from fermix.infrastructure.settings.model import Settings


def made_with(
    settings: Settings, *, blobs: Blobs, pictures: Pictures, transcriber: Transcriber | None
) -> MakeMedia:
    """What makes transcripts and pictures of stored files, within the owner's limits."""
    limits = MediaLimits(audio_bytes=settings.core.transcription.max_file_mb * MIB)
    return MakeMedia(blobs=blobs, pictures=pictures, transcriber=transcriber, limits=limits)


def preparer_of(
    make: MakeMedia,
    *,
    queue: MediaQueue,
    channels: Mapping[ChannelName, Channel],
    clock: Clock,
    telemetry: Telemetry,
) -> Preparer:
    """What prepares the files of the channels that this process serves."""
    caps = Caps(
        features={name: channel.features for name, channel in channels.items()},
        audio_bytes=make.limits.audio_bytes,
    )
    fetch = FetchMedia(sources=media_sources_of(channels), blobs=make.blobs, caps=caps, limits=make.limits)
    return Preparer(queue=queue, fetch=fetch, make=make, clock=clock, channels=channels, telemetry=telemetry)
