"""Commands whose work lies outside the ledger: done once, after their commit, and held up by nobody."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from fermix.application.commands.outside import ChangeSandbox, OutsideCommand
from fermix.application.gateway.outside import MAX_WAITING
from fermix.application.ports.channel import Verdict
from fermix.domain import approval_wording, wording
from fermix.domain.sandbox import SandboxMode
from fermix.domain.sandbox_changes import SetMode
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_ledger import MemoryLedger
from tests.unit.application.approving import FIRST_CODE, HeldChanges, Place, approving, place_in
from tests.unit.application.house import TEST, build, running
from tests.unit.application.scripted import ScriptedModel, says

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


@pytest.mark.requirement("command.in_a_task_of_the_gateway")
async def test_a_slow_command_holds_up_neither_the_next_message_nor_another_conversation(
    place: Place,
) -> None:
    held = HeldChanges(inner=place.files, gate=anyio.Event(), reached=anyio.Event())
    home = approving(place, ScriptedModel([says("hello yourself")]), changes=held)
    async with running(home.house):
        with anyio.fail_after(5):
            slow = await home.house.write("/grant path ~/project")
            await held.reached.wait()
            behind = await home.house.write("/revoke path ~/other", id="m2")
            hello = await home.house.write("hello", id="m3")
            help_ = await home.house.write("/help", id="m4", chat_id="c2", reply_target="c2")
            texts = set(await home.house.channel.has_sent(2))
            held.gate.set()
            parts = await home.house.channel.has_sent(4)

    assert {slow.verdict, behind.verdict, hello.verdict, help_.verdict} == {Verdict.ACCEPTED}
    assert "hello yourself" in texts
    assert f"/confirm {FIRST_CODE}" in parts[2]
    assert parts[3] == f"{place.user / 'other'} is not granted."


async def test_a_command_that_is_offered_again_runs_once(place: Place) -> None:
    held = HeldChanges(inner=place.files, gate=anyio.Event(), reached=anyio.Event())
    home = approving(place, ScriptedModel([]), changes=held)
    async with running(home.house):
        first = await home.house.write("/sandbox mode strict")
        while_it_runs = await home.house.write("/sandbox mode strict")
        held.gate.set()
        await home.house.channel.has_sent(1)
        afterwards = await home.house.write("/sandbox mode strict")
        await anyio.wait_all_tasks_blocked()

    assert [first.verdict, while_it_runs.verdict, afterwards.verdict] == [
        Verdict.ACCEPTED,
        Verdict.DUPLICATE,
        Verdict.DUPLICATE,
    ]
    assert held.applied == 1
    assert len(home.house.channel.sent) == 1


async def test_a_command_that_a_death_cut_off_is_reported_by_the_next_start_and_never_run(
    place: Place,
) -> None:
    clock, ids = StoppedClock(), CountedIds()
    held = HeldChanges(inner=place.files, gate=anyio.Event(), reached=anyio.Event())
    ledger = MemoryLedger(clock=clock, ids=ids)
    home = approving(place, ScriptedModel([]), changes=held, ledger=ledger)
    async with running(home.house):
        await home.house.write("/sandbox mode strict")
        with anyio.fail_after(5):
            await held.reached.wait()
        ledger.kill()

    held.gate.set()
    next_one = MemoryLedger(clock=clock, ids=ids, disk=ledger.disk)
    again = approving(place, ScriptedModel([]), changes=held, ledger=next_one)
    async with running(again.house):
        recovered = await next_one.ownership.recover(channels=frozenset({TEST}))
        again.house.deliverer.submit(recovered.parts)
        repeated = await again.house.write("/sandbox mode strict")
        texts = await again.house.channel.has_sent(1)
        await anyio.wait_all_tasks_blocked()

    assert texts == [wording.restarted_during("sandbox")]
    assert repeated.verdict is Verdict.DUPLICATE
    assert held.applied == 0
    assert "strict" not in place.config()


@dataclass(slots=True)
class Broken:
    """Fails at whatever it is asked."""

    done: list[OutsideCommand] = field(default_factory=list)

    async def carry_out(self, command: OutsideCommand) -> str:
        self.done.append(command)
        raise RuntimeError("a bug")

    async def tidy(self, command: OutsideCommand) -> None:
        raise RuntimeError("another bug")

    def stopped(self) -> None:
        """Nothing is open."""


async def test_a_bug_in_one_command_is_told_and_the_next_one_is_done(place: Place) -> None:
    broken = Broken()
    house = build(ScriptedModel([]), outside=broken, policies=approving(place, ScriptedModel([])).policies)
    async with running(house):
        await house.write("/sandbox mode strict")
        await house.write("/sandbox mode open", id="m2")
        assert await house.channel.has_sent(2) == [wording.APOLOGY] * 2

    assert [command.work for command in broken.done] == [
        ChangeSandbox(change=SetMode(mode=mode)) for mode in (SandboxMode.STRICT, SandboxMode.OPEN)
    ]


async def test_when_too_many_wait_no_more_are_taken_and_their_senders_are_told(place: Place) -> None:
    held = HeldChanges(inner=place.files, gate=anyio.Event(), reached=anyio.Event())
    home = approving(place, ScriptedModel([]), changes=held)
    async with running(home.house):
        for number in range(MAX_WAITING):
            await home.house.write("/sandbox mode strict", id=f"m{number}")
        await home.house.write("/sandbox mode open", id="one too many")
        assert await home.house.channel.has_sent(1) == [approval_wording.TOO_MANY_COMMANDS]
        held.gate.set()
        await home.house.channel.has_sent(MAX_WAITING + 1)


async def test_the_end_waits_for_what_is_being_done(place: Place) -> None:
    held = HeldChanges(inner=place.files, gate=anyio.Event(), reached=anyio.Event())
    home = approving(place, ScriptedModel([]), changes=held)
    async with running(home.house):
        await home.house.write("/sandbox mode strict")
        with anyio.move_on_after(0.01) as waited:
            await home.house.gateway.drained()
        held.gate.set()
        with anyio.fail_after(5):
            await home.house.gateway.drained()

    assert waited.cancelled_caught
    assert '"strict"' in place.config()
