"""A whole gateway over the in-memory ledger, with a scripted model and a channel whose far side the test plays."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from types import MappingProxyType

import anyio

from fermix.application.agent.loop import AgentLoop
from fermix.application.agent.prompt import Persona
from fermix.application.agent.toolbox import Toolbox
from fermix.application.commands.approving import CarryOutApprovals
from fermix.application.commands.desk import ApprovalDesk
from fermix.application.commands.outside import NOTHING_OUTSIDE, CarriesOut
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.dispatcher import NOTHING_PREPARED, Dispatcher
from fermix.application.gateway.gateway import Gateway, Receipt
from fermix.application.gateway.health import HealthBoard
from fermix.application.gateway.stages import Door
from fermix.application.media.preparer import Preparer, ToldOfMedia
from fermix.application.operations.ask import CLI_CHANNEL, Ask
from fermix.application.ports.channel import (
    Buttons,
    Channel,
    ChannelError,
    ChannelFeatures,
    Delivered,
    Drafts,
    Inbox,
    Offered,
    OutgoingPart,
    Typing,
    buttons_of,
    media_sources_of,
)
from fermix.application.ports.file_inbox import FileInbox
from fermix.application.ports.model import Model
from fermix.application.ports.policies import PolicySource
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.application.ports.tools import Tool
from fermix.application.ports.turns import Turns
from fermix.application.turns.access import OfferAccess, Sandboxed
from fermix.application.turns.events import TurnEvents
from fermix.application.turns.measuring import stream_observer
from fermix.application.turns.phases import StreamObserver
from fermix.application.turns.reply import OfferReply
from fermix.application.turns.run_turn import RunTurn, TurnSettings, TurnTools
from fermix.application.turns.settle import SettleTurn
from fermix.application.turns.streaming import StreamReplies
from fermix.application.turns.taking_in import TakeIn
from fermix.application.turns.typing import ShowTyping
from fermix.domain.authorization import ChannelAccess, Policies
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, UserId
from fermix.domain.lane import QueueLimits
from fermix.domain.normalise import Registration
from fermix.domain.streaming.mode import StreamingMode
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_ledger import MemoryLedger
from tests.unit.application.media_parts import MediaParts
from tests.unit.application.scripted import raw

TEST = ChannelName("test")
_NO_STREAMING: Mapping[ChannelName, StreamingMode] = MappingProxyType({})
ACCOUNT = AccountId("a")
DOOR = Door(
    registration=Registration(channel=TEST, account=AccountId("a")),
    features=ChannelFeatures(offers_again=True),
)
MEDIA_DOOR = replace(DOOR, reads_media=True)
PUSH = Door(registration=Registration(channel=TEST, account=AccountId("a")), features=ChannelFeatures())


@dataclass(slots=True)
class TestChannel:
    """Takes what is sent, or raises what the test lined up."""

    __test__ = False

    sent: list[OutgoingPart] = field(default_factory=list)
    faults: list[ChannelError | Exception] = field(default_factory=list)
    arrived: anyio.Event = field(default_factory=anyio.Event)
    gate: anyio.Event | None = None
    moved_to: ChatId | None = None
    typing: Typing | None = None
    drafts: Drafts | None = None
    buttons: Buttons | None = None
    account: AccountId = ACCOUNT
    features: ChannelFeatures = field(default_factory=ChannelFeatures)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await anyio.sleep_forever()

    async def send(self, part: OutgoingPart) -> Delivered:
        if self.gate is not None:
            await self.gate.wait()
        if self.faults:
            raise self.faults.pop(0)
        self.sent.append(part)
        self.arrived.set()
        return Delivered(platform_id=PlatformMessageId(f"p{len(self.sent)}"), moved_to=self.moved_to)

    async def has_sent(self, count: int) -> list[str]:
        with anyio.fail_after(5):
            while len(self.sent) < count:
                self.arrived = anyio.Event()
                await self.arrived.wait()
        return [part.body.text for part in self.sent]


@dataclass(slots=True)
class OneModel:
    """Every request is answered by the same model."""

    model: Model

    def resolve(self, requested: str | None) -> Model:
        return self.model

    def primary(self) -> object:
        return self.model.profile


@dataclass(slots=True)
class Movable:
    """Policies a test can change."""

    policies: Policies

    def current(self) -> Policies:
        return self.policies


def allow(*, owner: str | None = "1001", guests: Sequence[str] = ("2002", "3003")) -> Policies:
    access = ChannelAccess(
        owner=None if owner is None else UserId(owner), allowed=frozenset(UserId(guest) for guest in guests)
    )
    return Policies(channels={TEST: access})


@dataclass(slots=True, kw_only=True)
class House:
    """The parts a test looks at."""

    ledger: MemoryLedger
    clock: StoppedClock
    channel: TestChannel
    cli: CliChannel
    policies: Movable
    events: TurnEvents
    deliverer: Deliverer
    dispatcher: Dispatcher
    gateway: Gateway
    board: HealthBoard
    ask: Ask
    preparer: Preparer | None

    async def write(self, text: str = "hello", *, door: Door = DOOR, **facts: object) -> Receipt:
        (receipt,) = await self.write_all([raw(text, **facts)], door=door)
        return receipt

    async def write_all(self, messages: Sequence[object], *, door: Door = DOOR) -> tuple[Receipt, ...]:
        offered = [Offered(message=message) for message in messages]  # type: ignore[arg-type]  # raw messages
        return await self.gateway.accept(offered, door)


def counted_bytes() -> Callable[[], bytes]:
    """Random bytes that can be foretold: the first code is AAAAAAAB."""
    numbers = count(1)
    return lambda: next(numbers).to_bytes(5)


def build(
    model: Model,
    *,
    tools: Sequence[Tool] = (),
    computer_use: bool = False,
    slots: int = 4,
    limits: QueueLimits | None = None,
    ledger: MemoryLedger | None = None,
    clock: StoppedClock | None = None,
    ids: CountedIds | None = None,
    channel: TestChannel | None = None,
    time_limit: timedelta = timedelta(seconds=900),
    wrap_turns: Callable[[Turns], Turns] = lambda turns: turns,
    typing: Typing | None = None,
    drafts: Drafts | None = None,
    streaming: Mapping[ChannelName, StreamingMode] = _NO_STREAMING,
    observe: StreamObserver | None = None,
    telemetry: Telemetry = UNHEARD,
    call_seconds: float = 5.0,
    sandbox: Sandboxed | None = None,
    keeps_waiting: bool = True,
    policies: PolicySource | None = None,
    outside: CarriesOut = NOTHING_OUTSIDE,
    blobs: MemoryBlobs | None = None,
    media: MediaParts | None = None,
    inbox: FileInbox | None = None,
) -> House:
    clock = clock or StoppedClock()
    ids = ids or CountedIds()
    ledger = ledger or MemoryLedger(clock=clock, ids=ids, limits=limits)
    turns = wrap_turns(ledger.turns)
    blobs = blobs or (MemoryBlobs(clock=clock) if media is None else media.blobs)
    channel, cli = channel or TestChannel(typing=typing, drafts=drafts), CliChannel(blobs=blobs)
    channels: dict[ChannelName, Channel] = {TEST: channel, CLI_CHANNEL: cli}
    movable = Movable(allow())
    policies = policies or movable
    events = TurnEvents()
    board = HealthBoard(providers=lambda: (), channels=())
    deliverer = Deliverer(outbox=ledger.outbox, channels=channels, clock=clock, ids=ids, telemetry=telemetry)
    desk = ApprovalDesk(clock=clock, ids=ids, random=counted_bytes(), keeps_waiting=keeps_waiting)
    access = (
        None
        if sandbox is None
        else OfferAccess(sandbox=sandbox, desk=desk, channels=channels, deliverer=deliverer, events=events)
    )
    carries_out = (
        outside
        if sandbox is None
        else CarryOutApprovals(
            changes=sandbox.changes, desk=desk, admissions=ledger.admissions, buttons=buttons_of(channels)
        )
    )
    settle = SettleTurn(turns=turns, deliverer=deliverer, events=events, clock=clock)
    run_turn = RunTurn(
        turns=turns,
        conversations=ledger.conversations,
        policies=policies,
        tools=TurnTools(
            loop=AgentLoop(max_iterations=10, telemetry=telemetry, blobs=blobs),
            toolbox=Toolbox(tools, computer_use=computer_use),
            models=OneModel(model),  # type: ignore[arg-type]  # answers `primary` with a profile
            settings=TurnSettings(persona=Persona(), time_limit=time_limit),
            typing=ShowTyping(channels=channels, clock=clock),
            streaming=StreamReplies(
                channels=channels,
                modes=streaming,
                events=events,
                deliverer=deliverer,
                observe=observe or stream_observer(telemetry),
                call_seconds=call_seconds,
            ),
            observe=board.provider,
            telemetry=telemetry,
            access=access,
            take_in=TakeIn(inbox=inbox),
            reply=OfferReply(channels=channels, deliverer=deliverer),
        ),
        settle=settle,
        clock=clock,
    )
    preparer = (
        None
        if media is None
        else media.preparer(
            {TEST: media.server, **media_sources_of({CLI_CHANNEL: cli})},
            queue=ledger.media,
            clock=clock,
            telemetry=telemetry,
        )
    )
    dispatcher = Dispatcher(
        turns=turns,
        run_turn=run_turn,
        events=events,
        clock=clock,
        channels=channels,
        slots=slots,
        preparation=NOTHING_PREPARED if preparer is None else preparer,
    )
    gateway = Gateway(
        admissions=ledger.admissions,
        policies=policies,
        consequences=Consequences(
            admissions=ledger.admissions,
            dispatcher=dispatcher,
            deliverer=deliverer,
            clock=clock,
            carries_out=carries_out,
        ),
        board=board,
        clock=clock,
        telemetry=telemetry,
    )
    ask = Ask(
        gateway=gateway,
        dispatcher=dispatcher,
        deliverer=deliverer,
        turns=ledger.turns,
        events=events,
        clients=cli,
    )
    return House(
        ledger=ledger,
        clock=clock,
        channel=channel,
        cli=cli,
        policies=movable,
        events=events,
        deliverer=deliverer,
        dispatcher=dispatcher,
        gateway=gateway,
        board=board,
        ask=ask,
        preparer=preparer,
    )


@asynccontextmanager
async def running(house: House) -> AsyncGenerator[House]:
    await house.ledger.ownership.take(instance="test", boot="boot")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.deliverer.run)
        tasks.start_soon(house.dispatcher.run)
        tasks.start_soon(house.gateway.run)
        if house.preparer is not None:
            told = ToldOfMedia(prepared=house.dispatcher.wake, spoken=house.gateway.spoken)
            tasks.start_soon(house.preparer.run, told)
            house.preparer.wake()
        await anyio.wait_all_tasks_blocked()
        yield house
        tasks.cancel_scope.cancel()
