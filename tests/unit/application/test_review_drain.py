"""The end in order: nothing begun is dropped, everybody who waits is told, and it never takes for ever."""

from datetime import timedelta
from typing import cast

import anyio
import pytest

from fermix.application.gateway.drain import drain
from fermix.application.gateway.serve import Core, Served, ServeSettings, serve
from fermix.application.operations.ask import CLI_CHANNEL, CLI_DOOR
from fermix.application.ports.control import AskEnd, AskEnded, AskEvent
from fermix.application.ports.ledger_errors import LedgerFull
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.ownership import Ownership, Retention
from fermix.application.ports.turns import Settlement, Turns
from fermix.domain import wording
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.ids import Generation, LaneId, TurnId
from tests.unit.application.house import DOOR, TEST, House, build, running
from tests.unit.application.test_gateway import GatedModel, opened, settled
from tests.unit.application.test_review_turns import Interposed, follow, interposed

pytestmark = pytest.mark.anyio

NO_GRACE = timedelta(milliseconds=10)


async def drained(house: House, turns: Turns | None = None, grace: timedelta = NO_GRACE) -> None:
    await drain(
        dispatcher=house.dispatcher,
        deliverer=house.deliverer,
        turns=turns or house.ledger.turns,
        grace=grace,
    )


async def test_a_turn_that_is_being_claimed_when_the_drain_begins_may_finish() -> None:
    made: list[Interposed] = []
    house = build(opened(), wrap_turns=lambda turns: interposed(turns, made))
    claimed, go_on = anyio.Event(), anyio.Event()

    async def hold() -> None:
        made[0].after_claim = None
        claimed.set()
        await go_on.wait()

    with anyio.fail_after(5):
        async with running(house), anyio.create_task_group() as tasks:
            made[0].after_claim = hold
            await house.write("hello", id="m1")
            await claimed.wait()
            tasks.start_soon(drained, house, None, timedelta(seconds=3))
            await settled()
            go_on.set()
            assert await house.channel.has_sent(1) == ["re: hello"]


async def test_those_whose_question_has_not_started_are_told_at_once() -> None:
    house = build(GatedModel(), slots=1)
    heard: list[AskEvent] = []
    with anyio.fail_after(5):
        async with running(house), anyio.create_task_group() as tasks:
            await house.write("running", id="m1")
            await settled()
            async with anyio.create_task_group() as asker:
                asker.start_soon(follow, house.ask, "r1", "waiting", heard)
                await settled()
                tasks.start_soon(drained, house, None, timedelta(seconds=3))
            ended = heard[-1]
            assert ended == AskEnded(
                end=AskEnd.INTERRUPTED,
                text="",
                notice=wording.ASK_INTERRUPTED,
                outcome=cast("AskEnded", ended).outcome,
            )
            tasks.cancel_scope.cancel()


async def test_an_awaited_turn_that_outlasts_the_drain_is_remembered_as_interrupted_and_told() -> None:
    house = build(GatedModel())
    heard: list[AskEvent] = []
    with anyio.fail_after(5):
        async with running(house), anyio.create_task_group() as asker:
            asker.start_soon(follow, house.ask, "r1", "slow", heard)
            await settled()
            await drained(house)
    ended = heard[-1]
    assert isinstance(ended, AskEnded)
    assert (ended.end, ended.notice) == (AskEnd.INTERRUPTED, wording.ASK_INTERRUPTED)
    history = await house.ledger.conversations.history(LaneId(1), window=0)
    assert history == (UserEntry(text="slow"), MarkerEntry(text=wording.INTERRUPTED_MARKER))


async def test_an_answer_that_is_committed_while_the_drain_gives_up_reaches_its_asker() -> None:
    model = GatedModel()
    house = build(model)

    class Late(Interposed):
        async def release(self, turn: TurnId, *, generation: Generation) -> bool:
            given_back = await self._turns.release(turn, generation=generation)
            model.gate.set()
            await settled()
            return given_back

    heard: list[AskEvent] = []
    with anyio.fail_after(5):
        async with running(house), anyio.create_task_group() as asker:
            asker.start_soon(follow, house.ask, "r1", "slow", heard)
            await settled()
            await drained(house, cast("Turns", Late(house.ledger.turns)))
    ended = heard[-1]
    assert isinstance(ended, AskEnded)
    assert (ended.end, ended.text) == (AskEnd.ANSWERED, "re: slow")


class FullDisk:
    """Nothing can be written from the moment the disk is full."""

    def __init__(self, behind: object) -> None:
        self._behind = behind
        self.full = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._behind, name)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        if self.full:
            raise LedgerFull("the disk is full")
        return await cast("Turns", self._behind).settle(settlement)

    async def leave(self) -> None:
        if self.full:
            raise LedgerFull("the disk is full")
        await cast("Ownership", self._behind).leave()


async def test_a_full_disk_neither_keeps_the_end_from_coming_nor_makes_it_a_failure() -> None:
    disks: list[FullDisk] = []

    def on_a_disk(turns: Turns) -> Turns:
        disks.append(FullDisk(turns))
        return cast("Turns", disks[0])

    house = build(opened(), wrap_turns=on_a_disk)
    ownership = FullDisk(house.ledger.ownership)
    await house.ledger.ownership.take(instance="test", boot="boot")
    stopping = anyio.Event()
    core = Core(
        gateway=house.gateway,
        dispatcher=house.dispatcher,
        deliverer=house.deliverer,
        admissions=house.ledger.admissions,
        turns=cast("Turns", disks[0]),
        ownership=cast("Ownership", ownership),
        board=house.board,
        clock=house.clock,
    )
    served = {
        TEST: Served(channel=house.channel, door=DOOR),
        CLI_CHANNEL: Served(channel=house.cli, door=CLI_DOOR),
    }
    with anyio.fail_after(9):
        async with anyio.create_task_group() as tasks:

            async def serving() -> None:
                settings = ServeSettings(grace=NO_GRACE, retention=Retention())
                await serve(core, served, [], settings=settings, stopping=stopping)

            tasks.start_soon(serving)
            await settled()
            disks[0].full = ownership.full = True
            await house.write("hello", id="m1")
            await settled()
            assert house.dispatcher.running() == 1
            stopping.set()
