"""One turn from its claim to its settlement."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.agent.loop import AgentAnswer, AgentLoop, AgentTask
from fermix.application.agent.prompt import Persona, system_prompt
from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.clock import Clock
from fermix.application.ports.conversations import Conversations
from fermix.application.ports.ledger_errors import LedgerError, LedgerUnavailable, StaleTurn
from fermix.application.ports.model import Model, ModelError
from fermix.application.ports.models import Models
from fermix.application.ports.policies import PolicySource
from fermix.application.ports.reply import REACT, ReplySeam
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.application.ports.tools import ToolContext
from fermix.application.ports.turns import ClaimedTurn, Turns
from fermix.application.turns.access import OfferAccess
from fermix.application.turns.events import TurnEvents
from fermix.application.turns.measuring import TurnMeter, history_read, turn_timed_out
from fermix.application.turns.reply import OfferReply
from fermix.application.turns.settle import Ending, SettleTurn
from fermix.application.turns.streaming import EndStream, StreamReplies
from fermix.application.turns.taking_in import TakeIn, with_notes
from fermix.application.turns.typing import ShowTyping
from fermix.domain import wording
from fermix.domain.authorization import Denial, Trust, authorise, lower_trust
from fermix.domain.capability import APPROVAL_CATEGORY, WithoutCategories
from fermix.domain.delivery import Part
from fermix.domain.events import TurnStarted
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, UserEntry
from fermix.domain.message import ChatKind
from fermix.domain.shared_history import posted_only
from fermix.domain.splitting import is_blank
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """What a turn is run with.

    Attributes:
        time_limit: for the whole turn; its asker is told when it is over.
    """

    persona: Persona
    time_limit: timedelta


NO_INBOX = TakeIn()
NOBODY_TO_ASK = WithoutCategories(categories=frozenset({APPROVAL_CATEGORY}))


def no_corrections() -> Sequence[UserEntry]:
    """Messages that steer a running turn: there are none, a new message waits its turn."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTools:
    """What a turn works with; `observe` is told how each request to a provider ended.

    Attributes:
        access: decides which turns may ask their owner for a folder; `None`: none may.
        reply: decides which turns may show a file or a reaction; `None`: none may.
        take_in: makes of messages and their media what is to be answered.
    """

    loop: AgentLoop
    toolbox: Toolbox
    models: Models
    settings: TurnSettings
    typing: ShowTyping
    streaming: StreamReplies
    observe: Callable[[str, FailureKind | None], None]
    telemetry: Telemetry = UNHEARD
    access: OfferAccess | None = None
    reply: OfferReply | None = None
    take_in: TakeIn = NO_INBOX


