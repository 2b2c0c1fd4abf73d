"""How a channel that fails stands, and when it is asked again."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fermix.application.gateway.supervisor import supervise
from fermix.application.ports.channel import (
    ChannelError,
    ChannelFeatures,
    ChannelRateLimited,
    ChannelRejected,
    Inbox,
)
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from tests.unit.application.house import ACCOUNT, DOOR, House, build, running
from tests.unit.application.test_gateway import opened

pytestmark = pytest.mark.anyio


class Scripted:
    """A channel whose runs do what they are told, one after another, and then listen."""

    account = ACCOUNT
    features = ChannelFeatures()

    def __init__(self, *runs: ChannelError) -> None:
        self.runs = list(runs)
        self.started = 0
        self.inbox: Inbox | None = None

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        self.started += 1
        self.inbox = inbox
        if self.runs:
            raise self.runs.pop(0)
        await anyio.sleep_forever()


@asynccontextmanager
async def supervised(channel: Scripted) -> AsyncGenerator[House]:
    house = build(opened())

    async def run() -> None:
        await supervise(
            channel,  # type: ignore[arg-type]  # never sends
            DOOR,
            gateway=house.gateway,
            board=house.board,
            clock=house.clock,
            cursor=None,
        )

    async with running(house), anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await settled()
        yield house
        tasks.cancel_scope.cancel()


async def settled() -> None:
    for _ in range(20):
        await checkpoint()


def health(house: House) -> ChannelHealth:
    (channel,) = house.board.health().channels
    return channel


async def test_it_counts_as_ready_again_with_the_first_list_it_hands_over() -> None:
    channel = Scripted(ChannelRejected("nobody answers"))
    async with supervised(channel) as house:
        assert health(house).status is ChannelStatus.DEGRADED
        assert "nobody answers" in str(health(house).detail)
        house.clock.advance(timedelta(seconds=1))
        await settled()
        assert channel.started == 2
        assert health(house).status is ChannelStatus.DEGRADED
        assert channel.inbox is not None
        assert await channel.inbox.accept(()) == ()
        assert health(house).status is ChannelStatus.READY


async def test_a_platform_that_asks_for_a_longer_wait_gets_it() -> None:
    channel = Scripted(ChannelRateLimited("slow down", retry_after=timedelta(seconds=30)))
    async with supervised(channel) as house:
        house.clock.advance(timedelta(seconds=29))
        await settled()
        assert channel.started == 1
        house.clock.advance(timedelta(seconds=1))
        await settled()
        assert channel.started == 2


async def test_a_platform_that_refuses_for_two_minutes_is_asked_only_a_few_times() -> None:
    channel = Scripted(*[ChannelRejected("another poller")] * 200)
    async with supervised(channel) as house:
        for _ in range(120):
            house.clock.advance(timedelta(seconds=1))
            await settled()
        assert 5 <= channel.started <= 10
        assert health(house).status is ChannelStatus.DEGRADED
