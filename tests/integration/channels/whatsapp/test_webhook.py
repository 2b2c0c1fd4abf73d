"""The endpoint that Meta calls: proven over the very bytes that came, whatever escapes stand in them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.infrastructure.channels.whatsapp.graph import Graph, GraphPlace
from fermix.infrastructure.channels.whatsapp.webhook import Proofs
from fermix.testing.channel_checks.check import DirectedInbox, listening
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.whatsapp_api.server import ACCESS_TOKEN, whatsapp_server
from tests.contract.channel.whatsapp_far_side import post
from tests.unit.infrastructure.channels.whatsapp.test_wire_in import ESCAPED, ESCAPED_SIGNATURE

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The client library knows asyncio only."""
    return "asyncio"


@asynccontextmanager
async def channel() -> AsyncGenerator[WhatsAppChannel]:
    """The adapter of the number and the secret that the signed call below is for."""
    clock = StoppedClock()
    with whatsapp_server() as server:
        place = GraphPlace(
            root=server.root, version="v19.0", phone_number_id="100000000000001", access_token=ACCESS_TOKEN
        )
        async with WhatsAppChannel(
            graph=Graph(place, answer_seconds=5),
            proofs=Proofs(app_secret="test-app-secret-A", verify_token="a word"),
            blobs=MemoryBlobs(clock=clock),
            clock=clock,
        ) as opened:
            yield opened


async def status_of(opened: WhatsAppChannel, body: bytes) -> int:
    """What Meta is answered, once somebody listens."""
    with anyio.fail_after(5):
        while True:
            answer = await opened.webhook.answer(post(body, {"x-hub-signature-256": ESCAPED_SIGNATURE}))
            if answer.status != 503:
                return answer.status
            await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("channel.whatsapp.signature")
async def test_escapes_in_a_signed_call_are_read_and_no_byte_of_it_may_be_another() -> None:
    inbox = DirectedInbox()
    async with channel() as opened, listening(opened, inbox):
        for forged in (
            ESCAPED.replace(b"caf", b"Caf"),
            ESCAPED.replace(rb"\/", b"/"),
            ESCAPED.replace(rb"\u00e9", "é".encode()),
            ESCAPED + b"\n",
        ):
            assert await status_of(opened, forged) == 401
        assert inbox.texts == []
        assert await status_of(opened, ESCAPED) == 200
    assert inbox.texts == ["café @home http://x.test"]
