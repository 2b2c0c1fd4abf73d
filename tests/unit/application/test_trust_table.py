"""Who sees which capability: every cell of the table, through a real turn and the toolbox as it is."""

from dataclasses import replace
from itertools import product

import anyio
import pytest

from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.admissions import Accepted, Input
from fermix.application.ports.tools import Tool, ToolContext
from fermix.domain.authorization import Trust
from fermix.domain.capability import OnlyNames, RiskClass, Scope
from fermix.domain.history import ToolEntry
from fermix.domain.ids import TurnId
from fermix.domain.route import route_of, target_of
from fermix.domain.streaming.mode import StreamingMode
from fermix.domain.sub_work import SubWork
from fermix.testing.samples import answering
from tests.unit.application.house import DOOR, TEST, House, allow, build, running
from tests.unit.application.scripted import RecordingTool, ScriptedModel, calls, message, says
from tests.unit.application.test_streaming import LONG, Board, Writer

pytestmark = pytest.mark.anyio

HIDDEN, SHOWN = False, True

OPERATOR_AT_THE_TOP = dict.fromkeys(product(RiskClass, (False, True)), SHOWN)
OPERATOR_DELEGATED = OPERATOR_AT_THE_TOP | {
    (RiskClass.GUI_CONTROL, False): HIDDEN,
    (RiskClass.GUI_CONTROL, True): HIDDEN,
}
EVERYBODY_ELSE = dict.fromkeys(product(RiskClass, (False, True)), HIDDEN) | {
    (RiskClass.READ_ONLY, False): SHOWN,
}

TABLE = {
    (Trust.OPERATOR, "top"): OPERATOR_AT_THE_TOP,
    (Trust.OPERATOR, "delegated"): OPERATOR_DELEGATED,
    (Trust.GUEST, "top"): EVERYBODY_ELSE,
    (Trust.GUEST, "delegated"): EVERYBODY_ELSE,
    (None, "top"): EVERYBODY_ELSE,
    (None, "delegated"): EVERYBODY_ELSE,
}
CELLS = [
    pytest.param(
        trust,
        level == "delegated",
        risk,
        owner_data,
        shown,
        id=f"{trust or 'nobody'}-{level}-{risk}-{'owner' if owner_data else 'public'}",
    )
    for (trust, level), row in TABLE.items()
    for (risk, owner_data), shown in row.items()
]

SENDERS = {Trust.OPERATOR: "1001", Trust.GUEST: "2002", None: "1001"}


def asked_with(scope: Scope, sender: str, *, key: str = "m1") -> Input:
    written = message("please", registration=DOOR.registration, id=key, sender_id=sender)
    return Input(
        message=written,
        route=route_of(written),
        target=target_of(written),
        trust=Trust.OPERATOR if sender == "1001" else Trust.GUEST,
        scope=scope,
    )


async def hand_on(house: House, *narrowing: OnlyNames, scope: Scope | None = None) -> None:
    """The turn that waits starts, hands work on, and ends."""
    (parent,) = (await house.ledger.turns.claim(limit=1, channels={TEST})).turns
    work = SubWork(
        turn=parent.turn,
        generation=parent.generation,
        name="part",
        text="do your part",
        scope=parent.scope if scope is None else scope,
        narrowing=narrowing,
    )
    assert isinstance(await house.ledger.delegation.hand_on(work), Accepted)
    await house.ledger.turns.settle(answering(parent))


async def outcome(house: House, model: ScriptedModel) -> tuple[list[str], str]:
    """What the model was told of, and what it read after its call."""
    house.dispatcher.wake()
    assert await house.channel.has_sent(1) == ["done"]
    first, second = model.requests
    result = next(entry for entry in second.entries if isinstance(entry, ToolEntry))
    return [tool.name for tool in first.tools], result.text


