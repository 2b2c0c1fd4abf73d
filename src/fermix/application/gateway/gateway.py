"""The single entry point: every message of every channel comes in here, in lists, and is acknowledged after."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard, assert_never

import anyio

from fermix.application.commands.registry import find_command
from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.dedupe import WebhookMemory, delivery_key
from fermix.application.gateway.fullness import Fullness
from fermix.application.gateway.health import LEDGER, HealthBoard
from fermix.application.gateway.outside import CommandUnderWay
from fermix.application.gateway.refusals import Refusals
from fermix.application.gateway.reporting import Concluded, events_of
from fermix.application.gateway.speech import command_in
from fermix.application.gateway.stages import (
    Answered,
    Candidate,
    Denied,
    Door,
    Edit,
    Ended,
    Invalid,
    Passed,
    Twin,
    walk,
)
from fermix.application.media.preparer import Spoken
from fermix.application.patience import until_stored
from fermix.application.ports.admissions import (
    Accepted,
    Admissions,
    AdmitResult,
    CommandEffect,
    Conflict,
    CursorMove,
    Duplicate,
    Full,
)
from fermix.application.ports.channel import Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import RefusedSender
from fermix.application.ports.ledger_errors import LedgerFull, LedgerUnavailable
from fermix.application.ports.policies import PolicySource
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.domain import wording
from fermix.domain.commands import ParsedCommand, parse_command
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.lane import Placement
from fermix.domain.route import ChatMove, origin_of, route_of, target_of

_log = logging.getLogger("fermix.gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one offered message, in full.

    Attributes:
        turn: the turn it asks for, when it was accepted (now or before) as one.
        effect: what a command did inside the commit, when it was accepted as one.
        parts: how many reply parts were committed with it.
        under_way: a command whose work and reply come after the commit.
        notice: what its sender is told at once, without a row.
    """

    verdict: Verdict
    turn: TurnId | None = None
    effect: CommandEffect | None = None
    parts: int = 0
    under_way: CommandUnderWay | None = None
    notice: str | None = None


