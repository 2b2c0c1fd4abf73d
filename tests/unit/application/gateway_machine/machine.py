"""Everything that may happen to a gateway, one rule for each, beside the dullest model of it."""

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import anyio
import trio
import trio.testing
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import note, register_random
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typing_extensions import override

from fermix.application.gateway.drain import drain
from fermix.application.gateway.stages import Door
from fermix.application.ports.admissions import Admission, AdmitResult
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelUnreachable,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.application.ports.model import ModelAnswer
from fermix.application.ports.turns import Claims
from fermix.domain import wording
from fermix.domain.authorization import Policies
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import TurnId
from fermix.domain.normalise import RawMessage
from fermix.domain.turn import Outcome
from fermix.testing.clock import CountedIds
from fermix.testing.histories import Sabotage
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.model_harness import Deed, Trouble
from tests.contract.ledger.homes import HOMES
from tests.unit.application.gateway_machine.dullest import (
    GUEST,
    OWNER,
    STRANGER,
    Dullest,
    Said,
    Turn,
    full,
    only_words,
)
from tests.unit.application.gateway_machine.process import LIMITS, SLOTS, Process, seconds
from tests.unit.application.house import DOOR, House, allow
from tests.unit.application.scripted import raw

CHATS = ("red", "green", "blue")
DEBOUNCE = seconds(3)
PULL = Door(registration=DOOR.registration, features=DOOR.features, album_debounce=DEBOUNCE)
PUSH = Door(registration=DOOR.registration, features=ChannelFeatures(), album_debounce=DEBOUNCE)
TIME_LIMIT = 900

_DEEDS: dict[str, Deed] = {"fail": Trouble.UNREACHABLE, "blank": ModelAnswer(text=" ")}
FAULTS: dict[str, Callable[[], Exception]] = {
    "unreachable": lambda: ChannelUnreachable("nobody is there"),
    "refused": lambda: ChannelRejected("the platform refused it"),
}

# As its own test tools do: the same choices give the same order of tasks.
trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]
register_random(trio._core._run._r)

words = st.tuples(
    st.sampled_from(CHATS),
    st.sampled_from([OWNER, OWNER, GUEST]),
    st.sampled_from(["text", "text", "text", "album a", "album b", "/new", "/whoami", "/stop"]),
)


