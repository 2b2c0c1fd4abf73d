"""How a channel that fails stands, and when it is asked again."""

import logging
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
    ChannelUnreachable,
    Inbox,
)
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.application.ports.remarks import Remark
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


class Remarking(Scripted):
    """A channel with something to remark, or with a bug there."""

    def __init__(self) -> None:
        super().__init__()
        self.found: tuple[Remark, ...] = ()
        self.breaks = False

    @property
    def remarks(self) -> tuple[Remark, ...]:
        if self.breaks:
            raise RuntimeError("a bug")
        return self.found


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


def lines(caplog: pytest.LogCaptureFixture, *events: str) -> list[tuple[str, str]]:
    """What an operator reads of these events; retries are for debugging."""
    return [
        (record.message, str(record.__dict__.get("cause", "")))
        for record in caplog.records
        if record.levelno >= logging.INFO and record.message in events
    ]


async def test_one_failure_is_one_line_of_the_log_however_often_it_is_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    refused = "the token is refused: copy it again"
    channel = Scripted(
        *[ChannelRejected(refused)] * 6, ChannelUnreachable("no way there"), ChannelRejected(refused)
    )
    async with supervised(channel) as house:
        for _ in range(600):
            house.clock.advance(timedelta(seconds=1))
            await settled()
        assert channel.started == 9
        assert lines(caplog, "channel.restarts") == [
            ("channel.restarts", refused),
            ("channel.restarts", "no way there"),
        ]
        assert channel.inbox is not None
        await channel.inbox.accept(())
        assert lines(caplog, "channel.listens_again") == [("channel.listens_again", "")]
        assert health(house).detail is None


async def test_the_whole_remedy_stands_in_health() -> None:
    text = f"{'why ' * 60}: then restart"
    async with supervised(Scripted(ChannelRejected(text))) as house:
        assert health(house).detail == text


async def test_a_channel_is_asked_for_its_remarks_whenever_health_is() -> None:
    channel = Remarking()
    async with supervised(channel) as house:
        assert health(house).remarks == ()
        channel.found = (Remark(text="its privacy mode is on"),)
        assert health(house).remarks == channel.found


async def test_remarks_that_fail_take_nobodys_health_away(caplog: pytest.LogCaptureFixture) -> None:
    channel = Remarking()
    async with supervised(channel) as house:
        channel.breaks = True
        for _ in range(3):
            assert health(house).status is ChannelStatus.READY
            assert health(house).remarks == ()
    assert len(lines(caplog, "channel.remarks_failed")) == 1
