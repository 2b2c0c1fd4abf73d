"""Numbered turn events, their readers, and webhook twins."""

from datetime import timedelta

import anyio
import pytest

from fermix.application.gateway.dedupe import KEEP, MAX_KEYS, WebhookMemory
from fermix.application.ports.channel import Verdict
from fermix.application.turns.events import MAX_EVENTS, MAX_FINISHED, TurnEvents
from fermix.application.wakeup import Wakeup
from fermix.domain.events import Gap, Numbered, TextDelta, TurnCompleted, TurnSettled
from fermix.domain.ids import TurnId
from fermix.domain.turn import Outcome
from fermix.testing.clock import StoppedClock

pytestmark = pytest.mark.anyio

TURN = TurnId(7)


async def read(events: TurnEvents, turn: TurnId = TURN) -> list[Numbered]:
    with anyio.fail_after(5):
        return [numbered async for numbered in events.watch(turn)]


@pytest.mark.requirement("turn.events.numbered")
async def test_events_are_numbered_from_one_and_completed_is_the_last() -> None:
    events = TurnEvents()
    events.publish(TURN, TextDelta(text="a"))
    events.publish(TURN, TurnSettled(outcome=Outcome.COMPLETED, text="a"))
    events.publish(TURN, TurnCompleted(outcome=Outcome.COMPLETED))
    events.publish(TURN, TextDelta(text="late"))
    seen = await read(events)
    assert [numbered.number for numbered in seen] == [1, 2, 3]
    assert isinstance(seen[-1].event, TurnCompleted)


async def test_a_reader_that_came_first_sees_everything_as_it_happens() -> None:
    events = TurnEvents()
    seen: list[Numbered] = []

    async def follow() -> None:
        seen.extend(await read(events))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            for text in "abc":
                events.publish(TURN, TextDelta(text=text))
                await anyio.wait_all_tasks_blocked()
            events.publish(TURN, TurnCompleted(outcome=Outcome.COMPLETED))
    assert len(seen) == 4


@pytest.mark.requirement("turn.events.slow_reader_gets_a_gap")
async def test_a_slow_reader_gets_a_gap_and_holds_nobody() -> None:
    events = TurnEvents()
    for number in range(MAX_EVENTS + 10):
        events.publish(TURN, TextDelta(text=str(number)))
    events.publish(TURN, TurnCompleted(outcome=Outcome.COMPLETED))
    seen = await read(events)
    assert seen[0] == Numbered(number=1, event=Gap(missed=11))
    assert [numbered.number for numbered in seen[1:]] == list(range(12, MAX_EVENTS + 12))


async def test_finished_turns_are_forgotten_in_the_end() -> None:
    events = TurnEvents()
    for number in range(MAX_FINISHED + 5):
        events.publish(TurnId(number), TurnCompleted(outcome=Outcome.COMPLETED))
    assert len(await read(events, TurnId(MAX_FINISHED + 4))) == 1
    with anyio.move_on_after(0.01) as waited:
        async for _ in events.watch(TurnId(0)):
            pytest.fail("an event of a forgotten turn")
    assert waited.cancelled_caught


@pytest.mark.requirement("ingress.dedupe.second_waits_for_first", "ingress.dedupe.memory_never_acknowledges")
async def test_a_twin_waits_for_what_became_of_the_first() -> None:
    memory = WebhookMemory(StoppedClock())
    memory.check("slack:b", "k")
    twin = memory.check("slack:b", "k")
    answers: list[Verdict] = []

    async def wait() -> None:
        answers.append(await twin.delivery.result())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            memory.decide("slack:b", "k", Verdict.ACCEPTED)
    assert answers == [Verdict.ACCEPTED]


@pytest.mark.requirement("ingress.dedupe.released_on_failed_dispatch")
@pytest.mark.parametrize("verdict", [Verdict.UNAVAILABLE, Verdict.FULL])
async def test_what_could_not_be_taken_is_forgotten_so_that_a_retry_succeeds(verdict: Verdict) -> None:
    memory = WebhookMemory(StoppedClock())
    memory.check("slack:b", "k")
    twin = memory.check("slack:b", "k")
    memory.decide("slack:b", "k", verdict)
    assert await twin.delivery.result() is verdict
    assert memory.check("slack:b", "k").first


@pytest.mark.requirement("ingress.dedupe.expires_after_24_hours", "ingress.dedupe.swept")
async def test_a_delivery_is_remembered_for_a_day() -> None:
    clock = StoppedClock()
    memory = WebhookMemory(clock)
    memory.check("slack:b", "k")
    clock.advance(KEEP - timedelta(seconds=1))
    assert not memory.check("slack:b", "k").first
    clock.advance(timedelta(seconds=1))
    assert memory.check("slack:b", "k").first


@pytest.mark.requirement("ingress.dedupe.bounded", "ingress.dedupe.atomic")
async def test_the_memory_is_bounded_and_one_caller_alone_is_first() -> None:
    memory = WebhookMemory(StoppedClock())
    firsts = sum(memory.check("s", str(n % 50_000)).first for n in range(100_000))
    assert firsts == 50_000
    for n in range(MAX_KEYS):
        memory.check("other", str(n))
    assert memory.check("s", "0").first


async def test_a_wake_before_the_wait_is_not_lost_and_the_clock_wakes_too() -> None:
    clock = StoppedClock()
    wakeup = Wakeup(clock)
    wakeup.wake()
    with anyio.fail_after(5):
        await wakeup.wait(None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wakeup.wait, clock.now() + timedelta(seconds=3))
            await anyio.wait_all_tasks_blocked()
            clock.advance(timedelta(seconds=3))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wakeup.wait, clock.now() + timedelta(hours=1))
            await anyio.wait_all_tasks_blocked()
            wakeup.wake()