class GatewayMachine(RuleBasedStateMachine):
    """Rules act on a real gateway and on the model; what each says and shows must be the same."""

    backend: ClassVar[str] = "trio"
    home: ClassVar[str] = "memory"
    sabotage: ClassVar[Sabotage | None] = None

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.harness: LedgerHarness = self._stack.enter_context(HOMES[self.home](folder / "home"))
        self.moments = trio.testing.MockClock() if self.backend == "trio" else None
        options = {"clock": self.moments} if self.moments is not None else {}
        self.portal: BlockingPortal = self._stack.enter_context(start_blocking_portal(self.backend, options))
        self.model = Dullest(CHATS, limits=LIMITS, slots=SLOTS, debounce=DEBOUNCE)
        self.ids = CountedIds(first=10**9)
        self.seen: list[OutgoingPart] = []
        self.written: list[Said] = []
        self.started = False
        self.lives: list[Future[None]] = []
        self.answers: list[object] = []
        self.turns: dict[TurnId, list[str]] = {}
        self.process = self.portal.call(self._process)

    async def _process(self) -> Process:
        return Process(
            self.harness,
            ids=self.ids,
            seen=self.seen,
            policies=self._policies(),
            sabotage=type(self).sabotage,
        )

    @initialize()
    def the_gateway_starts(self) -> None:
        self._start()
        self.started = True

    # What people do.

    @rule(said=st.lists(words, min_size=1, max_size=4), pulls=st.booleans())
    def people_write(self, said: Sequence[tuple[str, str, str]], pulls: bool) -> None:
        self._offer([self._new(*each) for each in said], pulls=pulls)

    @rule(which=st.lists(st.integers(min_value=0), min_size=1, max_size=3), pulls=st.booleans())
    def the_platform_offers_again(self, which: Sequence[int], pulls: bool) -> None:
        if self.written:
            self._offer([self.written[number % len(self.written)] for number in which], pulls=pulls)

    @rule(chat=st.sampled_from(CHATS))
    def a_stranger_writes(self, chat: str) -> None:
        self._offer([self._new(chat, STRANGER, "text")], pulls=True)
        self.written.pop()

    @rule()
    def the_guest_may_write_or_may_not(self) -> None:
        self.model.allowed ^= {GUEST}
        self.process.house.policies.policies = self._policies()

    # What the far sides do.

    @rule(which=st.integers(min_value=0), deed=st.sampled_from(["answer", "answer", "fail", "bug", "blank"]))
    def the_model_answers(self, which: int, deed: str) -> None:
        gates = self.process.model.gates
        if not gates:
            return
        gate = gates[which % len(gates)]
        (turn,) = self.model.asked(gate.question)
        turn.will_end = _ending(turn, deed)
        gate.bug = deed == "bug"
        gate.deed = _DEEDS.get(deed)
        self._do(lambda _house: _open(gate.opened))

    @rule()
    def turns_take_too_long(self) -> None:
        if self.moments is None:
            return
        for turn in self.model.running():
            failure = Failure(kind=FailureKind.TIMED_OUT, detail=f"limit {TIME_LIMIT} seconds")
            turn.will_end = (Outcome.FAILED, wording.failed(failure))
        self.portal.call(self.moments.jump, TIME_LIMIT)
        self._settle()

    @rule(fault=st.sampled_from(["unreachable", "refused", "answer lost"]))
    def the_next_reply_meets_trouble(self, fault: str) -> None:
        if fault == "answer lost":
            self.process.channel.lose_answer = ChannelOutcomeUnknown("the line broke")
        else:
            self.process.channel.faults.append(FAULTS[fault]())

    @rule(by=st.sampled_from([1, 2, 3, 100]))
    def time_passes(self, by: int) -> None:
        self.portal.call(self.harness.clock.advance, seconds(by))
        self._settle()

    # How processes end.

    @rule()
    def the_process_is_killed(self) -> None:
        self.portal.call(self.process.is_killed)
        self._start()

    @rule(moments=st.integers(min_value=0, max_value=12))
    def a_death_is_near(self, moments: int) -> None:
        self.process.death.at = moments

    @rule()
    def it_is_stopped_in_order(self) -> None:
        process = self.process
        self._do(_drained)
        if self.process is process:
            self.portal.call(process.ends)
            self._start()

    # What must be so.

    @invariant()
    def it_stands_as_the_model_says(self) -> None:
        while self.lives and self.lives[0].done():
            self.lives.pop(0).result()
        if self.started:
            now = self.harness.clock.now()
            self.model.looks_right([gate.question for gate in self.process.model.gates], now)

    @override
    def teardown(self) -> None:
        try:
            if self.started:
                self._come_to_rest()
        finally:
            self.portal.call(self.portal.stop, True)
            self._stack.close()

    def _come_to_rest(self) -> None:
        self.process.death.at = None
        for _ in range(200):
            if self.process.model.gates:
                self.the_model_answers(0, "answer")
            else:
                self.time_passes(100)
            if not self.model.is_busy():
                break
        for _ in range(5):
            self.time_passes(100)
        self.model.is_over(remembered=self.portal.call(self._remembered))
        counts = self.portal.call(self.process.ledger.queue.counts)
        assert (counts.waiting, counts.running, counts.paused, counts.open_parts) == (0, 0, 0, 0)
        self.portal.call(self.process.ends)

    async def _remembered(self) -> dict[str, dict[int, list[HistoryEntry]]]:
        found: dict[str, dict[int, list[HistoryEntry]]] = {}
        ledger = self.process.ledger
        for lane in await ledger.conversations.summaries():
            for window in range(lane.window + 1):
                entries = await ledger.conversations.history(lane.lane, window=window)
                if entries:
                    windows = found.setdefault(str(lane.route.chat), {})
                    windows[window] = [only_words(entry) for entry in entries]
        return found

    # The parts of a rule.

    def _new(self, chat: str, user: str, what: str) -> Said:
        number = str(len(self.written) + 1)
        album = f"{chat} {user} {what}" if what.startswith("album") else None
        text = f"{what} {number}" if album or what == "text" else what
        said = Said(id=number, chat=chat, user=user, text=text, album=album)
        self.written.append(said)
        return said

    def _offer(self, said: Sequence[Said], *, pulls: bool) -> None:
        note(f"{[(each.id, each.chat, each.user, each.text) for each in said]}")
        offered = [Offered(message=_raw(each)) for each in said]
        self.answers = []
        receipts = self.portal.call(
            self.process.does, lambda house: house.gateway.accept(offered, PULL if pulls else PUSH)
        )
        self._follow_the_ledger()
        if receipts is not None:
            answers = iter(self.answers)
            for each, receipt in zip(said, receipts, strict=True):
                expected: tuple[Verdict, str | None] = (Verdict.DROPPED, None)
                if each.user in self.model.allowed:
                    expected = self.model.verdict(each, next(answers), pulls=pulls)
                assert (receipt.verdict, receipt.notice) == expected
        self._look()

    def _do(self, act: Callable[[House], Awaitable[object]]) -> None:
        self.portal.call(self.process.does, act)
        self._look()

    def _settle(self) -> None:
        self.portal.call(self.process.settles)
        self._look()

    def _look(self) -> None:
        """Show the model what was committed and what people read; go on after a death."""
        self._follow_the_ledger()
        self.model.reads(self.seen, self.process.channel.refused)
        if self.process.dead:
            self._start()

    def _start(self) -> None:
        while True:
            self.model.restarts()
            self.process = self.portal.call(self._process)
            self.lives.append(self.portal.start_task_soon(self.process.live))
            self.portal.call(self.process.settles)
            self._follow_the_ledger()
            self.model.reads(self.seen, self.process.channel.refused)
            if not self.process.dead:
                return

    def _follow_the_ledger(self) -> None:
        calls, self.process.calls = self.process.calls, []
        for call in calls:
            note(f"  {call.name}")
            match call.name:
                case "admit":
                    self._admitted(*call.given, results=call.result)
                case "claim":
                    self._claimed(call.result)
                case "settle":
                    (settlement,) = call.given
                    self.model.settles(self.turns[settlement.turn], settlement.outcome)
                case "release" if call.result:
                    self.model.releases(self.turns[call.given[0]])
                case "recover":
                    self.model.recovers(self.harness.clock.now())
                case _:
                    pass

    def _admitted(self, batch: Sequence[Admission], *, results: Sequence[AdmitResult]) -> None:
        for item, result in zip(batch, results, strict=True):
            said = self.written[int(item.message.id) - 1]
            answer = self.model.admits(said, self.harness.clock.now())
            assert full(result) == answer
            self.answers.append(answer)

    def _claimed(self, claims: Claims) -> None:
        found = [([str(m.message.id) for m in claim.messages], claim.window) for claim in claims.turns]
        for claim, (ids, _) in zip(claims.turns, found, strict=True):
            self.turns[claim.turn] = ids
        self.model.claims(found, self.harness.clock.now())

    def _policies(self) -> Policies:
        return allow(guests=sorted(self.model.allowed - {OWNER}))


async def _open(gate: anyio.Event) -> None:
    gate.set()


async def _drained(house: House) -> None:
    house.gateway.close()
    await drain(
        dispatcher=house.dispatcher, deliverer=house.deliverer, turns=house.ledger.turns, grace=seconds(0)
    )
    await house.ledger.ownership.leave()


def _ending(turn: Turn, deed: str) -> tuple[Outcome, str]:
    match deed:
        case "answer":
            return Outcome.COMPLETED, f"You said: {turn.question}"
        case "fail":
            failure = Failure(kind=FailureKind.UNREACHABLE, provider="scripted", model="scripted-1")
            return Outcome.FAILED, wording.failed(failure)
        case "bug":
            return Outcome.FAILED, wording.APOLOGY
        case _:
            return Outcome.FAILED, wording.EMPTY_ANSWER


def _raw(said: Said) -> RawMessage:
    return raw(
        said.text,
        id=said.id,
        chat_id=said.chat,
        reply_target=said.chat,
        sender_id=said.user,
        album=said.album,
    )
