"""A channel listens again from what was committed last, under a name that it cannot choose."""

from datetime import timedelta

import anyio
import pytest

from fermix.application.gateway.supervisor import supervise
from fermix.application.ports.admissions import LISTENING, CursorMove
from fermix.application.ports.channel import ChannelFeatures, ChannelUnreachable, Inbox
from tests.unit.application.house import ACCOUNT, DOOR, build, running
from tests.unit.application.test_channel_supervisor import settled
from tests.unit.application.test_gateway import opened

pytestmark = pytest.mark.anyio


class Reading:
    """A channel that moves its cursor in its first run, and then breaks."""

    account = ACCOUNT
    features = ChannelFeatures()

    def __init__(self) -> None:
        self.given: list[str | None] = []

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        self.given.append(cursor)
        if len(self.given) > 1:
            await anyio.sleep_forever()
        await inbox.accept((), cursor=CursorMove(origin="somebody:else", scope=LISTENING, value="7"))
        await inbox.accept((), cursor=CursorMove(origin="", scope="another", value="9"))
        raise ChannelUnreachable("gone")


async def test_a_channel_goes_on_from_the_cursor_that_was_committed_last() -> None:
    channel, ledger = Reading(), opened()
    house = build(ledger)
    async with running(house), anyio.create_task_group() as tasks:

        async def run() -> None:
            await supervise(
                channel,  # type: ignore[arg-type]  # never sends
                DOOR,
                gateway=house.gateway,
                board=house.board,
                clock=house.clock,
                cursor="3",
            )

        tasks.start_soon(run)
        await settled()
        house.clock.advance(timedelta(seconds=1))
        await settled()
        stored = await house.ledger.queue.cursor(origin=DOOR.registration.origin, scope=LISTENING)
        tasks.cancel_scope.cancel()
    assert channel.given == ["3", "7"]
    assert stored == "7"
