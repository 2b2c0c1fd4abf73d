"""Whatever is asked of them, in whatever order, the SQLite ledger and the dullest model answer alike.

Histories use a ledger as a gateway does; here anything goes: stale claims, wrong steps, unknown turns, sweeps.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TypeAlias

import anyio
import pytest

from fermix.application.ports.admissions import (
    Accepted,
    Admission,
    Command,
    CommandWork,
    CursorMove,
    Discard,
    DoOutside,
    OpenWindow,
    RetryTurn,
    Say,
    StopEverything,
)
from fermix.application.ports.ledger_errors import LedgerError, OwnerLost, StaleTurn
from fermix.application.ports.media_queue import MediaPlace
from fermix.application.ports.outbox import DueParts, NotDelivered, PartEnd, SendingPart, Sent
from fermix.application.ports.ownership import PausedTurn, Recovered, Retention
from fermix.application.ports.turns import ClaimedTurn, Claims, EffectIntent, PreparedMedia, Settlement
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.capability import OnlyNames
from fermix.domain.delivery import RetryAt, TextPart
from fermix.domain.history import AssistantEntry
from fermix.domain.ids import (
    AccountId,
    ChannelName,
    ChatId,
    LaneId,
    MessageRow,
    PartId,
    PlatformMessageId,
    TurnId,
)
from fermix.domain.incoming_media import FileKept, MediaFailed, MediaProblem, PictureReady, Transcribed
from fermix.domain.lane import QueueLimits
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import Picture
from fermix.domain.recovery import Repeat
from fermix.domain.route import ChatMove
from fermix.domain.sub_work import SubWork
from fermix.domain.turn import Outcome
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import LOCAL, REMOTE, asking, commanding, overheard, written
from tests.contract.ledger.homes import HOMES
from tests.needs import OUTSIDE

pytestmark = pytest.mark.anyio

LIVES = 25
CALLS = 120
LIMITS = QueueLimits(per_conversation=6, total=14)
SECOND = timedelta(seconds=1)
PICTURE = Picture(
    content=BlobRef(digest="cd" * 32, size_bytes=9), mime_type="image/png", width=640, height=480
)

Call: TypeAlias = Callable[[OpenLedger], Awaitable[object]]


@dataclass(kw_only=True)
class Known:
    """What answers have taught, to ask about again."""

    chance: Random
    keys: int = 0
    rows: list[MessageRow] = field(default_factory=list)
    claims: list[ClaimedTurn] = field(default_factory=list)
    running: list[ClaimedTurn] = field(default_factory=list)
    parts: list[SendingPart] = field(default_factory=list)
    paused: list[PausedTurn] = field(default_factory=list)

    def learn(self, answer: object) -> None:
        match answer:
            case Claims(turns=turns):
                self.claims += turns
                self.running += turns
            case DueParts(parts=parts) | Recovered(parts=parts):
                self.parts += parts
            case SendingPart():
                self.parts.append(answer)
            case Accepted(row=row, parts=parts):
                self.rows.append(row)
                self.parts += parts
            case PausedTurn():
                self.paused.append(answer)
            case tuple():
                for each in answer:
                    self.learn(each)
            case _:
                pass

    def turn(self) -> TurnId:
        """Mostly one that was claimed before."""
        if self.claims and self.chance.random() < 0.8:
            return self.chance.choice(self.claims[-6:]).turn
        return TurnId(self.chance.randint(1, 9 + len(self.claims)))

    def claim(self, *, last: bool = False) -> ClaimedTurn:
        """Mostly one that runs, for the last time if so it is said."""
        if not self.running or self.chance.random() < 0.1:
            return self.chance.choice(self.claims)
        claim = self.chance.choice(self.running)
        if last:
            self.running.remove(claim)
        return claim

    def channels(self) -> frozenset[ChannelName]:
        return self.chance.choice(
            (frozenset({REMOTE, LOCAL}),) * 4 + (frozenset({REMOTE}), frozenset({LOCAL}))
        )


def an_item(known: Known) -> Admission:
    chance = known.chance
    trust = chance.choice((Trust.OPERATOR, Trust.OPERATOR, Trust.GUEST))
    known.keys += chance.random() < 0.85
    message = written(
        f"k{chance.choice((known.keys, known.keys, chance.randint(0, known.keys)))}",
        chance.choice(("hello", "hello", "other words", "/word now")),
        chat=chance.choice("789"),
        channel=chance.choice((REMOTE, REMOTE, LOCAL)),
        sender=chance.choice(("42", "43")),
    )
    works: tuple[CommandWork, ...] = (
        Say(),
        OpenWindow(),
        StopEverything(),
        DoOutside(),
        Discard(turn=chance.choice((None, known.turn()))),
        RetryTurn(),
        RetryTurn(turn=known.turn()),
    )
    kind = chance.random()
    if kind < 0.2:
        command: Command = commanding(message, chance.choice(works))
        return replace(
            command,
            reply=lambda effect: [TextPart(text=repr(effect))] * len_of(effect),
            instead_of=known.turn() if chance.random() < 0.2 else None,
        )
    if kind < 0.25:
        return overheard(message)
    return asking(
        message,
        trust=trust,
        awaited=chance.random() < 0.15,
        album=chance.choice((None, None, "a", "b")),
        media=chance.choice((0, 0, 0, 0, 1, 2)),
    )


def len_of(effect: object) -> int:
    """How many parts a reply has: told by what it reports, as the reply may be asked for twice."""
    return len(repr(effect)) % 3


def admitting(known: Known) -> Call:
    batch = [an_item(known) for _ in range(known.chance.randint(0, 3))]
    cursor = CursorMove(origin="o", scope="s", value=str(known.keys)) if known.chance.random() < 0.5 else None
    return lambda ledger: ledger.admissions.admit(batch, cursor=cursor)


def amending(known: Known, harness: LedgerHarness) -> Call:
    stamp = harness.clock.now() - known.chance.randint(0, 3) * SECOND
    edited = written("edit", known.chance.choice(("one", "two")), edited_at=stamp)
    key = f"k{known.chance.randint(0, known.keys)}"
    return lambda ledger: ledger.admissions.amend(edited, key=key)


def moving(known: Known) -> Call:
    old, new = known.chance.choice("789"), known.chance.choice("789")
    move = ChatMove(
        channel=known.chance.choice((REMOTE, REMOTE, LOCAL)),
        account=AccountId("bot"),
        old=ChatId(old),
        new=ChatId(new if known.chance.random() < 0.5 else f"{new}{new}"),
    )
    return lambda ledger: ledger.admissions.move_chat(move)


def finishing(known: Known) -> Call:
    row = MessageRow(known.chance.randint(1, len(known.rows) + 1))
    return lambda ledger: ledger.admissions.finish_command(row, [TextPart(text="done")])


def claiming(known: Known) -> Call:
    limit, channels = known.chance.randint(0, 3), known.channels()
    return lambda ledger: ledger.turns.claim(limit=limit, channels=channels)


def preparing(known: Known) -> Call:
    row = MessageRow(known.chance.randint(1, len(known.rows) + 1))
    position = known.chance.randint(0, 1)
    result = known.chance.choice(
        (
            FileKept(content=BlobRef(digest="ab" * 32, size_bytes=7), mime_type="application/pdf"),
            PictureReady(picture=PICTURE),
            Transcribed(text="words", foreign_language="de"),
            MediaFailed(
                problem=MediaProblem.AUDIO_TOO_LARGE,
                kind=AttachmentKind.AUDIO,
                size_bytes=9,
                limit_bytes=8,
            ),
        )
    )
    return lambda ledger: ledger.media.prepared(row, PreparedMedia(position=position, result=result))


def fetching(known: Known) -> Call:
    row = MessageRow(known.chance.randint(1, len(known.rows) + 1))
    place = MediaPlace(row=row, position=known.chance.randint(0, 1))
    begins, content = known.chance.random() < 0.5, BlobRef(digest="ef" * 32, size_bytes=3)
    return lambda ledger: ledger.media.begin(place) if begins else ledger.media.fetched(place, content)


def listing_media(known: Known) -> Call:
    limit, channels = known.chance.randint(0, 4), known.channels()
    return lambda ledger: ledger.media.waiting(channels=channels, limit=limit)


def beginning(known: Known) -> Call:
    claim, chance = known.claim(), known.chance
    shows = chance.random() < 0.4
    effect = EffectIntent(
        turn=claim.turn,
        generation=claim.generation,
        step=chance.randint(0, 2),
        name="call",
        repeat=chance.choice(list(Repeat)),
        intent="{}",
        part=TextPart(text="block") if shows else None,
        target=claim.messages[0].target if shows else None,
    )
    return lambda ledger: ledger.turns.begin_effect(effect)


def ending(known: Known) -> Call:
    claim, step = known.claim(), known.chance.randint(0, 2)
    return lambda ledger: ledger.turns.end_effect(
        claim.turn, generation=claim.generation, step=step, outcome=f"draft-{step}"
    )


def settling(known: Known) -> Call:
    claim, chance = known.claim(last=True), known.chance
    outcome = chance.choice((Outcome.COMPLETED, Outcome.COMPLETED, Outcome.FAILED, Outcome.REJECTED))
    settlement = Settlement(
        turn=claim.turn,
        generation=claim.generation,
        outcome=outcome,
        target=claim.messages[-1].target,
        entries=(AssistantEntry(text="answer"),) * chance.randint(0, 2),
        parts=(TextPart(text="answer"),) * chance.randint(0, 2),
        keep_bodies=outcome is Outcome.FAILED,
    )
    return lambda ledger: ledger.turns.settle(settlement)


def handing_on(known: Known) -> Call:
    claim, chance = known.claim(), known.chance
    work = SubWork(
        turn=claim.turn,
        generation=claim.generation,
        name=chance.choice("ab"),
        text=chance.choice(("look", "other words")),
        scope=claim.scope.narrowed(trust=chance.choice((Trust.OPERATOR, Trust.GUEST, None))),
        narrowing=(OnlyNames(names=frozenset({"read"})),) if chance.random() < 0.5 else (),
    )
    return lambda ledger: ledger.delegation.hand_on(work)


def releasing(known: Known) -> Call:
    claim = known.claim(last=True)
    return lambda ledger: ledger.turns.release(claim.turn, generation=claim.generation)


def cancelling(known: Known) -> Call:
    turn = known.turn()
    return lambda ledger: ledger.turns.cancel(turn)


def asking_for_parts(known: Known) -> Call:
    limit, channels = known.chance.randint(0, 4), known.channels()
    return lambda ledger: ledger.outbox.due(channels=channels, limit=limit)


def reporting(known: Known, harness: LedgerHarness) -> Call:
    part = PartId(known.chance.randint(1, len(known.parts) + 1))
    if known.parts and known.chance.random() < 0.8:
        part = known.chance.choice(known.parts[-5:]).part
    when = harness.clock.now() + known.chance.randint(0, 3) * SECOND
    ends: tuple[PartEnd, ...] = (
        Sent(),
        Sent(platform_id=PlatformMessageId("p")),
        Sent(moved_to=ChatId(known.chance.choice("789"))),
        NotDelivered(error="refused"),
        RetryAt(when=when, counts=True),
        RetryAt(when=when, counts=False),
    )
    end = known.chance.choice(ends)
    return lambda ledger: ledger.outbox.done(part, end)


def recovering(known: Known) -> Call:
    channels = known.channels()
    return lambda ledger: ledger.ownership.recover(channels=channels)


def discarding(known: Known) -> Call:
    paused = known.chance.choice(known.paused)
    return lambda ledger: ledger.ownership.discard(paused)


def sweeping(known: Known) -> Call:
    ages = [timedelta(seconds=known.chance.choice((60, 600, 10**6))) for _ in range(3)]
    retention = Retention(sent_parts=ages[0], bodies=ages[1], keys=ages[2])
    limit = known.chance.choice((1, 3, 500))
    return lambda ledger: ledger.ownership.sweep(retention, limit=limit)


def reading(known: Known) -> Call:
    lane, window = LaneId(known.chance.randint(1, 6)), known.chance.randint(0, 2)
    key, limit = f"k{known.chance.randint(0, known.keys)}", known.chance.choice((1, 3, 1000))
    reads: tuple[Call, ...] = (
        lambda ledger: ledger.queue.counts(),
        lambda ledger: ledger.queue.paused(),
        lambda ledger: ledger.queue.find(origin="telegram:bot", key=key),
        lambda ledger: ledger.conversations.summaries(limit=limit),
        lambda ledger: ledger.conversations.history(lane, window=window, limit=limit),
        lambda ledger: ledger.queue.listing(),
    )
    return known.chance.choice(reads)


def next_call(known: Known, harness: LedgerHarness) -> Call:
    makers: list[Callable[[], Call]] = [
        *[lambda: admitting(known)] * 5,
        lambda: amending(known, harness),
        lambda: finishing(known),
        lambda: moving(known),
        *[lambda: claiming(known)] * 4,
        *[lambda: preparing(known)] * 2,
        lambda: fetching(known),
        *[lambda: listing_media(known)] * 2,
        *[lambda: asking_for_parts(known)] * 2,
        *[lambda: reporting(known, harness)] * 3,
        *[lambda: recovering(known)] * 2,
        lambda: sweeping(known),
        *[lambda: reading(known)] * 4,
    ]
    if known.claims:
        makers += [lambda: beginning(known), lambda: ending(known)] * 2
        makers.append(lambda: handing_on(known))
        makers += [lambda: releasing(known), *[lambda: settling(known)] * 3]
    if known.paused:
        makers.append(lambda: discarding(known))
    if known.chance.random() < 0.3:
        makers.append(lambda: cancelling(known))
    return known.chance.choice(makers)()


async def answer_of(ledger: OpenLedger, call: Call) -> object:
    try:
        return await call(ledger)
    except (OwnerLost, StaleTurn) as exc:
        return type(exc)
    except (LedgerError, LookupError):
        return "refused"


def scrubbed(answer: object) -> str:
    """Nonces are made anew when a transaction runs twice."""
    return re.sub(r"nonce='[^']*'", "nonce", repr(answer))


async def one_process(
    model: LedgerHarness, adapter: LedgerHarness, known: Known, *, instance: str, calls: int
) -> None:
    """Ask both the same, until the process dies."""
    async with model.open(limits=LIMITS) as first, adapter.open(limits=LIMITS) as second:
        known.running.clear()
        takes = [await ledger.ownership.take(instance=instance, boot=instance) for ledger in (first, second)]
        assert takes[0] == takes[1]
        for _ in range(calls):
            by = timedelta(seconds=known.chance.choice((0, 0, 1, 2, 10)))
            for harness in (model, adapter):
                harness.clock.advance(by)
            call = next_call(known, model)
            expected, found = await answer_of(first, call), await answer_of(second, call)
            assert scrubbed(found) == scrubbed(expected), f"asked by {call.__qualname__}"
            known.learn(expected)
        assert await second.conversations.summaries() == await first.conversations.summaries()
        await model.kill()
        await adapter.kill()


@pytest.mark.parametrize("life", range(LIVES))
async def test_both_ledgers_answer_alike(
    life: int, anyio_backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first_seed = request.config.stash[OUTSIDE].seed or 0
    known = Known(chance=Random(f"{first_seed} {life} {anyio_backend}"))
    with (
        anyio.fail_after(60),
        HOMES["memory"](tmp_path / "memory") as model,
        HOMES["sqlite"](tmp_path / "sqlite") as adapter,
    ):
        left = CALLS
        while left > 0:
            calls = known.chance.randint(5, 60)
            await one_process(model, adapter, known, instance=f"process-{left}", calls=calls)
            left -= calls
