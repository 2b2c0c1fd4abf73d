"""What goes wrong on the way in and on the way out, and what the owner hears of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import anyio
import pytest

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.health import LEDGER
from fermix.application.gateway.stages import Door
from fermix.application.gateway.supervisor import supervise
from fermix.application.ports.admissions import Admission, Admissions, AdmitResult, CursorMove
from fermix.application.ports.channel import ChannelFeatures, Offered, Verdict
from fermix.application.ports.control import AskEnd, AskEnded, AskRequest, ChannelStatus
from fermix.application.ports.ledger_errors import LedgerFull, LedgerUnavailable
from fermix.application.ports.model import ModelError
from fermix.application.ports.outbox import DueParts, LeftDraft, NotDelivered, Outbox, PartEnd, SendingPart
from fermix.application.ports.turns import Settlement, Turns
from fermix.application.turns.settle import Ending, SettleTurn
from fermix.domain import wording
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import ChannelName, PartId
from fermix.domain.lane import QueueLimits
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration
from fermix.domain.turn import Outcome
from fermix.testing.clock import CountedIds
from tests.unit.application.house import ACCOUNT, DOOR, PUSH, TEST, House, build, running
from tests.unit.application.scripted import ScriptedModel, raw, says
from tests.unit.application.test_gateway import OWNER, GatedModel, asked, opened, settled

pytestmark = pytest.mark.anyio

EDITED = datetime(2026, 1, 2, tzinfo=UTC)
CURSOR = CursorMove(origin="test:a", scope="updates", value="7")


class Failing:
    """Admissions of which one kind of call fails."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions
        self.amending: Exception | None = None
        self.admitting: Exception | None = None
        self.moved: list[CursorMove] = []

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        if self.admitting is not None:
            raise self.admitting
        results = await self._admissions.admit(batch, cursor=cursor)
        if cursor is not None:
            self.moved.append(cursor)
        return results

    async def amend(self, edited: InboundMessage, *, key: str) -> object:
        if self.amending is not None:
            raise self.amending
        return await self._admissions.amend(edited, key=key)


def failing(house: House) -> tuple[Failing, Gateway]:
    admissions = Failing(house.ledger.admissions)
    gateway = Gateway(
        admissions=cast("Admissions", admissions),
        policies=house.policies,
        consequences=Consequences(
            admissions=cast("Admissions", admissions),
            dispatcher=house.dispatcher,
            deliverer=house.deliverer,
            clock=house.clock,
        ),
        board=house.board,
        clock=house.clock,
    )
    return admissions, gateway


async def test_an_edit_that_cannot_be_stored_does_not_hold_back_what_was_stored_with_it() -> None:
    async with running(build(opened())) as house:
        admissions, gateway = failing(house)
        admissions.amending = LedgerFull("the disk is full")
        offered = [
            Offered(message=raw("hello", id="m1")),
            Offered(message=raw("better", id="m0", edited_at=EDITED)),
        ]
        receipts = await gateway.accept(offered, DOOR, cursor=CURSOR)
        assert [receipt.verdict for receipt in receipts] == [Verdict.ACCEPTED, Verdict.UNAVAILABLE]
        assert await house.channel.has_sent(1) == ["re: hello"]
        assert admissions.moved == []
        assert house.board.is_failing(LEDGER)


async def test_an_edit_beside_a_message_at_the_total_limit_does_not_move_the_cursor_past_it() -> None:
    async with running(build(GatedModel(), limits=QueueLimits(per_conversation=9, total=1))) as house:
        admissions, gateway = failing(house)
        for number in range(2):
            await house.write("x", id=f"w{number}")
            await settled()
        offered = [
            Offered(message=raw("one more", id="m1", chat_id="c2")),
            Offered(message=raw("better", id="w1", edited_at=EDITED)),
        ]
        receipts = await gateway.accept(offered, DOOR, cursor=CURSOR)
        assert receipts[0].verdict is Verdict.FULL
        assert admissions.moved == []


async def test_a_webhook_whose_admission_breaks_is_taken_when_it_comes_again() -> None:
    door = Door(
        registration=Registration(channel=TEST, account=ACCOUNT), features=ChannelFeatures(webhook=True)
    )
    async with running(build(opened())) as house:
        admissions, gateway = failing(house)
        admissions.admitting = RuntimeError("a bug")
        with pytest.raises(RuntimeError):
            await gateway.accept([Offered(message=raw("hello"))], door)
        admissions.admitting = None
        with anyio.fail_after(2):
            (receipt,) = await gateway.accept([Offered(message=raw("hello"))], door)
        assert receipt.verdict is Verdict.ACCEPTED


async def test_an_adapters_bug_in_a_notice_ends_nothing() -> None:
    async with running(build(opened())) as house:
        house.channel.faults.append(KeyError("a bug"))
        house.channel.faults.append(ValueError("another"))
        for number in range(2):
            assert (await house.write(" ", id=f"m{number}")).verdict is Verdict.ANSWERED
            await settled()
        await house.write("hello", id="m3")
        assert await house.channel.has_sent(1) == ["re: hello"]