@pytest.mark.requirement(
    "trust.operator_sees_all_classes",
    "trust.guest_sees_read_only",
    "trust.owner_data.hidden_from_guests",
    "trust.flow.absent_is_guest",
    "trust.flow.message_to_snapshot",
    "trust.gui_control.never_delegated",
    "snapshot.filtered_is_not_callable",
    "snapshot.inherited_by_sub_work",
)
@pytest.mark.parametrize(("trust", "delegated", "risk", "owner_data", "shown"), CELLS)
async def test_a_turn_is_offered_and_can_call_exactly_what_the_table_shows_it(
    trust: Trust | None, *, delegated: bool, risk: RiskClass, owner_data: bool, shown: bool
) -> None:
    tool = RecordingTool("probe", risk=risk, owner_data=owner_data)
    model = ScriptedModel([calls("probe"), says("done")])
    async with running(build(model, tools=[tool], computer_use=True)) as house:
        await house.ledger.admissions.admit([asked_with(Scope(trust=trust), SENDERS[trust])])
        if delegated:
            await hand_on(house)
        offered, read = await outcome(house, model)
    assert (offered, len(tool.calls)) == ((["probe"], 1) if shown else ([], 0))
    assert ("not available" in read) is not shown


@pytest.mark.requirement("trust.flow.message_to_snapshot")
@pytest.mark.parametrize(("sender", "shown"), [("1001", ["run", "look"]), ("2002", ["look"])])
async def test_what_a_sender_may_decides_what_the_turn_of_their_message_sees(
    sender: str, shown: list[str]
) -> None:
    tools = [RecordingTool("run", risk=RiskClass.EXEC), RecordingTool("look")]
    model = ScriptedModel([says("done")])
    async with running(build(model, tools=tools)) as house:
        await house.write("please", sender_id=sender)
        await house.channel.has_sent(1)
    assert [tool.name for tool in model.requests[0].tools] == shown


@pytest.mark.requirement("turn.reauthorised_at_claim", "snapshot.queued_turn_cannot_widen")
@pytest.mark.parametrize(
    ("admitted_as", "now_owner"),
    [(Trust.OPERATOR, "9999"), (Trust.GUEST, "1001")],
    ids=["demoted while waiting", "promoted while waiting"],
)
async def test_a_turn_has_the_lower_of_the_trust_it_came_with_and_the_trust_of_now(
    admitted_as: Trust, now_owner: str
) -> None:
    tools = [RecordingTool("run", risk=RiskClass.EXEC), RecordingTool("look")]
    model = ScriptedModel([says("done")])
    async with running(build(model, tools=tools)) as house:
        before = allow(owner="1001" if admitted_as is Trust.OPERATOR else None, guests=("1001",))
        house.policies.policies = before
        item = asked_with(Scope(trust=admitted_as), "1001")
        await house.ledger.admissions.admit([item])
        house.policies.policies = allow(owner=now_owner, guests=("1001",))
        house.dispatcher.wake()
        await house.channel.has_sent(1)
    assert [tool.name for tool in model.requests[0].tools] == ["look"]


@pytest.mark.requirement("turn.reauthorised_at_claim")
async def test_a_message_that_came_from_a_guest_lowers_whatever_its_turn_says() -> None:
    tools = [RecordingTool("run", risk=RiskClass.EXEC), RecordingTool("look")]
    model = ScriptedModel([says("done")])
    async with running(build(model, tools=tools)) as house:
        item = replace(asked_with(Scope(trust=Trust.OPERATOR), "1001"), trust=Trust.GUEST)
        await house.ledger.admissions.admit([item])
        house.dispatcher.wake()
        await house.channel.has_sent(1)
    assert [tool.name for tool in model.requests[0].tools] == ["look"]


@pytest.mark.requirement("snapshot.inherited_by_sub_work")
async def test_work_handed_on_by_a_lowered_turn_stays_low_though_its_sender_is_the_owner_again() -> None:
    tools = [RecordingTool("run", risk=RiskClass.EXEC), RecordingTool("look")]
    model = ScriptedModel([calls("run"), says("done")])
    async with running(build(model, tools=tools)) as house:
        scope = Scope(trust=Trust.OPERATOR)
        await house.ledger.admissions.admit([asked_with(scope, "1001")])
        await hand_on(house, scope=scope.narrowed(trust=Trust.GUEST))
        offered, read = await outcome(house, model)
    assert offered == ["look"]
    assert "not available" in read


@pytest.mark.requirement("snapshot.inherited_by_sub_work")
async def test_work_handed_on_keeps_to_the_names_it_was_given() -> None:
    tools = [RecordingTool("run", risk=RiskClass.EXEC), RecordingTool("look"), RecordingTool("read")]
    model = ScriptedModel([calls("look"), says("done")])
    async with running(build(model, tools=tools)) as house:
        narrowed = Scope(trust=Trust.OPERATOR, narrowing=(OnlyNames(names=frozenset({"run", "read"})),))
        await house.ledger.admissions.admit([asked_with(narrowed, "1001")])
        await hand_on(house, OnlyNames(names=frozenset({"read", "look"})))
        offered, read = await outcome(house, model)
    assert offered == ["read"]
    assert "not available" in read


