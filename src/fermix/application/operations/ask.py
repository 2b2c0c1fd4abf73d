"""A question from a terminal: admitted like any message, followed to its end, cancelled when its asker leaves."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace

import anyio

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.gateway.gateway import Gateway, Receipt
from fermix.application.gateway.stages import Door
from fermix.application.operations.following import Heard, followed
from fermix.application.ports.channel import ChannelFeatures, Offered, Verdict
from fermix.application.ports.control import (
    AskAccepted,
    AskEnd,
    AskEnded,
    AskEvent,
    AskFile,
    AskPart,
    AskProgress,
    AskRequest,
    Principal,
    PrincipalCapability,
)
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.local_clients import LocalClients, PartStream
from fermix.application.ports.turns import Turns
from fermix.application.ports.uploads import Upload
from fermix.application.turns.events import TurnEvents
from fermix.domain import wording
from fermix.domain.caps import CAPS
from fermix.domain.delivery import MediaPart
from fermix.domain.events import TurnEvent, TurnSettled, TurnStarted
from fermix.domain.ids import AccountId, ChannelName, PlatformMessageId, TurnId
from fermix.domain.normalise import RawMessage, Registration
from fermix.domain.turn import Outcome

CLI_CHANNEL = ChannelName("cli")

CLI_DOOR = Door(
    registration=Registration(channel=CLI_CHANNEL, account=AccountId("local"), local=True),
    features=ChannelFeatures.within(CAPS[CLI_CHANNEL]),
    reads_media=True,
)

REPLY_LIMIT_SECONDS = 60.0
"""How long a command's reply may take from its commit to its terminal."""


@dataclass(slots=True)
class _Follower:
    """What has been learned of a turn so far."""

    provider: str | None = None
    model: str | None = None
    settled: TurnSettled | None = None

    def note(self, event: TurnEvent) -> None:
        if isinstance(event, TurnStarted):
            self.provider, self.model = event.provider, event.model
        elif isinstance(event, TurnSettled):
            self.settled = event

    def end(self) -> AskEnded:
        settled = self.settled
        if settled is None:
            return AskEnded(end=AskEnd.INTERRUPTED, text="", notice=wording.ASK_INTERRUPTED)
        ended = AskEnded(
            end=AskEnd.ANSWERED,
            text=settled.text,
            outcome=settled.outcome,
            failure=settled.failure,
            provider=self.provider,
            model=self.model,
        )
        match settled.outcome:
            case Outcome.COMPLETED:
                return ended
            case Outcome.FAILED:
                return replace(ended, end=AskEnd.FAILED, text="", notice=settled.text)
            case Outcome.REJECTED:
                return replace(ended, end=AskEnd.REFUSED, text="", notice=wording.ASK_REFUSED)
            case Outcome.INTERRUPTED | Outcome.CANCELLED:
                notice = settled.text or wording.ASK_STOPPED
                return replace(ended, end=AskEnd.INTERRUPTED, text="", notice=notice)


