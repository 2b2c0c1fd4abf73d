"""Conversations and their queues for the owner: what there is, what stands where, and settling a lost turn."""

from dataclasses import dataclass
from types import MappingProxyType

import anyio

from fermix.application.gateway.gateway import Gateway, Receipt
from fermix.application.operations.ask import CLI_DOOR
from fermix.application.ports.admissions import Resolved
from fermix.application.ports.channel import Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.application.ports.conversations import Conversations, ConversationSummary, QueueView
from fermix.application.ports.lane_control import (
    MAX_SESSIONS,
    QueueReport,
    Resolution,
    ResolveEnd,
    ResolveRequest,
    ResolveWork,
)
from fermix.application.ports.local_clients import LocalClients, PartStream
from fermix.domain import wording
from fermix.domain.ids import PlatformMessageId
from fermix.domain.normalise import RawMessage

TERMINAL_SESSION = "cli"
"""The conversation a terminal's command belongs to, as one typed into `fermix ask` would."""

OPERATOR = "operator"

_NOTHING = MappingProxyType(
    {ResolveWork.DISCARD: wording.NOTHING_TO_DISCARD, ResolveWork.RETRY: wording.NOTHING_TO_RETRY}
)
REPLY_LIMIT_SECONDS = 10.0
"""How long a command's reply may take to its terminal; shorter than a client waits for a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The `LaneControl` port on top of the running gateway."""

    conversations: Conversations
    queue_view: QueueView
    gateway: Gateway
    clients: LocalClients
    clock: Clock

    async def sessions(self, *, limit: int) -> tuple[ConversationSummary, ...]:
        """Conversations, newest first."""
        return await self.conversations.summaries(limit=min(limit, MAX_SESSIONS))

    async def queue(self) -> QueueReport:
        """What waits, runs, is paused, failed, or is still to be delivered."""
        return QueueReport(at=self.clock.now(), listing=await self.queue_view.listing())

    async def resolve(self, request: ResolveRequest) -> Resolution:
        """Discard or retry a turn.

        The command is a message like any other: it has a row under the request's id before it takes effect, so a
        request that is sent twice takes effect once.
        """
        with self.clients.attach(PlatformMessageId(request.request)) as parts:
            message = _message(request)
            (receipt,) = await self.gateway.accept([Offered(message=message)], CLI_DOOR)
            if receipt.verdict is not Verdict.ACCEPTED:
                return _not_taken(receipt)
            text = await _reply(parts, receipt.parts)
        if isinstance(receipt.effect, Resolved):
            return Resolution(
                end=ResolveEnd.RESOLVED,
                text=text or wording.REPLY_LOST,
                turn=receipt.effect.turn,
                queued_as=receipt.effect.queued_as,
            )
        return Resolution(end=ResolveEnd.NOTHING, text=text or _NOTHING[request.work])


def _message(request: ResolveRequest) -> RawMessage:
    wanted = "" if request.turn is None else f" {request.turn}"
    return RawMessage(
        key=request.request,
        id=request.request,
        content=f"/{request.work.value}{wanted}",
        sender=OPERATOR,
        chat_id=TERMINAL_SESSION,
        reply_target=TERMINAL_SESSION,
    )


async def _reply(parts: PartStream, count: int) -> str:
    """What the command says; empty when that does not come in time."""
    texts: list[str] = []
    with anyio.move_on_after(REPLY_LIMIT_SECONDS):
        while len(texts) < count:
            texts.append((await parts.receive()).text)
    return "\n".join(texts) if len(texts) == count else ""


def _not_taken(receipt: Receipt) -> Resolution:
    match receipt.verdict:
        case Verdict.DUPLICATE | Verdict.CONFLICT:
            return Resolution(end=ResolveEnd.TAKEN_BEFORE, text=wording.COMMAND_TAKEN_BEFORE)
        case Verdict.DROPPED | Verdict.ANSWERED:
            return Resolution(end=ResolveEnd.REFUSED, text=receipt.notice or wording.ASK_REFUSED)
        case _:
            return Resolution(end=ResolveEnd.UNAVAILABLE, text=receipt.notice or wording.RESTARTING)
