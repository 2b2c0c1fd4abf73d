"""Where prompts wait for their owner, with what an approval sets off. In memory: a restart leaves none open."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.approvals import Answer, Asked, Origin, PromptKind, Prompts, Question
from fermix.domain.sandbox_changes import SandboxProposal

MAX_RESUMED = 10
"""Requests that one approval takes up again: those that asked for the same folder while the prompt was open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What an approval sets off.

    Attributes:
        waiting: the turns that had asked, to be taken up again; none for what was typed.
    """

    proposal: SandboxProposal
    waiting: list[ClaimedTurn] = field(default_factory=list[ClaimedTurn])


class ApprovalDesk:
    """The open prompts of one home.

    Attributes:
        keeps_waiting: whether this process lives long enough for an answer; a command that answers in-process
            does not.
    """

    def __init__(
        self, *, clock: Clock, ids: Ids, random: Callable[[], bytes], keeps_waiting: bool = True
    ) -> None:
        self.keeps_waiting = keeps_waiting
        self._clock = clock
        self._ids = ids
        self._random = random
        self._prompts: Prompts[Pending] = Prompts()

    def ask(
        self,
        kind: PromptKind,
        proposal: SandboxProposal,
        origin: Origin,
        *,
        waiting: ClaimedTurn | None = None,
    ) -> Asked[Pending]:
        """Open a prompt, or join the one that is open for the same change; see `Prompts.ask`."""
        asked = self._prompts.ask(
            Question(kind=kind, origin=origin, about=repr(proposal.change)),
            Pending(proposal=proposal),
            new_id=self._ids.new(),
            random=self._random,
            now=self._clock.monotonic(),
        )
        kept = asked.payload.waiting
        if waiting is not None and len(kept) < MAX_RESUMED and all(one.turn != waiting.turn for one in kept):
            kept.append(waiting)
        return asked

    def answer(self, token: str, origin: Origin) -> Answer[Pending]:
        """Approve what `token` stands for; see `Prompts.answer`."""
        return self._prompts.answer(token, origin=origin, now=self._clock.monotonic())

    def forget(self, token: str) -> None:
        """Take back a prompt that was not shown to anybody."""
        self._prompts.forget(token)

    def stopped(self) -> None:
        """Ask nothing more for the agent: what it wanted was stopped. What people typed stays."""
        self._prompts.withdraw(kind=PromptKind.ACCESS)
