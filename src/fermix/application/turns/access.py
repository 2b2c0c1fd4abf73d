"""Asking the owner for a folder from inside a turn: the prompt goes out, the turn goes on and ends by itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.commands.desk import ApprovalDesk
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.ports.access import AccessAnswer, AlreadyOpen, CannotBeOpened, OwnerAsked
from fermix.application.ports.channel import Channel, buttons_of
from fermix.application.ports.sandbox import ChangeRefused, SandboxChanges, SandboxView
from fermix.application.ports.turns import ClaimedTurn
from fermix.application.turns.events import TurnEvents
from fermix.application.turns.settle import room_for_text
from fermix.domain import approval_wording as wording
from fermix.domain.approvals import Origin, PromptKind
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.delivery import TextPart
from fermix.domain.events import PromptShown
from fermix.domain.ids import ChannelName
from fermix.domain.message import ChatKind
from fermix.domain.sandbox import Reachable
from fermix.domain.sandbox_changes import GrantPath, SandboxProposal
from fermix.domain.sandbox_wording import refusal_text
from fermix.domain.splitting import units
from fermix.domain.trust import Trust

CAPABILITY = "request_directory_access"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandboxed:
    """What is known of the sandbox, and what changes it."""

    view: SandboxView
    changes: SandboxChanges


class OfferAccess:
    """Decides which turns may ask, and gives each of them its way."""

    def __init__(
        self,
        *,
        sandbox: Sandboxed,
        desk: ApprovalDesk,
        channels: Mapping[ChannelName, Channel],
        deliverer: Deliverer,
        events: TurnEvents,
    ) -> None:
        self.sandbox = sandbox
        self.desk = desk
        self.deliverer = deliverer
        self.events = events
        self._channels = channels
        self._buttons = buttons_of(channels)

    def seam(self, claim: ClaimedTurn, journal: Journal, trust: Trust) -> "TurnAccess | None":
        """The way of one turn; `None` where nobody could be asked.

        Only at the top level of an operator's turn that has a live way to reply.
        """
        channel = self._channels.get(claim.messages[-1].target.channel)
        if trust is not Trust.OPERATOR or claim.scope.delegated or channel is None:
            return None
        return TurnAccess(offer=self, claim=claim, journal=journal)

    def fits(self, channel: ChannelName, text: str) -> bool:
        """Whether a prompt fits into one message there: what is not shown whole must not be approved."""
        features = self._channels[channel].features
        room = room_for_text(features)
        return room is None or units(text, features.text_unit) <= room

    def way(self, claim: ClaimedTurn, token: str) -> wording.Way:
        """How a prompt can be answered where this turn came from."""
        last = claim.messages[-1]
        has_buttons = last.target.channel in self._buttons
        if has_buttons and last.message.chat.kind is not ChatKind.DIRECT:
            return wording.ByButton(token=token)
        return wording.ByCode(token=token, button=has_buttons)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAccess:
    """See `AccessSeam`."""

    offer: OfferAccess
    claim: ClaimedTurn
    journal: Journal

    async def request(self, path: str, reason: str) -> AccessAnswer:
        """See `AccessSeam.request`."""
        sandbox, cwd = self.offer.sandbox, self.claim.messages[-1].message.request_cwd
        try:
            explained = await sandbox.view.explain(path, trust=Trust.OPERATOR, request_cwd=cwd)
            if isinstance(explained.verdict, Reachable):
                return AlreadyOpen(path=explained.path)
            proposal = await sandbox.changes.propose(GrantPath(path=explained.path), base=cwd, reason=reason)
        except ChangeRefused as exc:
            text = refusal_text(exc.problem, subject=exc.subject, detail=exc.detail)
            return CannotBeOpened(text=wording.shown(text))
        if proposal.changes_nothing:
            return AlreadyOpen(path=explained.path)
        return await self._ask(proposal, explained.path)

    async def _ask(self, proposal: SandboxProposal, path: PurePath) -> AccessAnswer:
        desk, last = self.offer.desk, self.claim.messages[-1]
        if not desk.keeps_waiting:
            return await self._show(proposal, path, wording.AtTerminal(), resumes=False)
        origin = Origin(route=self.claim.route, user=last.message.sender.id)
        asked = desk.ask(PromptKind.ACCESS, proposal, origin, waiting=self.claim)
        resumes = last.target.channel not in LOCAL_CHANNELS
        if not asked.fresh:
            return OwnerAsked(path=path, fresh=False, resumes=resumes)
        shown = False
        try:
            answer = await self._show(
                proposal, path, self.offer.way(self.claim, asked.token), resumes=resumes
            )
            shown = isinstance(answer, OwnerAsked)
            return answer
        finally:
            if not shown:
                desk.forget(asked.token)

    async def _show(
        self, proposal: SandboxProposal, path: PurePath, way: wording.Way, *, resumes: bool
    ) -> AccessAnswer:
        """Commit the prompt and what it is an effect of, and send it; what was committed is also sent."""
        target, text = self.claim.messages[-1].target, wording.access_prompt(proposal, way)
        if len(str(path)) > wording.MAX_PATH or not self.offer.fits(target.channel, text):
            return CannotBeOpened(text=f"{wording.TOO_LONG}\n{wording.at_terminal(proposal.change)}")
        part = TextPart(text=text, choices=wording.buttons(way))
        intent = json.dumps({"path": str(path), "reason": proposal.reason})
        with anyio.CancelScope(shield=True):
            to_send = await self.journal.send(CAPABILITY, intent, part, target)
        self.offer.deliverer.submit_early(self.claim.turn, to_send)
        self.offer.events.publish(self.claim.turn, PromptShown(text=text))
        return OwnerAsked(path=path, fresh=True, resumes=resumes)
