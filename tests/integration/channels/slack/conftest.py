"""A Slack adapter over a fake Slack."""

from collections.abc import AsyncIterator, Iterator

import pytest

from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.slack_api.server import SlackServer, slack_server
from tests.contract.channel.slack_far_side import slack


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The client library knows asyncio only."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def blobs(clock: StoppedClock) -> MemoryBlobs:
    return MemoryBlobs(clock=clock)


@pytest.fixture
async def channel(
    server: SlackServer, clock: StoppedClock, blobs: MemoryBlobs
) -> AsyncIterator[SlackChannel]:
    async with slack(server, clock, blobs) as opened:
        yield opened
