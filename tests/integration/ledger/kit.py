"""What the ledger's tests share: a clock that stands still, readable ids, and short ways to say what arrives."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
from anyio.lowlevel import current_token

from fermix.application.ports.admissions import Accepted, Album, Command, CommandEffect, CommandWork, Input
from fermix.application.ports.ownership import Takeover
from fermix.application.ports.turns import ClaimedTurn, Settlement
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.delivery import Part, TextPart
from fermix.domain.history import AssistantEntry, UserEntry
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, UserId
from fermix.domain.lane import QueueLimits
from fermix.domain.message import Chat, InboundMessage, Sender
from fermix.domain.route import route_of, target_of
from fermix.domain.turn import Outcome
from fermix.infrastructure.persistence.sqlite.connection import open_both
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger, open_ledger
from fermix.infrastructure.persistence.sqlite.ownership import SqliteOwnership
from fermix.infrastructure.persistence.sqlite.transaction import Row, Value
from fermix.infrastructure.persistence.sqlite.writer import Writer

TELEGRAM = ChannelName("telegram")
CLI = ChannelName("cli")
SERVED = frozenset({TELEGRAM})
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class StoppedClock:
    instant: datetime = START

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return (self.instant - START).total_seconds()

    async def sleep_until(self, instant: datetime) -> None:
        self.instant = max(self.instant, instant)

    def advance(self, by: timedelta) -> None:
        self.instant += by


@dataclass
class NumberedIds:
    last: int = 0

    def new(self) -> str:
        self.last += 1
        return f"id-{self.last}"


def nothing() -> None:
    """A hook nobody listens to."""


@asynccontextmanager
async def a_ledger(
    path: Path,
    *,
    clock: StoppedClock | None = None,
    limits: QueueLimits | None = None,
    on_broken: Callable[[], None] = nothing,
) -> AsyncGenerator[SqliteLedger]:
    async with open_ledger(
        path,
        clock=clock or StoppedClock(),
        ids=NumberedIds(),
        limits=limits or QueueLimits(),
        on_broken=on_broken,
    ) as ledger:
        yield ledger


@asynccontextmanager
async def a_writer(
    path: Path, *, busy_timeout_ms: int = 5000
) -> AsyncGenerator[tuple[Writer, apsw.Connection]]:
    """The writing thread alone, its home taken, and the connection it uses."""
    writing, reading = open_both(path)
    reading.close()
    writing.set_busy_timeout(busy_timeout_ms)
    writer = Writer(
        writing, token=current_token(), clock=StoppedClock(), ids=NumberedIds(), on_broken=nothing
    )
    writer.start()
    try:
        await SqliteOwnership(writer=writer).take(instance="here", boot="boot-1")
        yield writer, writing
    finally:
        await writer.aclose()


@asynccontextmanager
async def an_owned_ledger(
    path: Path, *, clock: StoppedClock | None = None, limits: QueueLimits | None = None
) -> AsyncGenerator[SqliteLedger]:
    async with a_ledger(path, clock=clock, limits=limits) as ledger:
        await take(ledger)
        yield ledger


async def take(ledger: SqliteLedger, *, boot: str = "boot-1") -> Takeover:
    return await ledger.ownership.take(instance="here", boot=boot)


def message(
    key: str,
    text: str = "hello",
    *,
    chat: str = "7",
    channel: ChannelName = TELEGRAM,
    sender: str | None = "42",
    edited_at: datetime | None = None,
) -> InboundMessage:
    return InboundMessage(
        key=key,
        id=PlatformMessageId(key),
        channel=channel,
        account=AccountId("bot"),
        sender=Sender(name="Ann", id=None if sender is None else UserId(sender)),
        chat=Chat(id=ChatId(chat)),
        reply_target=ChatId(chat),
        text=text,
        raw_text=text,
        edited_at=edited_at,
    )


def says(
    key: str,
    text: str = "hello",
    *,
    chat: str = "7",
    channel: ChannelName = TELEGRAM,
    sender: str | None = "42",
    trust: Trust = Trust.OPERATOR,
    awaited: bool = False,
    album: str | None = None,
) -> Input:
    written = message(key, text, chat=chat, channel=channel, sender=sender)
    return Input(
        message=written,
        route=route_of(written),
        target=target_of(written),
        trust=trust,
        scope=Scope(trust=trust),
        awaited=awaited,
        album=None if album is None else Album(key=album, debounce=timedelta(seconds=3)),
    )


def echo_effect(effect: CommandEffect) -> Sequence[Part]:
    return (TextPart(text=type(effect).__name__),)


def commands(
    key: str,
    work: CommandWork,
    *,
    chat: str = "7",
    text: str = "/command",
    channel: ChannelName = TELEGRAM,
    reply: Callable[[CommandEffect], Sequence[Part]] = echo_effect,
) -> Command:
    written = message(key, text, chat=chat, channel=channel)
    return Command(
        message=written,
        route=route_of(written),
        target=target_of(written),
        trust=Trust.OPERATOR,
        work=work,
        reply=reply,
    )


async def admit_one(ledger: SqliteLedger, item: Input | Command) -> Accepted:
    (result,) = await ledger.admissions.admit([item])
    assert isinstance(result, Accepted)
    return result


async def claim_one(ledger: SqliteLedger, channels: frozenset[ChannelName] = SERVED) -> ClaimedTurn:
    (claimed,) = (await ledger.turns.claim(limit=1, channels=channels)).turns
    return claimed


def answer(claimed: ClaimedTurn, *texts: str, outcome: Outcome = Outcome.COMPLETED) -> Settlement:
    return Settlement(
        turn=claimed.turn,
        generation=claimed.generation,
        outcome=outcome,
        target=claimed.messages[-1].target,
        entries=(
            *(UserEntry(text=said.message.text) for said in claimed.messages),
            *(AssistantEntry(text=text) for text in texts),
        ),
        parts=tuple(TextPart(text=text) for text in texts),
    )


def failure(claimed: ClaimedTurn) -> Settlement:
    return replace(answer(claimed, "sorry", outcome=Outcome.FAILED), keep_bodies=True)


def ask_file(path: Path, sql: str, *values: Value) -> list[Row]:
    """Look into the file past the ledger, as another process would."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def overwrite(path: Path, content: bytes, *, at: int, every: int | None = None) -> None:
    """Damage a file: write `content` at an offset, and again every so many bytes to its end."""
    whole = bytearray(path.read_bytes())
    starts = [at] if every is None else range(at, len(whole), every)
    for start in starts:
        whole[start : start + len(content)] = content
    path.write_bytes(whole)
