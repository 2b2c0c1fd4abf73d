"""The local channel: replies, files among them, go to whichever terminal asked, for as long as it waits."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelRejected,
    Delivered,
    Inbox,
    MediaSource,
    OutgoingPart,
)
from fermix.application.ports.local_clients import PartStream
from fermix.domain.caps import CAPS
from fermix.domain.delivery import MediaPart, Part
from fermix.domain.ids import AccountId, ChannelName, PlatformMessageId
from fermix.infrastructure.channels.cli.blob_source import BlobSource

MAX_PARTS = 64
"""Parts a terminal may leave unread before the sender waits for it."""


class CliChannel:
    """Channel and meeting point in one: the control socket attaches terminals, delivery finds them here.

    What it offers to the gateway comes through the control socket, so `run` only waits.
    """

    def __init__(self, *, blobs: ReadsBlobs) -> None:
        self._blobs = blobs
        self._attached: dict[PlatformMessageId, MemoryObjectSendStream[Part]] = {}

    @property
    def account(self) -> AccountId:
        """There is one local account."""
        return AccountId("local")

    @property
    def features(self) -> ChannelFeatures:
        """Text without a limit and files; what a terminal was not told, it never asks for again."""
        return ChannelFeatures.within(CAPS[ChannelName("cli")])

    @property
    def media_source(self) -> MediaSource:
        """What was sent along lies in the home's store already."""
        return BlobSource(self._blobs)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # the port's signature
        """Wait until cancelled."""
        await anyio.sleep_forever()

    async def send(self, part: OutgoingPart) -> Delivered:
        """Hand a part to the terminal that asked; what is in a file it then fetches from the store.

        Raises:
            ChannelRejected: that terminal is gone, and nobody else may read its answer; or it is a reaction.
            BlobError: the file cannot be read (any more).
        """
        must_carry(self.features, part.body)
        request = part.target.reply_to
        stream = None if request is None else self._attached.get(request)
        if stream is None:
            raise ChannelRejected("the terminal that asked is gone")
        if isinstance(part.body, MediaPart):
            async with self._blobs.open(part.body.blob):
                pass
        try:
            await stream.send(part.body)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as exc:
            raise ChannelRejected("the terminal that asked left") from exc
        return Delivered()

    @contextmanager
    def attach(self, request: PlatformMessageId) -> Iterator[PartStream]:
        """Wait for the parts that answer `request`; see the `LocalClients` port."""
        send, receive = anyio.create_memory_object_stream[Part](MAX_PARTS)
        self._attached[request] = send
        try:
            with send, receive:
                yield receive
        finally:
            if self._attached.get(request) is send:
                del self._attached[request]
