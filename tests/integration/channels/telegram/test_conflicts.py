"""Another program that reads the same bot: told, asked about seldom, and over once a poll is answered."""

import logging
import math
from datetime import timedelta

import anyio
import anyio.lowlevel
import pytest

from fermix.application.gateway.supervisor import supervise
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.infrastructure.channels.telegram.errors import ANOTHER_POLLER
from fermix.testing.clock import START, HastyClock
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.integration.channels.telegram.bot import bot
from tests.unit.application.house import DOOR, House, build, running
from tests.unit.application.test_gateway import opened

pytestmark = pytest.mark.anyio

TWO_MINUTES = timedelta(minutes=2)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The client library knows asyncio only."""
    return "asyncio"


def health(house: House) -> ChannelHealth:
    (channel,) = house.board.health().channels
    return channel


@pytest.mark.requirement("channel.telegram.conflict_told_apart")
async def test_a_conflict_that_lasts_is_told_and_asked_about_seldom_and_ends_with_an_answered_poll(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    clock, house = HastyClock(), build(opened())
    with telegram_server() as server:
        server.fault(
            "getUpdates",
            status=409,
            description="Conflict: terminated by other getUpdates request",
            times=math.inf,
        )
        async with bot(server) as channel, running(house), anyio.create_task_group() as tasks:

            async def supervised() -> None:
                await supervise(
                    channel, DOOR, gateway=house.gateway, board=house.board, clock=clock, cursor=None
                )

            tasks.start_soon(supervised)
            with anyio.fail_after(10):
                while clock.now() - START < TWO_MINUTES:
                    await anyio.lowlevel.checkpoint()
                asked = len(server.called("getUpdates"))
                assert 3 <= asked <= 30
                assert health(house).status is ChannelStatus.DEGRADED
                assert ANOTHER_POLLER in str(health(house).detail)
                server.clear_faults()
                while health(house).status is not ChannelStatus.READY:
                    await anyio.lowlevel.checkpoint()
            answered = [call for call in server.called("getUpdates") if call.status == 200]
            assert answered
            tasks.cancel_scope.cancel()
    causes = {str(one.__dict__["cause"]) for one in caplog.records if one.message == "channel.restarts"}
    assert [cause for cause in causes if ANOTHER_POLLER in cause]
