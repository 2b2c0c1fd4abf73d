"""Typing: shown beside the work, never before it, and over when the work is."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
import pytest

from fermix.application.ports.channel import ChannelUnreachable
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile, ModelRequest
from fermix.application.turns.typing import LONGEST, REPEAT_EVERY, START_AFTER, ShowTyping
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import AccountId, ChannelName, ChatId
from fermix.domain.route import Target
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from tests.unit.application.house import TEST, House, TestChannel, build, running
from tests.unit.application.scripted import PROFILE
from tests.unit.application.test_gateway import GatedModel, opened, settled

pytestmark = pytest.mark.anyio

HERE = Target(channel=TEST, account=AccountId("a"), chat=ChatId("c1"))


@dataclass(slots=True)
class RecordedTyping:
    """Remembers where typing was shown; fails or hangs when told to."""

    shown: list[Target] = field(default_factory=list)
    fault: Exception | None = None
    gate: anyio.Event | None = None
    cancelled: int = 0

    async def show(self, target: Target) -> None:
        self.shown.append(target)
        if self.fault is not None:
            raise self.fault
        if self.gate is not None:
            try:
                await self.gate.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled += 1
                raise


@dataclass(slots=True)
class FailingModel:
    """Cannot be reached, and takes its time to say so."""

    profile: ModelProfile = PROFILE
    gate: anyio.Event = field(default_factory=anyio.Event)

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        await self.gate.wait()
        raise ModelError(Failure(kind=FailureKind.UNREACHABLE, provider=self.profile.provider))


async def pass_time(house: House, by: timedelta) -> None:
    house.clock.advance(by)
    await settled()


@pytest.mark.requirement("typing.after_300_ms")
async def test_a_quick_answer_is_not_announced() -> None:
    typing = RecordedTyping()
    async with running(build(opened(), typing=typing)) as house:
        await house.write("hello")

        assert await house.channel.has_sent(1) == ["re: hello"]
        await pass_time(house, LONGEST)

    assert typing.shown == []


@pytest.mark.requirement("typing.after_300_ms")
async def test_a_slow_answer_is_announced_where_it_will_be_read() -> None:
    typing, model = RecordedTyping(), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello", thread_ts="t7")
        await settled()
        await pass_time(house, START_AFTER - timedelta(milliseconds=1))
        early = list(typing.shown)
        await pass_time(house, timedelta(milliseconds=1))

        assert early == []
        assert [(target.chat, target.thread) for target in typing.shown] == [("c1", "t7")]
        model.gate.set()
        await house.channel.has_sent(1)

    assert typing.shown[0] == house.channel.sent[0].target


@pytest.mark.requirement("typing.repeats")
async def test_typing_is_repeated_every_four_seconds_for_at_most_three_hundred() -> None:
    typing, model = RecordedTyping(), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello")
        await settled()
        await pass_time(house, START_AFTER)
        counts = []
        for _ in range(80):
            counts.append(len(typing.shown))
            await pass_time(house, REPEAT_EVERY)

    assert counts[:3] == [1, 2, 3]
    assert counts[-1] == 75
    assert START_AFTER + 74 * REPEAT_EVERY < LONGEST <= START_AFTER + 75 * REPEAT_EVERY


@pytest.mark.requirement("typing.never_awaited_before_the_model")
async def test_the_model_is_asked_first_and_answers_while_typing_hangs() -> None:
    typing, model = RecordedTyping(gate=anyio.Event()), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello")
        await settled()
        asked_before_typing = list(model.asked)
        await pass_time(house, START_AFTER)
        model.gate.set()

        assert await house.channel.has_sent(1) == ["re: hello"]

    assert asked_before_typing == ["hello"]
    assert len(typing.shown) == 1
    assert typing.cancelled == 1


@pytest.mark.parametrize("fault", [ChannelUnreachable("no way there"), KeyError("a bug of the adapter")])
async def test_typing_that_fails_is_given_up_and_costs_nothing(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="fermix.typing")
    typing, model = RecordedTyping(fault=fault), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello")
        await settled()
        await pass_time(house, START_AFTER)
        await pass_time(house, REPEAT_EVERY)
        model.gate.set()

        assert await house.channel.has_sent(1) == ["re: hello"]

    assert len(typing.shown) == 1
    told = [record for record in caplog.records if record.name == "fermix.typing"]
    assert [(record.levelno, record.message) for record in told] == [(logging.DEBUG, "typing.gave_up")]


@pytest.mark.requirement("typing.always_stopped")
async def test_typing_ends_with_the_answer() -> None:
    typing, model = RecordedTyping(), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello")
        await settled()
        await pass_time(house, START_AFTER)
        model.gate.set()
        await house.channel.has_sent(1)
        for _ in range(3):
            await pass_time(house, REPEAT_EVERY)

    assert len(typing.shown) == 1


@pytest.mark.requirement("typing.always_stopped")
async def test_typing_ends_with_a_turn_that_is_stopped() -> None:
    typing, model = RecordedTyping(gate=anyio.Event()), GatedModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello", id="m1")
        await settled()
        await pass_time(house, START_AFTER)
        await house.write("/stop", id="m2")
        await settled()
        for _ in range(3):
            await pass_time(house, REPEAT_EVERY)

    assert len(typing.shown) == 1
    assert typing.cancelled == 1


@pytest.mark.requirement("typing.always_stopped")
async def test_typing_ends_with_a_turn_that_fails() -> None:
    typing, model = RecordedTyping(), FailingModel()
    async with running(build(model, typing=typing)) as house:
        await house.write("hello")
        await settled()
        await pass_time(house, START_AFTER)
        model.gate.set()
        await house.channel.has_sent(1)
        for _ in range(3):
            await pass_time(house, REPEAT_EVERY)

    assert len(typing.shown) == 1


@pytest.mark.parametrize("error", [StaleTurn("stopped meanwhile"), ValueError("a bug")])
async def test_what_the_work_raises_comes_through_as_it_is(error: Exception) -> None:
    typing, clock = RecordedTyping(gate=anyio.Event()), StoppedClock()
    show = ShowTyping(channels={TEST: TestChannel(typing=typing)}, clock=clock)

    async def work() -> None:
        await settled()
        clock.advance(START_AFTER)
        await settled()
        raise error

    with anyio.fail_after(5), pytest.raises(type(error)) as caught:
        await show.during(HERE, work)

    assert caught.value is error
    assert typing.cancelled == 1
    assert clock.sleepers == 0


@pytest.mark.requirement("typing.always_stopped")
async def test_cancelling_the_work_ends_typing() -> None:
    typing, clock = RecordedTyping(), StoppedClock()
    show = ShowTyping(channels={TEST: TestChannel(typing=typing)}, clock=clock)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(show.during, HERE, anyio.sleep_forever)
            await settled()
            clock.advance(START_AFTER)
            await settled()
            waiting = clock.sleepers
            tasks.cancel_scope.cancel()

    assert (waiting, clock.sleepers) == (1, 0)
    assert typing.shown == [HERE]


@pytest.mark.parametrize("channel", [CliChannel(blobs=MemoryBlobs(clock=StoppedClock())), TestChannel()])
async def test_a_channel_without_typing_is_worked_for_all_the_same(channel: CliChannel | TestChannel) -> None:
    clock = StoppedClock()
    show = ShowTyping(channels={ChannelName("test"): channel}, clock=clock)

    async def work() -> str:
        await settled()
        return f"done with {clock.sleepers} waiting"

    assert await show.during(HERE, work) == "done with 0 waiting"
