"""Random histories, deaths included, against the dullest model: whatever happens, both tell the same story."""

import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from fermix.application.ports.admissions import (
    Accepted,
    CommandWork,
    Discard,
    OpenWindow,
    RetryTurn,
    StopEverything,
)
from fermix.application.ports.outbox import DueParts, NotDelivered, PartEnd, SendingPart, Sent
from fermix.application.ports.turns import ClaimedTurn, EffectIntent
from fermix.domain.delivery import RetryAt, TextPart
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, UserEntry
from fermix.domain.ids import TurnId
from fermix.domain.recovery import Repeat
from fermix.domain.turn import WAITING, Outcome, TurnState
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.kit import (
    SERVED,
    StoppedClock,
    a_ledger,
    answer,
    ask_file,
    commands,
    says,
    take,
)
from tests.integration.ledger.model import LIMITS, Model, ModelPart, ModelTurn

T = TypeVar("T")

CHATS = st.sampled_from(["a", "b", "c"])
PAUSE = timedelta(seconds=5)


@dataclass
class Running:
    claimed: ClaimedTurn
    model: ModelTurn
    steps: int = 0


def text_of(entry: HistoryEntry) -> str:
    assert isinstance(entry, UserEntry | AssistantEntry | MarkerEntry)
    return entry.text


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.db"
        self.clock = StoppedClock()
        self.model = Model()
        self.running: dict[int, Running] = {}
        self.on_their_way: dict[str, tuple[SendingPart, ModelPart]] = {}
        self.number = 0
        self.always = ExitStack()
        self.portal = self.always.enter_context(start_blocking_portal())
        self.opened = ExitStack()
        self.ledger = self._open()

    def _open(self) -> SqliteLedger:
        ledger = self.opened.enter_context(
            self.portal.wrap_async_context_manager(a_ledger(self.path, clock=self.clock, limits=LIMITS))
        )
        self.wait(lambda: take(ledger))
        return ledger

    def wait(self, call: Callable[[], Coroutine[object, object, T]]) -> T:
        return self.portal.call(call)

    @override
    def teardown(self) -> None:
        self.opened.close()
        self.always.close()
        shutil.rmtree(self.folder)

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def now_sending(self, parts: Sequence[SendingPart], expected: list[str]) -> None:
        assert [part.body.text for part in parts] == expected
        for part in parts:
            (model,) = (
                candidate
                for candidate in self.model.parts
                if candidate.state == "sending"
                and candidate.chat == part.target.chat
                and candidate.text == part.body.text
            )
            assert part.repeated == model.repeated
            self.on_their_way[part.target.chat] = (part, model)

    def command(self, work: CommandWork, chat: str) -> None:
        key = self.fresh("/")
        reply = f"{key} done"
        item = commands(key, work, chat=chat, reply=lambda _: (TextPart(text=reply),))
        (accepted,) = self.wait(lambda: self.ledger.admissions.admit([item]))
        assert isinstance(accepted, Accepted)
        self.model.windows.setdefault(chat, 0)
        started = self.model.add([reply], chat, None) or self.model.start_next(chat)
        self.now_sending(accepted.parts, started)

    @rule(chat=CHATS, awaited=st.sampled_from([False, False, True]), album=st.sampled_from([None, None, "g"]))
    def somebody_writes(self, chat: str, *, awaited: bool, album: str | None) -> None:
        key = self.fresh("m")
        item = says(key, key, chat=chat, awaited=awaited, album=album)
        results = self.wait(lambda: self.ledger.admissions.admit([item, item]))
        expected = [self.model.admit(key, chat, awaited=awaited, album=album) for _ in range(2)]
        assert [type(result).__name__ for result in results] == expected

    @rule(limit=st.integers(1, 3))
    def slots_are_free(self, limit: int) -> None:
        claims = self.wait(lambda: self.ledger.turns.claim(limit=limit, channels=SERVED))
        expected = self.model.claim(limit)
        assert [turn.turn for turn in claims.turns] == [turn.turn for turn in expected]
        for claimed, model in zip(claims.turns, expected, strict=True):
            assert [said.message.text for said in claimed.messages] == model.texts
            assert (claimed.attempts, claimed.window) == (model.attempts, model.window)
            self.running[claimed.turn] = Running(claimed=claimed, model=model)

    @precondition(lambda self: self.running)
    @rule(
        data=st.data(), parts=st.integers(0, 2), outcome=st.sampled_from([Outcome.COMPLETED, Outcome.FAILED])
    )
    def a_turn_settles(self, data: st.DataObject, parts: int, outcome: Outcome) -> None:
        run = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        texts = [self.fresh("p") for _ in range(parts)]
        settlement = answer(run.claimed, *texts, outcome=outcome)
        keeps = outcome is Outcome.FAILED
        started = self.wait(lambda: self.ledger.turns.settle(replace(settlement, keep_bodies=keeps)))
        self.now_sending(started, self.model.settle(run.model, texts, outcome))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), repeat=st.sampled_from(Repeat))
    def a_turn_has_an_effect(self, data: st.DataObject, repeat: Repeat) -> None:
        run = self.running[data.draw(st.sampled_from(sorted(self.running)))]
        effect = EffectIntent(
            turn=run.claimed.turn,
            generation=run.claimed.generation,
            step=run.steps,
            name="effect",
            repeat=repeat,
            intent="{}",
        )
        self.wait(lambda: self.ledger.turns.begin_effect(effect))
        run.steps += 1
        if repeat is not Repeat.HARMLESS:  # what may be done twice is not journalled
            run.model.effects.append(repeat)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_turn_is_given_back(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(sorted(self.running)))
        run = self.running[turn]
        released = self.wait(
            lambda: self.ledger.turns.release(run.claimed.turn, generation=run.claimed.generation)
        )
        only_drafts = all(repeat is Repeat.ADOPT for repeat in run.model.effects)
        assert released == (not run.model.awaited and only_drafts)
        if released:
            run.model.state = TurnState.QUEUED
            run.model.attempts -= 1
            del self.running[turn]

    @precondition(lambda self: self.model.in_state(TurnState.STARTED, *WAITING))
    @rule(data=st.data())
    def an_asker_leaves(self, data: st.DataObject) -> None:
        candidates = [turn.turn for turn in self.model.in_state(TurnState.STARTED, *WAITING)]
        turn = data.draw(st.sampled_from(candidates))
        assert self.wait(lambda: self.ledger.turns.cancel(TurnId(turn)))
        self.model.cancel(self.model.turns[turn - 1])
        self.running.pop(turn, None)

    @rule(chat=CHATS)
    def the_owner_stops_everything(self, chat: str) -> None:
        self.model.stop()
        self.command(StopEverything(), chat)
        self.running.clear()

    @rule(chat=CHATS)
    def a_new_window_is_opened(self, chat: str) -> None:
        self.model.new_window(chat)
        self.command(OpenWindow(), chat)

    @rule(chat=CHATS)
    def the_oldest_unknown_is_discarded(self, chat: str) -> None:
        unknown = self.model.in_state(TurnState.UNKNOWN)
        if unknown:
            self.model.discard(unknown[0])
        self.command(Discard(), chat)

    @precondition(lambda self: self.model.turns)
    @rule(data=st.data(), chat=CHATS)
    def the_owner_retries_a_turn(self, data: st.DataObject, chat: str) -> None:
        turn = data.draw(st.sampled_from(self.model.turns))
        if turn.state is TurnState.UNKNOWN or (turn.outcome is Outcome.FAILED and turn.keeps_text):
            self.model.retry(turn)
        self.command(RetryTurn(turn=TurnId(turn.turn)), chat)

    @precondition(lambda self: self.on_their_way)
    @rule(data=st.data(), how=st.sampled_from(["sent", "sent", "failed", "retry", "perhaps"]))
    def a_send_ends(self, data: st.DataObject, how: str) -> None:
        chat = data.draw(st.sampled_from(sorted(self.on_their_way)))
        part, model = self.on_their_way.pop(chat)
        ends: dict[str, PartEnd] = {
            "sent": Sent(),
            "failed": NotDelivered(error="refused"),
            "retry": RetryAt(when=self.clock.now() + PAUSE, counts=False),
            "perhaps": RetryAt(when=self.clock.now() + PAUSE, counts=True),
        }
        following = self.wait(lambda: self.ledger.outbox.done(part.part, ends[how]))
        if model.state == "withdrawn":
            expected = self.model.start_next(chat)
        elif how in {"sent", "failed"}:
            model.state = how
            expected = self.model.start_next(chat)
        else:
            model.state, model.waits = "pending", True
            model.repeated = model.repeated or how == "perhaps"
            expected = []
        self.now_sending([] if following is None else [following], expected)

    @rule()
    def the_outbox_is_looked_through(self) -> None:
        due: DueParts = self.wait(lambda: self.ledger.outbox.due(channels=SERVED, limit=9))
        self.now_sending(due.parts, self.model.due())

    @rule()
    def time_goes_by(self) -> None:
        self.clock.advance(PAUSE)
        self.model.retries_are_due()
        self.wait(lambda: self.ledger.turns.claim(limit=0, channels=SERVED))
        self.model.albums_are_due()

    @rule()
    def the_process_dies(self) -> None:
        self.opened.close()
        self.ledger = self._open()
        self.running.clear()
        self.on_their_way.clear()
        recovered = self.wait(lambda: self.ledger.ownership.recover(channels=SERVED))
        self.now_sending(recovered.parts, self.model.restart())
        again = self.wait(lambda: self.ledger.ownership.recover(channels=SERVED))
        assert (again.parts, again.replayed, again.unknown, again.repeated) == ((), (), (), 0)

    @invariant()
    def both_count_the_same(self) -> None:
        counts = self.wait(self.ledger.queue.counts)
        assert counts.waiting == self.model.waiting()
        assert counts.running == len(self.model.in_state(TurnState.STARTED))
        assert counts.paused == len(self.model.paused())
        assert counts.lanes == self.model.busy_lanes()
        assert counts.open_parts == len(self.model.open_parts())

    @invariant()
    def both_remember_the_same(self) -> None:
        for (chat, window), lines in self.model.history.items():
            assert self.wait(partial(self._remembered, chat, window)) == lines

    async def _remembered(self, chat: str, window: int) -> list[str]:
        lane = await self.ledger.conversations.lane_of(says("x", chat=chat).route)
        assert lane is not None
        return [text_of(entry) for entry in await self.ledger.conversations.history(lane, window=window)]

    @invariant()
    def every_turn_ended_as_the_model_says(self) -> None:
        stored = ask_file(self.path, "SELECT state, outcome FROM turns ORDER BY turn")
        assert stored == [(turn.state, turn.outcome) for turn in self.model.turns]


def test_random_histories_end_as_the_dull_model_says() -> None:
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
