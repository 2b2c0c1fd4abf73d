"""Fetching attachments: what every adapter that reads them from a platform has to keep to."""

from collections.abc import AsyncGenerator, AsyncIterator

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelUnreachable,
    MediaTooLarge,
    SendError,
)


async def within(pieces: AsyncIterator[bytes], *, limit: int) -> AsyncGenerator[bytes]:
    """The pieces as they come, none of which leads beyond `limit` bytes. Closing it does not close `pieces`.

    Raises:
        MediaTooLarge: there are more; the piece with the first byte too many is not handed on.
    """
    taken = 0
    async for piece in pieces:
        taken += len(piece)
        if taken > limit:
            raise MediaTooLarge(limit=limit)
        yield piece


def asked_again(error: SendError) -> SendError:
    """What an error means for a request that only asks: where nobody knows how it ended, it can be made again."""
    return ChannelUnreachable(str(error)) if isinstance(error, ChannelOutcomeUnknown) else error
