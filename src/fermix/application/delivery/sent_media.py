"""The files that were shown lately, so that nobody sees the same one twice because it was asked for twice."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fermix.application.ports.blobs import BlobError
from fermix.application.ports.channel import (
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.outbox import SendingPart
from fermix.domain.delivery import MediaPart
from fermix.domain.ids import PartId
from fermix.domain.sent_media import SAME_FILE_FOR, same_file_key

MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A file that a part brings, or has brought at `at` seconds of the clock that never goes back."""

    part: PartId
    at: float
    delivered: Delivered


class SentMedia:
    """Claims are made by part: its own repeats are never taken for somebody else's. Forgets with the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._claims: OrderedDict[str, _Claim] = OrderedDict()

    async def once(self, part: SendingPart, send: Callable[[], Awaitable[Delivered]]) -> Delivered:
        """Send a part, unless it holds a file that another part brings or has brought just now.

        What certainly did not leave holds nobody back. Errors of `send` pass through.

        Returns:
            How it was delivered; of a file that was not sent, how the same one was.
        """
        if not isinstance(part.body, MediaPart):
            return await send()
        key = same_file_key(part.target, part.body)
        known = self._claim(key, part.part)
        if known is not None:
            return known
        try:
            delivered = await send()
        except (ChannelRateLimited, ChannelUnreachable, ChannelRejected, BlobError):
            self._claims.pop(key, None)
            raise
        self._keep(key, part.part, delivered)
        return delivered

    def _claim(self, key: str, part: PartId) -> Delivered | None:
        oldest = self._clock.monotonic() - SAME_FILE_FOR.total_seconds()
        while self._claims and next(iter(self._claims.values())).at <= oldest:
            self._claims.popitem(last=False)
        known = self._claims.get(key)
        if known is not None and known.part != part:
            return known.delivered
        self._keep(key, part, Delivered())
        return None

    def _keep(self, key: str, part: PartId, delivered: Delivered) -> None:
        self._claims[key] = _Claim(part=part, at=self._clock.monotonic(), delivered=delivered)
        self._claims.move_to_end(key)
        if len(self._claims) > MAX_REMEMBERED:
            self._claims.popitem(last=False)
