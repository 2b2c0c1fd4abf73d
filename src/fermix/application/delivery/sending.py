"""One attempt to bring a part to its channel: a draft is sealed, or a text, a file, a reaction is sent."""

from collections.abc import Mapping

from fermix.application.delivery.sealing import Sealing, SendAnew
from fermix.application.delivery.sent_media import SentMedia
from fermix.application.ports.channel import (
    Channel,
    ChannelFeatures,
    ChannelRejected,
    Delivered,
    OutgoingPart,
)
from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.outbox import SendingPart
from fermix.domain.delivery import REPEAT_MARK, MediaPart, Part, TextPart, mark_repeated
from fermix.domain.ids import ChannelName

SEND_LIMIT_SECONDS = 60.0
"""After this a send counts as lost, with nobody knowing whether it arrived. A file may take longer."""

SLOWEST_UPLOAD = 128 * 1024
"""Bytes a second that a line carries at least."""


def send_limit(part: Part) -> float:
    """Seconds that one attempt to send a part may take."""
    more = part.blob.size_bytes / SLOWEST_UPLOAD if isinstance(part, MediaPart) else 0.0
    return SEND_LIMIT_SECONDS + more


class Sending:
    """Sends a part once; never again on its own."""

    def __init__(
        self, *, channels: Mapping[ChannelName, Channel], sealing: Sealing, clock: Clock, ids: Ids
    ) -> None:
        self._channels = channels
        self._sealing = sealing
        self._clock = clock
        self._ids = ids
        self._sent = SentMedia(clock)

    async def __call__(self, part: SendingPart, *, tries: int) -> Delivered:
        """Send it, with the mark of a repeat where its reader may have it already.

        Args:
            part: what is to be delivered.
            tries: how often in a row it was tried before and did not leave.

        Raises:
            ChannelError, BlobError: as `Channel.send`.
        """
        channel = self._channels.get(part.target.channel)
        if channel is None:
            raise ChannelRejected("no such channel is served here")
        if part.target_gone:
            raise ChannelRejected("its chat is gone, as the platform said lately")
        return await self._sent.once(part, lambda: self._leave(channel, part, tries))

    async def _leave(self, channel: Channel, part: SendingPart, tries: int) -> Delivered:
        sealed = await self._sealing.seal(part, tries=tries)
        if not isinstance(sealed, SendAnew):
            return sealed
        may_double = part.repeated and not self._is_dropped_if_double(part, channel.features)
        repeated, body = may_double or sealed.may_be_shown, part.body
        if repeated and not _has_room_for_mark(body, channel.features):
            mark = TextPart(text=REPEAT_MARK)
            await channel.send(OutgoingPart(target=part.target, body=mark, nonce=self._ids.new()))
        elif repeated:
            body = mark_repeated(body)
        return await channel.send(
            OutgoingPart(target=part.target, body=body, nonce=part.nonce, repeated=repeated)
        )

    def _is_dropped_if_double(self, part: SendingPart, features: ChannelFeatures) -> bool:
        """Whether the platform still knows the nonce of the part's first try, and shows no second one."""
        if features.nonce_kept_for is None or part.tried_at is None:
            return False
        return self._clock.now() - part.tried_at < features.nonce_kept_for


def _has_room_for_mark(body: Part, features: ChannelFeatures) -> bool:
    """Whether the mark can stand in the part itself: some files have no caption."""
    if not isinstance(body, MediaPart):
        return True
    cap = features.media_out.get(body.kind)
    return cap is None or cap.max_caption != 0