class RunTurn:
    """Runs claimed turns. Whatever happens in one, it ends as exactly one settlement, or stays for recovery."""

    def __init__(
        self,
        *,
        turns: Turns,
        conversations: Conversations,
        policies: PolicySource,
        tools: TurnTools,
        settle: SettleTurn,
        clock: Clock,
    ) -> None:
        self._turns = turns
        self._conversations = conversations
        self._policies = policies
        self._tools = tools
        self._settle = settle
        self._clock = clock

    @property
    def events(self) -> TurnEvents:
        """Where turns report."""
        return self._settle.events

    async def __call__(self, claim: ClaimedTurn) -> None:
        """Run one turn.

        Raises:
            LedgerError: the ledger is broken or the home is lost; the process must end.
        """
        journal = Journal(turns=self._turns, clock=self._clock, claim=claim)
        meter = TurnMeter(telemetry=self._tools.telemetry, clock=self._clock, claim=claim)

        async def run(end_stream: EndStream) -> None:
            target = claim.messages[-1].target
            ending = await self._tools.typing.during(target, lambda: self._outcome(claim, journal))
            ending = await end_stream(ending)
            with meter.settling(ending):
                await self._settle(claim, ending)

        try:
            with meter.running():
                await self._tools.streaming.during(journal, run)
        except StaleTurn:
            _log.info("turn.stale", extra={"turn": claim.turn})

    async def _outcome(self, claim: ClaimedTurn, journal: Journal) -> Ending:
        trust = self._trust_now(claim)
        if trust is None:
            return Ending(outcome=Outcome.REJECTED)
        transcript: list[HistoryEntry] = []
        try:
            with anyio.fail_after(self._tools.settings.time_limit.total_seconds()):
                return await self._taken_in(claim, journal, trust, transcript)
        except ModelError as exc:
            _log.warning(
                "turn.failed",
                extra={"turn": claim.turn, "kind": exc.kind.value, "cause": _cause(exc)},
            )
            return failed(exc.failure, transcript)
        except TimeoutError:
            _log.warning("turn.timed_out", extra={"turn": claim.turn})
            limit = self._tools.settings.time_limit.total_seconds()
            turn_timed_out(self._tools.telemetry, claim.turn, limit=limit)
            seconds = round(limit)
            return failed(Failure(kind=FailureKind.TIMED_OUT, detail=f"limit {seconds} seconds"), transcript)
        except LedgerUnavailable as exc:
            _log.warning("turn.ledger_unavailable", extra={"turn": claim.turn, "cause": str(exc)})
            return failed(Failure(kind=FailureKind.INTERNAL), transcript)
        except LedgerError:
            raise
        except Exception:  # noqa: BLE001  # a bug in one turn must neither end the gateway nor leave its asker waiting
            _log.exception("turn.crashed", extra={"turn": claim.turn})
            return failed(Failure(kind=FailureKind.INTERNAL), transcript)

    async def _taken_in(
        self, claim: ClaimedTurn, journal: Journal, trust: Trust, transcript: list[HistoryEntry]
    ) -> Ending:
        taken = await self._tools.take_in(claim, trust)
        if isinstance(taken, Ending):
            return taken
        transcript.append(taken)
        return with_notes(await self._answer(claim, journal, trust, transcript), claim.messages)

    def _trust_now(self, claim: ClaimedTurn) -> Trust | None:
        """The lowest of the stored trusts and the trust now; `None` when a sender is no longer allowed."""
        policies = self._policies.current()
        trust = Trust.OPERATOR if claim.scope.trust is Trust.OPERATOR else Trust.GUEST
        for claimed in claim.messages:
            decision = authorise(claimed.message.channel, claimed.message.sender.ids(), policies)
            if isinstance(decision, Denial):
                _log.warning(
                    "turn.sender_no_longer_allowed",
                    extra={
                        "turn": claim.turn,
                        "channel": claimed.message.channel,
                        "sender_ids": ", ".join(repr(i) for i in claimed.message.sender.ids()),
                        "reason": decision.reason,
                    },
                )
                return None
            trust = lower_trust(trust, lower_trust(claimed.trust, decision.trust))
        return trust

    async def _answer(
        self, claim: ClaimedTurn, journal: Journal, trust: Trust, transcript: list[HistoryEntry]
    ) -> Ending:
        requested = claim.messages[-1].message.request_model
        model = self._tools.models.resolve(requested)
        profile = model.profile
        self.events.publish(claim.turn, TurnStarted(provider=profile.provider, model=profile.model))
        _log.info(
            "turn.started",
            extra={
                "turn": claim.turn,
                "lane": claim.lane,
                "attempt": claim.attempts,
                "provider": profile.provider,
                "model": profile.model,
                "trust": trust.value,
            },
        )
        began = self._clock.monotonic()
        history = await self._conversations.history(claim.lane, window=claim.window)
        took = self._clock.monotonic() - began
        history_read(self._tools.telemetry, claim.turn, entries=len(history), took=took)
        if trust is not Trust.OPERATOR and claim.messages[-1].message.chat.kind is not ChatKind.DIRECT:
            history = tuple(posted_only(history))
        reply = None if self._tools.reply is None else self._tools.reply.seam(claim, journal)
        context = self._context(claim, journal, trust, reply)
        try:
            answer = await self._tools.loop.run(
                AgentTask(
                    model=model,
                    system=system_prompt(
                        self._tools.settings.persona,
                        profile,
                        trust=trust,
                        now=self._clock.now(),
                        reacts=profile.tools and self._tools.toolbox.offers(REACT, context),
                    ),
                    history=history,
                    transcript=transcript,
                    toolbox=self._tools.toolbox,
                    context=context,
                    journal=journal,
                    report=lambda event: self.events.publish(claim.turn, event),
                    corrections=no_corrections,
                    thoughts=claim.awaited or self._tools.streaming.tells_thoughts(claim),
                )
            )
        except ModelError as exc:
            # A model that this request alone has named says nothing of how the agent stands.
            if requested is None:
                self._tools.observe(profile.provider, exc.kind)
            raise
        self._tools.observe(profile.provider, None)
        return answered(answer, transcript, model, shown=() if reply is None else reply.shown)

    def _context(
        self, claim: ClaimedTurn, journal: Journal, trust: Trust, reply: ReplySeam | None
    ) -> ToolContext:
        """What calls may know; where nobody can be asked, what asks is not even offered."""
        offer = self._tools.access
        access = None if offer is None else offer.seam(claim, journal, trust)
        scope = claim.scope.narrowed(trust=trust)
        return ToolContext(
            turn=claim.turn,
            scope=scope if access is not None else scope.narrowed(NOBODY_TO_ASK),
            request_cwd=_folder(claim, trust),
            access=access,
            reply=reply,
        )


def _folder(claim: ClaimedTurn, trust: Trust) -> PurePath | None:
    return claim.messages[-1].message.request_cwd if trust is Trust.OPERATOR else None


def answered(
    answer: AgentAnswer, transcript: Sequence[HistoryEntry], model: Model, *, shown: Sequence[Part] = ()
) -> Ending:
    """The ending of a turn whose model finished.

    A blank answer is told and leaves no trace in the history, unless something was shown before (a reaction, a
    file): that was the answer, and a marker stands for it.
    """
    if not is_blank(answer.text):
        return Ending(outcome=Outcome.COMPLETED, text=answer.text, entries=tuple(transcript))
    if shown:
        marker = MarkerEntry(text=wording.answered_with(shown))
        return Ending(outcome=Outcome.COMPLETED, entries=(*filter(_says_something, transcript), marker))
    profile = model.profile
    return failed(Failure(kind=FailureKind.EMPTY_ANSWER, provider=profile.provider, model=profile.model), ())


def _says_something(entry: HistoryEntry) -> bool:
    return not isinstance(entry, AssistantEntry) or bool(entry.calls or entry.text.strip())


def failed(failure: Failure, transcript: Sequence[HistoryEntry]) -> Ending:
    """The ending of a turn without an answer: told in words, and kept for `/retry`.

    The history keeps what was asked and done, closed by a marker, so that "try again" means something to the
    model. What was too long for the model would be too long again and is left out.
    """
    entries: tuple[HistoryEntry, ...] = ()
    if transcript and failure.kind is not FailureKind.CONTEXT_TOO_LONG:
        entries = (*transcript, MarkerEntry(text=wording.FAILED_MARKER))
    return Ending(
        outcome=Outcome.FAILED,
        text=wording.failed(failure),
        entries=entries,
        failure=failure,
        keep_bodies=True,
    )


def _cause(exc: BaseException) -> str:
    cause = exc.__cause__
    return f"{type(cause).__name__}: {cause}"[:500] if cause is not None else str(exc)