@pytest.mark.requirement("snapshot.inherited_by_sub_work", "turn.rejected_when_no_longer_allowed")
async def test_work_of_a_sender_who_may_no_longer_talk_does_not_start() -> None:
    model = ScriptedModel([says("done")])
    async with running(build(model)) as house:
        await house.ledger.admissions.admit([asked_with(Scope(trust=Trust.GUEST), "2002")])
        await hand_on(house)
        house.policies.policies = allow(guests=())
        house.dispatcher.wake()
        await anyio.wait_all_tasks_blocked()
        assert (await house.ledger.queue.counts()).waiting == 0
    assert (model.requests, house.channel.sent) == ([], [])


@pytest.mark.parametrize("handed_on", [True, False])
async def test_work_handed_on_is_not_shown_while_it_is_written(*, handed_on: bool) -> None:
    board, writer = Board(), Writer()
    house = build(writer, drafts=board, streaming={TEST: StreamingMode.DRAFT})
    async with running(house):
        await house.ledger.admissions.admit([asked_with(Scope(trust=Trust.OPERATOR), "1001")])
        if handed_on:
            await hand_on(house)
        house.dispatcher.wake()
        await writer.writes(LONG)
        writer.ends(LONG)
        if handed_on:
            assert await house.channel.has_sent(1) == [LONG]
        await anyio.wait_all_tasks_blocked()
    assert ("open" in board.names()) is not handed_on


@pytest.mark.requirement("trust.flow.absent_is_guest")
async def test_a_turn_without_trust_is_told_what_a_guests_turn_is_told() -> None:
    told: list[str] = []
    for trust in (Trust.OPERATOR, Trust.GUEST, None):
        model = ScriptedModel([says("done")])
        async with running(build(model)) as house:
            await house.ledger.admissions.admit([asked_with(Scope(trust=trust), "1001")])
            house.dispatcher.wake()
            await house.channel.has_sent(1)
        told.append(model.requests[0].system)
    operator, guest, nobody = told
    assert guest == nobody != operator


@pytest.mark.requirement("trust.gui_control.only_when_enabled")
@pytest.mark.parametrize("enabled", [True, False])
async def test_the_screen_is_registered_only_while_computer_use_is_enabled(*, enabled: bool) -> None:
    screen = RecordingTool("screen", risk=RiskClass.GUI_CONTROL)
    model = ScriptedModel([calls("screen"), says("done")])
    async with running(build(model, tools=[screen], computer_use=enabled)) as house:
        await house.ledger.admissions.admit([asked_with(Scope(trust=Trust.OPERATOR), "1001")])
        offered, read = await outcome(house, model)
    assert (offered, len(screen.calls)) == ((["screen"], 1) if enabled else ([], 0))
    assert ("no tool named" in read) is not enabled


@pytest.mark.requirement("trust.gui_control.only_when_enabled")
def test_a_toolbox_that_is_told_nothing_has_no_screen() -> None:
    tools: list[Tool] = [RecordingTool("screen", risk=RiskClass.GUI_CONTROL), RecordingTool("look")]
    context = ToolContext(turn=TurnId(1), scope=Scope(trust=Trust.OPERATOR))
    assert [tool.name for tool in Toolbox(tools).definitions(context)] == ["look"]
    assert not Toolbox(tools).knows("screen")


@pytest.mark.requirement("snapshot.filtered_is_not_callable")
async def test_a_name_that_differs_in_case_or_blanks_is_another_name() -> None:
    tool = RecordingTool("run", risk=RiskClass.EXEC)
    names = ("Run", " run", "run ", "r\u057dn", "run\x00")
    model = ScriptedModel([calls(*names), says("done")])
    async with running(build(model, tools=[tool])) as house:
        await house.write("please")
        assert await house.channel.has_sent(1) == ["done"]
    assert tool.calls == []


def test_the_table_covers_every_cell_once() -> None:
    assert len(CELLS) == len(RiskClass) * 3 * 2 * 2
