import anyio
import pytest

from fermix.application.wakeup import Wakeup
from fermix.testing.clock import StoppedClock

pytestmark = pytest.mark.anyio


async def test_a_loop_that_always_has_news_can_be_cancelled() -> None:
    wakeup, rounds = Wakeup(StoppedClock()), 0
    with anyio.CancelScope() as scope:
        while rounds < 100:
            wakeup.wake()
            await wakeup.wait(None)
            rounds += 1
            scope.cancel()

    assert (scope.cancelled_caught, rounds) == (True, 1)


async def test_news_from_before_the_wait_is_not_lost_and_is_told_once() -> None:
    wakeup = Wakeup(StoppedClock())
    wakeup.wake()
    with anyio.fail_after(5):
        await wakeup.wait(None)

    with anyio.move_on_after(0) as again:
        await wakeup.wait(None)
    assert again.cancelled_caught
