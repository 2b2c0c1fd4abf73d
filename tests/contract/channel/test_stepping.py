"""A call is cancelled at the await that was named, and at no other."""

import anyio
import anyio.lowlevel
import pytest

from fermix.testing.channel_checks.stepping import cancelled_at

pytestmark = pytest.mark.anyio


class Walk:
    """Three awaits, of three kinds."""

    def __init__(self) -> None:
        self.steps = 0

    async def __call__(self) -> None:
        event = anyio.Event()
        async with anyio.create_task_group() as tasks:
            await anyio.lowlevel.checkpoint()
            self.steps = 1
            tasks.start_soon(anyio.lowlevel.checkpoint)
            await anyio.lowlevel.checkpoint()
            self.steps = 2
            tasks.cancel_scope.cancel()
        with anyio.move_on_after(0):
            await event.wait()
        self.steps = 3


@pytest.mark.parametrize("step", [1, 2])
async def test_it_stops_there_and_says_so(step: int) -> None:
    walk = Walk()
    came = await cancelled_at(step, walk)
    assert walk.steps == step - 1
    assert (came.asked, came.obeyed) == (True, True)


async def test_a_call_that_waits_less_often_ends_by_itself() -> None:
    walk = Walk()
    came = await cancelled_at(100, walk)
    assert walk.steps == 3
    assert (came.asked, came.obeyed) == (False, False)


async def test_a_call_that_does_not_obey_is_found_out() -> None:
    async def deaf() -> None:
        try:
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            return

    came = await cancelled_at(1, deaf)
    assert (came.asked, came.obeyed) == (True, False)


async def test_errors_of_the_call_pass_through() -> None:
    async def fails() -> None:
        await anyio.lowlevel.checkpoint()
        raise LookupError

    with pytest.raises(LookupError):
        await cancelled_at(5, fails)
