"""A process that uses the ledger as a gateway does, one small step at a time, in an order chance picks."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias, TypeVar

from fermix.application.ports.admissions import (
    Accepted,
    Admission,
    AdmitResult,
    Command,
    CursorMove,
    Resolved,
    Stopped,
    WindowOpened,
)
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.media_queue import MediaPlace
from fermix.application.ports.outbox import NotDelivered, PartEnd, SendingPart, Sent
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.delivery import GiveUp, RetryAt, after_maybe_sent, after_not_sent
from fermix.domain.ids import AccountId, ChatId, PlatformMessageId, TurnId
from fermix.domain.route import ChatMove
from fermix.testing.clock import StoppedClock
from fermix.testing.history.admitting import admission_of
from fermix.testing.history.events import Ask, Claimed, GivenUp, Left, Moved, Retried, Said
from fermix.testing.history.preparing import PreparationScript
from fermix.testing.history.turns import TurnScript
from fermix.testing.history.world import OWNERS_CHAT, SENDERS, Planned, World, chat_at
from fermix.testing.ledger_harness import OpenLedger
from fermix.testing.samples import REMOTE

T = TypeVar("T")

Step: TypeAlias = Callable[[], Awaitable[None]]

SERVED = frozenset({REMOTE})
ACCOUNT = AccountId("bot")
_MOST_RUNNING = 4
_MOST_PREPARING = 4
_LIVELY_STEPS = 160
_STEPS_TO_REST = 2000


class ProcessDied(Exception):
    """The process is no more; nothing it knew is left."""


@dataclass(slots=True, kw_only=True)
class _Memory:
    """What the process knows and loses when it dies."""

    running: dict[TurnId, TurnScript] = field(default_factory=dict)
    preparing: dict[MediaPlace, PreparationScript] = field(default_factory=dict)
    hand: list[SendingPart] = field(default_factory=list)
    ended: list[tuple[SendingPart, PartEnd]] = field(default_factory=list)
    tries: dict[int, int] = field(default_factory=dict)
    look_for_heads: bool = True
    look_for_media: bool = True
    album_at: datetime | None = None
    outbox_at: datetime | None = None


class SimulatedGateway:
    """One process of a history, from taking the home to its death or to the end of everything.

    It keeps to what the ports ask of a gateway: a list is admitted before it is acknowledged, an intent is
    journalled before the call, a part is sent only when it was handed out and its end is reported, and the
    outbox is asked again only when a part is due.
    """

    def __init__(self, *, ledger: OpenLedger, clock: StoppedClock, world: World) -> None:
        self._ledger = ledger
        self._clock = clock
        self._world = world
        self._chance = world.chance
        self._calm = False
        self._now = _Memory()

    async def start(self, *, instance: str, boot: str) -> None:
        """Take the home and put right what the last process left."""
        await self.do(lambda: self._ledger.ownership.take(instance=instance, boot=boot))
        recovered = await self.do(lambda: self._ledger.ownership.recover(channels=SERVED))
        self._now.hand.extend(recovered.parts)
        self._now.outbox_at = self._clock.now()

    async def live(self) -> None:
        """Work while people write and processes die.

        Raises:
            ProcessDied: at any moment, while the world has deaths left.
        """
        for _ in range(_LIVELY_STEPS):
            steps = self._steps()
            if self._world.planned:
                steps += [self._person_writes] * 2
            if self._chance.random() < 0.01:
                steps.append(self._owner_resolves)
            steps.append(self._time_passes)
            await self._chance.choice(steps)()
            if not self._world.planned and len(steps) == 1:
                return

    async def come_to_rest(self) -> bool:
        """Work on without deaths and mishaps; whether everything that was begun came to an end."""
        self._calm = True
        while self._world.planned:
            await self._person_writes()
        for _ in range(_STEPS_TO_REST):
            if steps := self._steps():
                await self._chance.choice(steps)()
                continue
            counts = await self._ledger.queue.counts()
            wakes = [each for each in (self._now.album_at, self._now.outbox_at) if each is not None]
            if counts.paused:
                await self._owner_resolves()
            elif not (counts.waiting or counts.running or counts.open_parts):
                return True
            elif not wakes:
                return False
            else:
                self._pass_time(max(min(wakes) - self._clock.now(), timedelta(0)))
        return False

    def die_perhaps(self, *, peril: int = 1) -> None:
        """One of the moments between two doings; `peril` says how many times as likely death is at this one."""
        world = self._world
        if self._calm or world.deaths_left == 0 or self._chance.random() >= world.mortality * peril:
            return
        world.deaths_left -= 1
        raise ProcessDied

    async def do(self, call: Callable[[], Awaitable[T]]) -> T:
        """One call of the ledger: the process may die before it, and after it without knowing its result."""
        self.die_perhaps()
        result = await call()
        self.die_perhaps()
        return result

    def _steps(self) -> list[Step]:
        now = self._now
        steps: list[Step] = [partial(self._go_on, script) for script in now.running.values()]
        steps += [partial(self._prepare, place) for place in now.preparing]
        steps += [partial(self._send, part) for part in now.hand]
        steps += [partial(self._report, part, end) for part, end in now.ended]
        if self._world.platform.has_news:
            steps += [self._poll] * 2
        if now.look_for_heads and len(now.running) < _MOST_RUNNING:
            steps += [self._claim] * 2
        if now.look_for_media and len(now.preparing) < _MOST_PREPARING:
            steps += [self._look_for_media] * 2
        if now.outbox_at is not None and now.outbox_at <= self._clock.now():
            steps.append(self._look_for_parts)
        return steps

    async def _person_writes(self) -> None:
        self._world.platform.write(self._world.planned.pop(0))

    async def _owner_resolves(self) -> None:
        """The owner clears the oldest paused lane; without one the command finds nothing to do."""
        ask = self._chance.choice((Ask.DISCARD, Ask.RETRY))
        self._world.platform.write(Planned(chat=OWNERS_CHAT, sender=SENDERS[OWNERS_CHAT][0], ask=ask))

    async def _time_passes(self) -> None:
        self._pass_time(timedelta(seconds=self._chance.choice((0, 1, 1, 2, 4))))

    def _pass_time(self, by: timedelta) -> None:
        self._clock.advance(by)
        if self._now.album_at is not None and self._now.album_at <= self._clock.now():
            self._now.look_for_heads = True

    async def _poll(self) -> None:
        offered = self._world.platform.offered(self._chance)
        if offered[0].moved_to is not None:
            await self._hear_of_move(offered[0], offered[0].moved_to)
            return
        if any(said.ask is Ask.RETRY for said in offered):
            self._world.events.append(Retried())
        batch: list[Admission] = [admission_of(said) for said in offered]
        cursor = CursorMove(origin="telegram:bot", scope="updates", value=str(offered[-1].index))
        results = await self.do(lambda: self._ledger.admissions.admit(batch, cursor=cursor))
        for result in results:
            self._follow(result)
        self.die_perhaps()
        if self._calm or self._chance.random() < 0.9:
            self._world.platform.acknowledge(offered[-1])

    async def _hear_of_move(self, said: Said, new: ChatId) -> None:
        self._world.events.append(Moved(chat=said.chat))
        move = ChatMove(channel=REMOTE, account=ACCOUNT, old=said.address, new=new)
        await self.do(lambda: self._ledger.admissions.move_chat(move))
        self._now.outbox_at = self._clock.now()
        self._world.platform.acknowledge(said)

    def _follow(self, result: AdmitResult) -> None:
        if not isinstance(result, Accepted):
            return
        self._now.look_for_heads = self._now.look_for_media = True
        match result.effect:
            case Stopped(report=report):
                self._keep_back(lambda part: part.turn is not None)
                for turn in report.running:
                    self._stop(turn)
                for turn in report.waiting:
                    self._prepare_no_more(turn)
            case Resolved(turn=withdrawn) | WindowOpened(discarded=withdrawn) if withdrawn is not None:
                self._keep_back(lambda part: part.turn == withdrawn)
            case _:
                pass
        self._now.hand.extend(result.parts)

    def _keep_back(self, withdrawn: Callable[[SendingPart], bool]) -> None:
        """Do not begin to send what was withdrawn, and say so."""
        kept = [part for part in self._now.hand if withdrawn(part)]
        self._now.hand = [part for part in self._now.hand if not withdrawn(part)]
        self._now.ended += [(part, NotDelivered(error="withdrawn")) for part in kept]

    def _stop(self, turn: TurnId) -> None:
        """Its task is cancelled, or (once in a while) too late to keep it from its next step."""
        script = self._now.running.get(turn)
        if script is None:
            return
        self._world.events.append(Left(turn=turn, generation=script.claim.generation))
        script.stopped = True
        if self._chance.random() < 0.7:
            del self._now.running[turn]

    def _prepare_no_more(self, turn: TurnId) -> None:
        """Work for it is cancelled, or (once in a while) too late to keep it from its next step."""
        mine = [place for place, script in self._now.preparing.items() if script.turn == turn]
        for place in mine:
            if self._chance.random() < 0.7:
                del self._now.preparing[place]

    async def _look_for_media(self) -> None:
        preparing = self._now.preparing
        limit = self._chance.randint(1, _MOST_PREPARING)
        waiting = await self.do(lambda: self._ledger.media.waiting(channels=SERVED, limit=limit))
        self._now.look_for_media = len(waiting) == limit and len(preparing) < limit
        for media in waiting:
            if media.place not in preparing:
                preparing[media.place] = PreparationScript(
                    media=media,
                    queue=self._ledger.media,
                    world=self._world,
                    process=self,
                    says=self._hear_command,
                )

    async def _prepare(self, place: MediaPlace) -> None:
        script = self._now.preparing[place]
        await script.go_on()
        if script.over:
            self._now.preparing.pop(place, None)
            self._now.look_for_heads = self._now.look_for_media = True

    async def _hear_command(self, command: Command) -> None:
        (result,) = await self.do(lambda: self._ledger.admissions.admit([command]))
        self._follow(result)

    async def _claim(self) -> None:
        limit = self._chance.randint(1, _MOST_RUNNING - len(self._now.running))
        claims = await self.do(lambda: self._ledger.turns.claim(limit=limit, channels=SERVED))
        self._now.look_for_heads = len(claims.turns) == limit
        self._now.album_at = claims.next_due
        for claim in claims.turns:
            self._world.events.append(_claimed(claim))
            script = TurnScript(claim=claim, turns=self._ledger.turns, world=self._world, process=self)
            self._now.running[claim.turn] = script

    async def _go_on(self, script: TurnScript) -> None:
        turn = script.claim.turn
        try:
            self._now.hand.extend(await script.go_on())
        except StaleTurn:
            if not script.stopped:
                raise
            del self._now.running[turn]
            return
        if script.over:
            del self._now.running[turn]
            self._world.events.append(Left(turn=turn, generation=script.claim.generation))
            self._now.look_for_heads = True

    async def _look_for_parts(self) -> None:
        due = await self.do(
            lambda: self._ledger.outbox.due(channels=SERVED, limit=self._chance.randint(1, 8))
        )
        self._now.hand.extend(due.parts)
        self._now.outbox_at = due.next_due

    async def _send(self, part: SendingPart) -> None:
        """The platform takes it, or not, and tells, or not."""
        self._now.hand.remove(part)
        self.die_perhaps()
        luck = 0.0 if self._calm else self._chance.random()
        if luck < 0.88:
            self._world.platform.show(part)
        self.die_perhaps(peril=2)
        self._now.ended.append((part, self._end(part, luck)))

    def _end(self, part: SendingPart, luck: float) -> PartEnd:
        now = self._clock.now()
        if luck < 0.8:
            address = self._world.platform.address_of(part)
            moved_to = None if address == part.target.chat else address
            return Sent(platform_id=PlatformMessageId(f"p{part.part}"), moved_to=moved_to)
        if luck < 0.93:
            retry = after_maybe_sent(now=now, attempts=part.attempts + 1)
        else:
            tries = self._now.tries[part.part] = self._now.tries.get(part.part, 0) + 1
            retry = after_not_sent(now=now, created_at=part.created_at, tries=tries, wait=None)
        if isinstance(retry, GiveUp):
            self._world.events.append(GivenUp(part=part.part, turn=part.turn, text=part.body.text))
            return NotDelivered(error="nobody answered")
        return retry

    async def _report(self, part: SendingPart, end: PartEnd) -> None:
        self._now.ended.remove((part, end))
        if isinstance(end, Sent) and end.moved_to is not None:
            self._world.events.append(Moved(chat=chat_at(end.moved_to)))
        following = await self.do(lambda: self._ledger.outbox.done(part.part, end))
        if following is not None:
            self._now.hand.append(following)
        if isinstance(end, RetryAt):
            at = self._now.outbox_at
            self._now.outbox_at = end.when if at is None else min(at, end.when)


def _claimed(claim: ClaimedTurn) -> Claimed:
    return Claimed(
        turn=claim.turn,
        generation=claim.generation,
        chat=chat_at(claim.messages[0].message.chat.id),
        keys=tuple(each.message.key for each in claim.messages),
        drafts=claim.drafts,
        media=tuple(tuple(one.result for one in each.media) for each in claim.messages),
    )
