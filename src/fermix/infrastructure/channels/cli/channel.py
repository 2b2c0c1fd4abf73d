"""The local channel: replies go to whichever terminal asked, for as long as it waits."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelRejected,
    Delivered,
    Inbox,
    OutgoingPart,
)
from fermix.application.ports.local_clients import PartStream
from fermix.domain.caps import CAPS
from fermix.domain.delivery import Part
from fermix.domain.ids import AccountId, ChannelName, PlatformMessageId

MAX_PARTS = 64
"""Parts a terminal may leave unread before the sender waits for it."""


class CliChannel:
    """Channel and meeting point in one: the control socket attaches terminals, delivery finds them here.

    What it offers to the gateway comes through the control socket, so `run` only waits.
    """

    def __init__(self) -> None:
        self._attached: dict[PlatformMessageId, MemoryObjectSendStream[Part]] = {}

    @property
    def account(self) -> AccountId:
        """There is one local account."""
        return AccountId("local")

    @property
    def features(self) -> ChannelFeatures:
        """Text without a limit and nothing else; what a terminal was not told, it never asks for again."""
        return ChannelFeatures.within(CAPS[ChannelName("cli")])

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # the port's signature
        """Wait until cancelled."""
        await anyio.sleep_forever()

    async def send(self, part: OutgoingPart) -> Delivered:
        """Hand a part to the terminal that asked.

        Raises:
            ChannelRejected: that terminal is gone, and nobody else may read its answer; or it is no text.
        """
        must_carry(self.features, part.body)
        request = part.target.reply_to
        stream = None if request is None else self._attached.get(request)
        if stream is None:
            raise ChannelRejected("the terminal that asked is gone")
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
