"""Checks of cancellation: who stops waiting leaves at once, whatever he waits for, and leaves nothing behind."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
import anyio.lowlevel

from fermix.application.ports.channel import ChannelError
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    error_of,
    in_time,
    listening,
    proves,
)
from fermix.testing.channel_checks.stepping import cancelled_at
from fermix.testing.channel_harness import ChannelHarness, OpenChannel, Trouble
from fermix.testing.expectations import PromiseBroken, must_equal

_MOST_STEPS = 500
_TIMES = 2
_STEPS = 8
_TURNS = 100
"""Turns of the event loop in which what ends has ended."""


@proves()
async def who_stops_sending_leaves_it_usable(harness: ChannelHarness) -> None:
    """Sending can be cancelled at once while no answer comes, and the next part is sent."""
    async with harness.open() as opened:
        with in_time(harness, "a sender who leaves"):
            await _stop_sending(opened)
        with in_time(harness, "the next part"):
            must_equal(await error_of(opened), None, "its error")


async def _stop_sending(opened: OpenChannel) -> None:
    opened.far_side.trouble_next(Trouble.STALLED)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(error_of, opened, "never mind")
        await opened.far_side.stalled()
        tasks.cancel_scope.cancel()


@proves()
async def a_part_without_an_answer_holds_up_no_other(harness: ChannelHarness) -> None:
    """While one part waits for its answer, another one is sent."""
    async with harness.open() as opened, anyio.create_task_group() as tasks:
        opened.far_side.trouble_next(Trouble.STALLED)
        tasks.start_soon(error_of, opened)
        with in_time(harness, "a part without an answer"):
            await opened.far_side.stalled()
        with in_time(harness, "another part"):
            must_equal(await error_of(opened), None, "its error")
        tasks.cancel_scope.cancel()


@proves()
async def sending_can_be_cancelled_at_every_await(harness: ChannelHarness) -> None:
    """Cancelled wherever it waits, sending ends, makes no error of it, and the next part is sent."""
    async with harness.open() as opened:
        for step in range(1, _MOST_STEPS):
            part = opened.part(f"part {step}")
            with in_time(harness, f"the end of a send that was cancelled at its await {step}"):
                came = await cancelled_at(step, partial(opened.channel.send, part))
            with in_time(harness, f"the next part (await {step})"):
                must_equal(await error_of(opened), None, f"the error of the next part (await {step})")
            if not came.asked:
                return
    raise PromiseBroken(f"sending one part: expected less than {_MOST_STEPS} awaits")


@proves()
async def listening_can_be_cancelled_at_every_await(harness: ChannelHarness) -> None:
    """Cancelled wherever it waits, listening ends by that, and every message is offered at last, in order."""
    inbox, texts = DirectedInbox(), list[str]()
    async with harness.open() as opened:
        for step in range(1, _MOST_STEPS):
            texts.append(f"message {step}")
            opened.far_side.user_writes(texts[-1])
            with in_time(harness, f"the end of listening that was cancelled at its await {step}"):
                if await _took_everything(opened, inbox, step):
                    must_equal(list(dict.fromkeys(inbox.texts)), texts, "the messages, without repeats")
                    return
    raise PromiseBroken(f"taking a message: expected less than {_MOST_STEPS} awaits")


async def _took_everything(opened: OpenChannel, inbox: DirectedInbox, step: int) -> bool:
    """Listen, cancel it at an await, and tell whether all messages were acknowledged before it came to that."""
    async with anyio.create_task_group() as tasks:

        async def listens() -> None:
            came = await cancelled_at(step, partial(opened.channel.run, inbox, cursor=inbox.cursor))
            if not came.obeyed:
                raise PromiseBroken(f"listening, cancelled at its await {step}, ended as if by itself")
            tasks.cancel_scope.cancel()

        tasks.start_soon(listens)
        await opened.far_side.acknowledges(step)
        tasks.cancel_scope.cancel()
        return True
    return False


@proves()
async def who_leaves_leaves_no_task(harness: ChannelHarness) -> None:
    """When sending and listening were cancelled, no task of theirs runs on."""
    async with harness.open() as opened:
        await _come_and_go(harness, opened)
        before = len(anyio.get_running_tasks())
        for _ in range(_TIMES):
            await _come_and_go(harness, opened)
        await _falls_to(before, lambda: len(anyio.get_running_tasks()))
        must_equal(len(anyio.get_running_tasks()) <= before, True, "whether no more tasks run than before")


async def _come_and_go(harness: ChannelHarness, opened: OpenChannel) -> None:
    """Stop a send that gets no answer, stop listening, and send; whether that is soon is no matter here."""
    with anyio.move_on_after(harness.patience.total_seconds()):
        for step in range(1, _STEPS):
            with suppress(ChannelError):
                await cancelled_at(step, partial(opened.channel.send, opened.part(f"not now {step}")))
        await _stop_sending(opened)
    async with listening(opened.channel, DirectedInbox()):
        for _ in range(_TURNS):
            await anyio.lowlevel.checkpoint()
    with anyio.move_on_after(harness.patience.total_seconds()):
        await error_of(opened, "still here")


async def _falls_to(most: int, count: Callable[[], int]) -> None:
    for _ in range(_TURNS):
        if count() <= most:
            return
        await anyio.lowlevel.checkpoint()


@proves()
async def who_leaves_leaves_no_line_open(harness: ChannelHarness) -> None:
    """When sending and listening were cancelled, no connection that they had is left."""
    async with harness.open() as opened:
        await _come_and_go(harness, opened)
        with in_time(harness, "closing lines"):
            before = await opened.far_side.settles()
        for _ in range(_TIMES):
            await _come_and_go(harness, opened)
        with in_time(harness, "closing lines again"):
            after = await opened.far_side.settles()
    if after > before:
        raise PromiseBroken(f"lines that are open: expected at most {before}, found {after}")


CHECKS: tuple[ChannelCheck, ...] = (
    who_stops_sending_leaves_it_usable,
    a_part_without_an_answer_holds_up_no_other,
    sending_can_be_cancelled_at_every_await,
    listening_can_be_cancelled_at_every_await,
    who_leaves_leaves_no_task,
    who_leaves_leaves_no_line_open,
)
