"""Turns that are stopped, watched and ended at awkward moments: whoever waits is told, and nothing is kept."""

from collections.abc import Awaitable, Callable, Collection
from typing import cast

import anyio
import pytest

from fermix.application.ports.control import AskEnd, AskEnded, AskEvent, AskRequest
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.turns import Claims, Settlement, Turns
from fermix.application.turns.events import MAX_CHARACTERS, MAX_FINISHED, TurnEvents
from fermix.domain.events import Gap, Numbered, TextDelta, TurnCompleted, TurnSettled
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.turn import Outcome
from tests.unit.application.house import build, running
from tests.unit.application.test_gateway import OWNER, GatedModel, opened, settled

pytestmark = pytest.mark.anyio

Before = Callable[[], Awaitable[None]]


class Interposed:
    """The ledger's turns, with something else that happens first."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.before_settle: Before | None = None
        self.after_claim: Before | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._turns, name)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        if self.before_settle is not None:
            await self.before_settle()
        return await self._turns.settle(settlement)

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        claims = await self._turns.claim(limit=limit, channels=channels)
        if self.after_claim is not None:
            await self.after_claim()
        return claims


def interposed(turns: Turns, into: list[Interposed]) -> Turns:
    into.append(Interposed(turns))
    return cast("Turns", into[0])


async def test_a_watcher_is_told_the_end_also_when_many_other_turns_end_at_once() -> None:
    events = TurnEvents()
    seen: list[Numbered] = []

    async def follow() -> None:
        seen.extend([numbered async for numbered in events.watch(TurnId(0))])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            for number in range(MAX_FINISHED + 2):
                events.publish(TurnId(number), TurnSettled(outcome=Outcome.CANCELLED, text=""))
                events.publish(TurnId(number), TurnCompleted(outcome=Outcome.CANCELLED))
    assert [type(numbered.event) for numbered in seen] == [TurnSettled, TurnCompleted]


async def test_a_watcher_counts_from_its_call_and_not_from_its_first_read() -> None:
    events = TurnEvents()
    watched = events.watch(TurnId(0))
    for number in range(MAX_FINISHED + 2):
        events.publish(TurnId(number), TurnCompleted(outcome=Outcome.CANCELLED))
    with anyio.fail_after(5):
        assert len([numbered async for numbered in watched]) == 1


async def test_what_is_kept_of_a_long_answer_is_bounded() -> None:
    events = TurnEvents()
    for _ in range(20):
        events.publish(TurnId(1), TextDelta(text="x" * (MAX_CHARACTERS // 10)))
    events.publish(TurnId(1), TurnSettled(outcome=Outcome.COMPLETED, text="y" * (2 * MAX_CHARACTERS)))
    events.publish(TurnId(1), TurnCompleted(outcome=Outcome.COMPLETED))
    seen = [numbered async for numbered in events.watch(TurnId(1))]
    assert isinstance(seen[0].event, Gap)
    kept = sum(len(each.event.text) for each in seen if isinstance(each.event, TextDelta))
    assert 0 < kept <= MAX_CHARACTERS
    assert [type(each.event) for each in seen[-2:]] == [TurnSettled, TurnCompleted]
    assert seen[-1].number == 22


async def follow(house_ask: object, request: str, text: str, into: list[AskEvent]) -> None:
    async with house_ask(AskRequest(request=request, text=text), OWNER) as events:  # type: ignore[operator]
        into.extend([event async for event in events])


async def test_an_asker_is_told_of_a_stop_that_comes_just_before_the_settlement() -> None:
    made: list[Interposed] = []
    house = build(opened(), wrap_turns=lambda turns: interposed(turns, made))

    async def stop() -> None:
        made[0].before_settle = None
        with anyio.CancelScope(shield=True):
            await house.write("/stop", id="s", chat_id="c9", reply_target="c9")

    made[0].before_settle = stop
    heard: list[AskEvent] = []
    with anyio.fail_after(5):
        async with running(house):
            await follow(house.ask, "r1", "hello", heard)
    ended = heard[-1]
    assert isinstance(ended, AskEnded)
    assert ended.end is AskEnd.INTERRUPTED


async def test_an_asker_is_told_of_a_stop_that_comes_between_the_claim_and_its_task() -> None:
    made: list[Interposed] = []
    model = GatedModel()
    house = build(model, wrap_turns=lambda turns: interposed(turns, made))

    async def stop() -> None:
        made[0].after_claim = None
        await house.write("/stop", id="s", chat_id="c9", reply_target="c9")

    heard: list[AskEvent] = []
    with anyio.fail_after(5):
        async with running(house):
            made[0].after_claim = stop
            await follow(house.ask, "r1", "hello", heard)
            await settled()
            assert model.asked == []
            assert house.dispatcher.running() == 0
    ended = heard[-1]
    assert isinstance(ended, AskEnded)
    assert ended.end is AskEnd.INTERRUPTED


async def test_a_stop_of_many_waiting_questions_tells_each_of_their_askers() -> None:
    house = build(GatedModel(), slots=1)
    heard: dict[str, list[AskEvent]] = {f"r{number}": [] for number in range(MAX_FINISHED + 6)}
    with anyio.fail_after(10):
        async with running(house), anyio.create_task_group() as askers:
            for request, into in heard.items():
                askers.start_soon(follow, house.ask, request, "hello", into)
            await settled()
            await house.write("/stop", id="s", chat_id="c9", reply_target="c9")
    for into in heard.values():
        ended = into[-1]
        assert isinstance(ended, AskEnded)
        assert ended.end is AskEnd.INTERRUPTED