@dataclass(slots=True)
class Noting:
    """The outbox, with what became of each part."""

    outbox: Outbox
    ends: list[PartEnd] = field(default_factory=list)

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        return await self.outbox.due(channels=channels, limit=limit)

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        return await self.outbox.left_drafts(channels=channels)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        self.ends.append(end)
        return await self.outbox.done(part, end)


async def test_what_an_adapters_bug_says_is_not_stored_with_the_part() -> None:
    house = build(opened())
    outbox = Noting(house.ledger.outbox)
    house.channel.faults += [RuntimeError("https://api/bot123:SECRET/send") for _ in range(3)]
    deliverer = Deliverer(
        outbox=outbox, channels={TEST: house.channel}, clock=house.clock, ids=CountedIds(first=900)
    )
    async with running(house), anyio.create_task_group() as tasks:
        gateway = Gateway(
            admissions=house.ledger.admissions,
            policies=house.policies,
            consequences=Consequences(
                admissions=house.ledger.admissions,
                dispatcher=house.dispatcher,
                deliverer=deliverer,
                clock=house.clock,
            ),
            board=house.board,
            clock=house.clock,
        )
        tasks.start_soon(deliverer.run)
        await gateway.accept([Offered(message=raw("/whoami"))], DOOR)
        for _ in range(3):
            await settled()
            house.clock.advance(timedelta(seconds=60))
        await settled()
        tasks.cancel_scope.cancel()
    assert outbox.ends[-1] == NotDelivered(error="RuntimeError")


async def test_what_an_adapters_bug_says_is_not_shown_in_its_health() -> None:
    house = build(opened())

    class Broken:
        account = ACCOUNT
        features = ChannelFeatures()

        async def run(self, inbox: object, *, cursor: str | None) -> None:
            raise RuntimeError("https://api/bot123:SECRET/getUpdates")

    async with running(house), anyio.create_task_group() as tasks:

        async def supervised() -> None:
            await supervise(
                Broken(),  # type: ignore[arg-type]  # never sends
                DOOR,
                gateway=house.gateway,
                board=house.board,
                clock=house.clock,
                cursor=None,
            )

        tasks.start_soon(supervised)
        await settled()
        (channel,) = house.board.health().channels
        tasks.cancel_scope.cancel()
    assert channel.status is ChannelStatus.DEGRADED
    assert channel.detail == "RuntimeError"


def failing_model(kind: FailureKind) -> ScriptedModel:
    failure = ModelError(Failure(kind=kind, provider="scripted", model="nosuch"))
    return ScriptedModel([failure, says("fine")])


async def test_a_model_that_only_one_request_asked_for_says_nothing_of_the_health() -> None:
    async with running(build(failing_model(FailureKind.UNKNOWN_MODEL))) as house:
        question = AskRequest(request="r1", text="hello", model="scripted/nosuch")
        async with house.ask(question, OWNER) as events:
            ended = [event async for event in events][-1]
        assert isinstance(ended, AskEnded)
        assert ended.end is AskEnd.FAILED
        assert house.board.health().failures == ()


async def test_the_model_that_answers_by_itself_makes_the_health_worse_until_it_answers() -> None:
    async with running(build(failing_model(FailureKind.UNREACHABLE))) as house:
        await asked(house, "hello", request="r1")
        assert house.board.health().failures == ("provider:scripted: unreachable",)
        await asked(house, "hello", request="r2")
        assert house.board.health().failures == ()


@pytest.mark.parametrize(
    ("error", "told"),
    [(LedgerFull("full"), wording.DISK_FULL), (LedgerUnavailable("locked"), wording.NOT_STORED)],
)
async def test_who_would_not_ask_again_is_told_why_nothing_was_taken(
    error: LedgerUnavailable, told: str
) -> None:
    async with running(build(opened())) as house:
        admissions, gateway = failing(house)
        admissions.admitting = error
        (receipt,) = await gateway.accept([Offered(message=raw("hello"))], PUSH)
        assert (receipt.verdict, receipt.notice) == (Verdict.UNAVAILABLE, told)
        assert await house.channel.has_sent(1) == [told]


class FullDisk:
    """No settlement can be written until there is space."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.full = True

    def __getattr__(self, name: str) -> object:
        return getattr(self._turns, name)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        if self.full:
            raise LedgerFull("the disk is full")
        return await self._turns.settle(settlement)


async def test_a_settlement_that_waits_for_space_makes_the_health_degraded() -> None:
    house = build(opened())
    disk = FullDisk(house.ledger.turns)
    settle = SettleTurn(
        turns=cast("Turns", disk),
        deliverer=house.deliverer,
        events=house.events,
        clock=house.clock,
        waits=house.board.ledger_waits,
    )
    await house.ledger.ownership.take(instance="t", boot="b")
    await house.write("hello")
    (claim,) = (await house.ledger.turns.claim(limit=1, channels={TEST})).turns
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(settle, claim, Ending(outcome=Outcome.COMPLETED, text="hi"))
        await settled()
        assert house.board.is_failing(LEDGER)
        assert house.board.health().failures == ("ledger: the disk is full",)
        disk.full = False
        house.clock.advance(timedelta(seconds=1))