class Ask:
    """Runs `ask` requests of local terminals."""

    def __init__(
        self,
        *,
        gateway: Gateway,
        dispatcher: Dispatcher,
        deliverer: Deliverer,
        turns: Turns,
        events: TurnEvents,
        clients: LocalClients,
    ) -> None:
        self._gateway = gateway
        self._dispatcher = dispatcher
        self._deliverer = deliverer
        self._turns = turns
        self._events = events
        self._clients = clients
        self._active = 0
        self._nobody_asks = anyio.Event()

    async def idle(self) -> None:
        """Return when no terminal waits for an answer."""
        while self._active:
            if self._nobody_asks.is_set():  # several may wait for the same
                self._nobody_asks = anyio.Event()
            await self._nobody_asks.wait()

    @asynccontextmanager
    async def __call__(
        self, request: AskRequest, principal: Principal
    ) -> AsyncGenerator[AsyncIterator[AskEvent]]:
        """Ask; the iterator ends with one `AskEnded`. Leaving earlier cancels the turn."""
        self._active += 1
        try:
            async with self._asked(request, principal) as events:
                yield events
        finally:
            self._active -= 1
            self._nobody_asks.set()

    @asynccontextmanager
    async def _asked(
        self, request: AskRequest, principal: Principal
    ) -> AsyncGenerator[AsyncIterator[AskEvent]]:
        if PrincipalCapability.SUBMIT not in principal.capabilities:
            yield _only(AskEnded(end=AskEnd.REFUSED, text="", notice=wording.ASK_REFUSED))
            return
        opening = f"{request.request}:new"
        with (
            self._clients.attach(PlatformMessageId(opening)),
            self._clients.attach(PlatformMessageId(request.request)) as parts,
        ):
            message = _message(request, request.request, request.text, files=request.files)
            offered = [Offered(message=message, awaited=True)]
            if request.new:
                offered.insert(0, Offered(message=_message(request, opening, "/new")))
            receipt = (await self._gateway.accept(offered, CLI_DOOR))[-1]
            if receipt.verdict is not Verdict.ACCEPTED:
                yield _only(_not_taken(receipt))
            elif receipt.turn is None:
                async with aclosing(_reply(parts, receipt)) as events:
                    yield events
            else:
                async with self._followed(receipt.turn, parts) as events:
                    yield events

    @asynccontextmanager
    async def _followed(self, turn: TurnId, parts: PartStream) -> AsyncGenerator[AsyncGenerator[AskEvent]]:
        follower = _Follower()
        try:
            async with (
                followed(self._events.watch(turn), parts) as heard,
                aclosing(_turn(turn, heard, follower)) as events,
            ):
                yield events
        finally:
            if follower.settled is None:
                await self._leave(turn)

    async def _leave(self, turn: TurnId) -> None:
        """The asker is gone: end the turn in the ledger, then its task."""
        with anyio.CancelScope(shield=True), suppress(LedgerUnavailable):
            if await self._turns.cancel(turn):
                self._deliverer.withdrawn(turn)
                self._dispatcher.cancel([turn])


async def _turn(turn: TurnId, heard: AsyncIterator[Heard], follower: _Follower) -> AsyncGenerator[AskEvent]:
    """A turn as it goes, and its end."""
    yield AskAccepted(turn=turn)
    async for one in heard:
        if isinstance(one, MediaPart):
            yield AskFile(part=one)
        else:
            follower.note(one.event)
            yield AskProgress(event=one)
    ended = follower.end()
    if ended.text:
        yield AskPart(text=ended.text)
    yield ended


async def _reply(parts: PartStream, receipt: Receipt) -> AsyncGenerator[AskEvent]:
    """A command's reply: its parts as they are delivered, once it is done."""
    yield AskAccepted(turn=None)
    texts: list[str] = []
    with anyio.move_on_after(REPLY_LIMIT_SECONDS) as waited:
        count = receipt.parts if receipt.under_way is None else await receipt.under_way.replied()
        while len(texts) < count:
            texts.append((await parts.receive()).text)
    if waited.cancelled_caught:
        yield AskEnded(end=AskEnd.FAILED, text="", notice=wording.REPLY_LOST)
        return
    for text in texts:
        yield AskPart(text=text)
    yield AskEnded(end=AskEnd.ANSWERED, text="\n".join(texts))


async def _only(ended: AskEnded) -> AsyncGenerator[AskEvent]:
    yield ended


def _message(request: AskRequest, key: str, text: str, *, files: tuple[Upload, ...] = ()) -> RawMessage:
    return RawMessage(
        key=key,
        id=key,
        content=text,
        sender=request.user,
        chat_id=request.session,
        reply_target=request.session,
        request_cwd=request.cwd,
        request_model=request.model,
        attachments=[_attachment(file) for file in files],
    )


def _attachment(file: Upload) -> Mapping[str, object]:
    return {
        "kind": file.kind.value,
        "reference": file.blob.reference,
        "mime_type": file.mime_type,
        "size_bytes": file.blob.size_bytes,
        "name": file.name,
    }


def _not_taken(receipt: Receipt) -> AskEnded:
    match receipt.verdict:
        case Verdict.DUPLICATE:
            # A client asks again only when its line broke before it was told anything.
            return AskEnded(end=AskEnd.INTERRUPTED, text="", notice=wording.ASK_INTERRUPTED)
        case Verdict.CONFLICT:
            return AskEnded(end=AskEnd.REFUSED, text="", notice=wording.ASKED_BEFORE)
        case Verdict.ANSWERED:
            return AskEnded(
                end=AskEnd.REFUSED, text="", notice=receipt.notice or wording.TOO_MUCH_WAITING_HERE
            )
        case Verdict.DROPPED:
            return AskEnded(end=AskEnd.REFUSED, text="", notice=wording.ASK_REFUSED)
        case _:
            return AskEnded(end=AskEnd.UNAVAILABLE, text="", notice=receipt.notice or wording.RESTARTING)