class Gateway:
    """Takes lists of messages: each goes through the stages, what remains is committed in one transaction."""

    def __init__(
        self,
        *,
        admissions: Admissions,
        policies: PolicySource,
        consequences: Consequences,
        board: HealthBoard,
        clock: Clock,
        telemetry: Telemetry = UNHEARD,
    ) -> None:
        self._telemetry = telemetry
        self._admissions = admissions
        self._policies = policies
        self._consequences = consequences
        self._board = board
        self._clock = clock
        self._memory = WebhookMemory(clock)
        self._open = True
        self._fullness = Fullness()
        self._refusals = Refusals(clock)

    def close(self) -> None:
        """Take nothing more from now on; what is offered is unavailable and told so where it would be lost."""
        self._open = False

    async def run(self) -> None:
        """Do what commands have outside the ledger, until cancelled; errors that end the process pass through."""
        await self._consequences.run()

    async def drained(self) -> None:
        """Return once no command waits for its work any more."""
        await self._consequences.drained()

    def refused_lately(self) -> tuple[RefusedSender, ...]:
        """Senders turned away, oldest first."""
        return self._refusals.lately()

    async def accept(
        self, offered: Sequence[Offered], door: Door, *, cursor: CursorMove | None = None
    ) -> tuple[Receipt, ...]:
        """Take one list of one channel.

        Once the commit has begun, what follows from it is done even when the caller is cancelled.

        Returns:
            One receipt for each message, in order.
        """
        began = self._clock.monotonic()
        policies = self._policies.current()
        steps = [
            walk(
                Candidate(
                    door=door,
                    offered=item,
                    policies=policies,
                    memory=self._memory,
                    busy=self._consequences.is_busy,
                )
            )
            for item in offered
        ]
        try:
            with anyio.CancelScope(shield=True):
                receipts = await self._commit(steps, cursor)
        except BaseException:
            for step in steps:
                self._conclude(step, Receipt(verdict=Verdict.UNAVAILABLE))
            raise
        took = self._clock.monotonic() - began
        for step, receipt in zip(steps, receipts, strict=True):
            self._conclude(step, receipt)
            self._report(step, receipt, took)
        return tuple(
            [
                replace(receipt, verdict=await step.ending.delivery.result())
                if isinstance(step, Ended) and isinstance(step.ending, Twin)
                else receipt
                for step, receipt in zip(steps, receipts, strict=True)
            ]
        )

    def _report(self, step: Candidate | Ended, receipt: Receipt, took: float) -> None:
        concluded = Concluded(
            step=step, verdict=receipt.verdict, turn=receipt.turn, took=took, closing=not self._open
        )
        for event in events_of(concluded):
            self._telemetry.emit(event)

    async def spoken(self, spoken: Spoken) -> bool:
        """Do the command that was said in a message, ahead of the queue, in the place of the message's own turn.

        Returns:
            Whether it was one; then its turn has ended. It had ended before when it was stopped meanwhile.
        """
        began = self._clock.monotonic()
        step = command_in(
            spoken, policies=self._policies.current(), memory=self._memory, busy=self._consequences.is_busy
        )
        command = None if step is None else step.admission
        if step is None or command is None:
            return False

        async def commit() -> None:
            with anyio.CancelScope(shield=True):
                (result,) = await self._admissions.admit([command])
                self._report(step, self._after(step, result), self._clock.monotonic() - began)

        await until_stored(self._clock, "spoken command", commit)
        return True

    async def move_chat(self, move: ChatMove) -> Verdict:
        """Let a chat's conversations go on under its new id; see `Inbox.moved`."""
        if not self._open:
            return Verdict.UNAVAILABLE
        try:
            known = await self._admissions.move_chat(move)
        except LedgerUnavailable as exc:
            self._not_stored(exc)
            return Verdict.UNAVAILABLE
        if not known:
            return Verdict.DROPPED
        _log.info(
            "gateway.chat_moved",
            extra={"channel": move.channel, "old": repr(move.old), "new": repr(move.new)},
        )
        self._consequences.of_move()
        return Verdict.ACCEPTED

    def count_unreadable(self, channel: ChannelName) -> None:
        """Count something that a channel was handed and could not read."""
        self._board.unreadable(channel)

    async def _commit(self, steps: list[Candidate | Ended], cursor: CursorMove | None) -> list[Receipt]:
        if not self._open:
            return [self._unavailable(step, wording.RESTARTING) for step in steps]
        edits = [step for step in steps if _is_edit(step)]
        batch = [step.admission for step in steps if isinstance(step, Candidate) and step.admission]
        try:
            results = iter(
                await self._admissions.admit(batch, cursor=None if edits else cursor)
                if batch or (cursor and not edits)
                else ()
            )
        except LedgerUnavailable as exc:
            text = self._not_stored(exc)
            return [self._unavailable(step, text) for step in steps]
        receipts = [
            self._after(step, next(results)) if isinstance(step, Candidate) else self._ended(step)
            for step in steps
        ]
        return await self._amend_all(steps, receipts, cursor) if edits else receipts

    async def _amend_all(
        self, steps: list[Candidate | Ended], receipts: list[Receipt], cursor: CursorMove | None
    ) -> list[Receipt]:
        """Apply the edits of a list whose other messages are stored, then move its cursor."""
        try:
            for step in steps:
                if _is_edit(step):
                    await self._amend(step.candidate)
            if cursor is not None and all(receipt.verdict is not Verdict.FULL for receipt in receipts):
                await self._admissions.admit((), cursor=cursor)
        except LedgerUnavailable as exc:
            text = self._not_stored(exc)
            return [
                self._unavailable(step, text) if _is_edit(step) else receipt
                for step, receipt in zip(steps, receipts, strict=True)
            ]
        return receipts

    def _not_stored(self, exc: LedgerUnavailable) -> str:
        cause = str(exc) or type(exc).__name__
        _log.warning("gateway.admission_unavailable", extra={"cause": cause})
        self._board.failing(LEDGER, cause)
        return wording.DISK_FULL if isinstance(exc, LedgerFull) else wording.NOT_STORED

    async def _amend(self, candidate: Candidate) -> None:
        message = candidate.known
        parsed = parse_command(message.text, bot_name=candidate.door.bot_name)
        if not isinstance(parsed, ParsedCommand) or find_command(parsed.name) is None:
            await self._admissions.amend(message, key=message.key)

    def _unavailable(self, step: Candidate | Ended, text: str) -> Receipt:
        """Nothing was stored: whoever would never offer it again is told."""
        if isinstance(step, Ended):
            return Receipt(verdict=Verdict.UNAVAILABLE) if _is_edit(step) else self._ended(step)
        features = step.door.features
        if features.offers_again or features.webhook:
            return Receipt(verdict=Verdict.UNAVAILABLE)
        return self._notice(step, text, Verdict.UNAVAILABLE)

    def _notice(self, candidate: Candidate, text: str, verdict: Verdict) -> Receipt:
        self._consequences.of_refusal(target_of(candidate.known, thread=candidate.thread), text)
        return Receipt(verdict=verdict, notice=text)

    def _ended(self, step: Ended) -> Receipt:
        candidate = step.candidate
        channel = candidate.door.registration.channel
        match step.ending:
            case Invalid(field=field):
                _log.error("gateway.message_invalid", extra={"channel": channel, "field": field})
            case Denied(denial=denial):
                self._refusals.note(candidate, denial)
            case Passed(reason=reason):
                _log.debug("gateway.message_passed", extra={"channel": channel, "reason": reason})
            case Answered(text=text):
                return self._notice(candidate, text, Verdict.ANSWERED)
            case Twin():
                return Receipt(verdict=Verdict.DUPLICATE)
            case Edit():
                pass
            case _:
                assert_never(step.ending)
        return Receipt(verdict=Verdict.DROPPED)

    def _after(self, candidate: Candidate, result: AdmitResult) -> Receipt:
        match result:
            case Accepted(turn=turn, effect=effect, replies=replies):
                if turn is not None:  # a command is always taken and says nothing of the space there is
                    self._fullness.over(route_of(candidate.known, thread=candidate.thread).key)
                return Receipt(
                    verdict=Verdict.ACCEPTED,
                    turn=turn,
                    effect=effect,
                    parts=replies,
                    under_way=self._consequences.of_message(candidate, result),
                )
            case Duplicate(turn=turn):
                return Receipt(verdict=Verdict.DUPLICATE, turn=turn)
            case Conflict():
                return Receipt(verdict=Verdict.CONFLICT)
            case Full(placement=placement):
                return self._full_up(candidate, placement)
            case _:
                assert_never(result)

    def _full_up(self, candidate: Candidate, placement: Placement) -> Receipt:
        if placement is Placement.FULL_TOTAL and candidate.door.features.offers_again:
            return Receipt(verdict=Verdict.FULL)
        conversation = route_of(candidate.known, thread=candidate.thread).key
        text = self._fullness.sentence(conversation, placement)
        if text is None:
            return Receipt(verdict=Verdict.ANSWERED)
        return self._notice(candidate, text, Verdict.ANSWERED)

    def _conclude(self, step: Candidate | Ended, receipt: Receipt) -> None:
        candidate = step.candidate if isinstance(step, Ended) else step
        if candidate.noted:
            self._memory.decide(origin_of(candidate.known), delivery_key(candidate.known), receipt.verdict)


def _is_edit(step: Candidate | Ended) -> TypeGuard[Ended]:
    return isinstance(step, Ended) and isinstance(step.ending, Edit)
