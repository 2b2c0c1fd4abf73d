"""What a turn of a history does: effects of every sort, then its end, each a step of its own."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.turns import ClaimedTurn, EffectIntent, Settlement, Turns
from fermix.domain.delivery import TextPart
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome
from fermix.testing.history.events import Acted, Drafted, Label
from fermix.testing.history.world import World

T = TypeVar("T")

_Step: TypeAlias = Callable[[], Awaitable[Sequence[SendingPart]]]


class Mortal(Protocol):
    """A process that may die between any two doings."""

    async def do(self, call: Callable[[], Awaitable[T]]) -> T:
        """One call of the ledger."""
        ...

    def die_perhaps(self, *, peril: int = 1) -> None:
        """A moment between two doings, `peril` times as dangerous as any."""
        ...


class TurnScript:
    """A claimed turn on its way. `stopped` says that the ledger refuses whatever it does next."""

    def __init__(self, *, claim: ClaimedTurn, turns: Turns, world: World, process: Mortal) -> None:
        self.claim = claim
        self.stopped = False
        self._turns = turns
        self._world = world
        self._process = process
        self._steps: deque[_Step] = deque(self._planned())

    @property
    def over(self) -> bool:
        """Whether it is settled or given back."""
        return not self._steps

    async def go_on(self) -> Sequence[SendingPart]:
        """Take the next step; returns parts that must be sent now.

        Raises:
            StaleTurn: the turn was stopped.
        """
        return await self._steps.popleft()()

    def _planned(self) -> list[_Step]:
        chance = self._world.chance
        steps: list[_Step] = []
        for number in range(chance.choice((0, 0, 1, 1, 2))):
            kind = chance.random()
            if kind < 0.35:
                steps += [partial(self._begin, number, Repeat.UNSAFE), self._act, partial(self._end, number)]
            elif kind < 0.5:
                steps.append(partial(self._show, number, Repeat.UNSAFE))
            elif kind < 0.65:
                steps.append(partial(self._show, number, Repeat.TEXT))
            else:
                steps += [partial(self._begin, number, Repeat.ADOPT), partial(self._open_draft, number)]
        ending = chance.random()
        if ending < 0.05:
            steps.append(self._give_back)
        elif ending < 0.08:
            steps.append(partial(self._settle, Outcome.REJECTED))
        elif ending < 0.15:
            steps.append(partial(self._settle, Outcome.FAILED))
        else:
            steps.append(partial(self._settle, Outcome.COMPLETED))
        return steps

    def _label(self, kind: str, number: int = 0, of: int = 1) -> str:
        claim = self.claim
        return Label(kind=kind, turn=claim.turn, generation=claim.generation, number=number, of=of).text

    def _intent(self, step: int, repeat: Repeat) -> EffectIntent:
        return EffectIntent(
            turn=self.claim.turn,
            generation=self.claim.generation,
            step=step,
            name=f"{repeat}-call",
            repeat=repeat,
            intent="{}",
        )

    async def _begin(self, step: int, repeat: Repeat) -> Sequence[SendingPart]:
        await self._process.do(lambda: self._turns.begin_effect(self._intent(step, repeat)))
        return ()

    async def _act(self) -> Sequence[SendingPart]:
        """Whoever was stopped since the intent was journalled may still be in the middle of the call."""
        self._process.die_perhaps()
        claim = self.claim
        acted = Acted(turn=claim.turn, generation=claim.generation, repeat=Repeat.UNSAFE)
        self._world.events.append(acted)
        self._process.die_perhaps(peril=5)
        return ()

    async def _end(self, step: int, outcome: str = "done") -> Sequence[SendingPart]:
        claim = self.claim
        await self._process.do(
            lambda: self._turns.end_effect(
                claim.turn, generation=claim.generation, step=step, outcome=outcome
            )
        )
        return ()

    async def _open_draft(self, step: int) -> Sequence[SendingPart]:
        draft = self._label("draft", step)
        await self._end(step, draft)
        self._world.events.append(Drafted(turn=self.claim.turn, draft=draft))
        return ()

    async def _show(self, step: int, repeat: Repeat) -> Sequence[SendingPart]:
        effect = replace(
            self._intent(step, repeat),
            part=TextPart(text=self._label("block", step)),
            target=self.claim.messages[-1].target,
        )
        part = await self._process.do(lambda: self._turns.begin_effect(effect))
        return () if part is None else (part,)

    async def _give_back(self) -> Sequence[SendingPart]:
        """As in a drain; what cannot go back is settled."""
        claim = self.claim
        went = await self._process.do(lambda: self._turns.release(claim.turn, generation=claim.generation))
        return () if went else await self._settle(Outcome.COMPLETED)

    async def _settle(self, outcome: Outcome) -> Sequence[SendingPart]:
        claim = self.claim
        texts: list[str] = []
        entries: tuple[HistoryEntry, ...] = ()
        if outcome is Outcome.COMPLETED:
            parts = self._world.chance.randint(1, 3)
            texts = [self._label("answer", number, parts) for number in range(parts)]
            asked = (UserEntry(text=each.message.text) for each in claim.messages)
            entries = (*asked, AssistantEntry(text=self._label("answer")))
        elif outcome is Outcome.FAILED:
            texts = [self._label("apology")]
        settlement = Settlement(
            turn=claim.turn,
            generation=claim.generation,
            outcome=outcome,
            target=claim.messages[-1].target,
            entries=entries,
            parts=tuple(TextPart(text=text) for text in texts),
            keep_bodies=outcome is Outcome.FAILED,
        )
        return await self._process.do(lambda: self._turns.settle(settlement))
