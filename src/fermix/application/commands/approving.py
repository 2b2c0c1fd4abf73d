"""Carrying out `/grant`, `/revoke`, `/sandbox …` and `/confirm`: propose, wait for the code, change, resume."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

import anyio

from fermix.application.commands.desk import ApprovalDesk, Pending
from fermix.application.commands.outside import ChangeSandbox, Confirm, OutsideCommand
from fermix.application.ports.admissions import (
    Accepted,
    Admissions,
    Album,
    Duplicate,
    Input,
    MediaToPrepare,
)
from fermix.application.ports.channel import Buttons, ChannelError
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.sandbox import ChangeRefused, SandboxChanges
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain import approval_wording as wording
from fermix.domain.approvals import NotTaken, Origin, Prompt, PromptKind, Taken
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.ids import ChannelName
from fermix.domain.sandbox_changes import SandboxChange
from fermix.domain.sandbox_wording import refusal_text
from fermix.domain.trust import Trust
from fermix.domain.wording import NEEDS_OWNER

_log = logging.getLogger("fermix.approvals")

TIDY_SECONDS = 5.0

AT_ONCE = timedelta(milliseconds=1)
"""Parts that are admitted together need no waiting for each other, but joining a turn takes some."""


class CarryOutApprovals:
    """See `CarriesOut`. Nothing that opens anything is written without its owner's code."""

    def __init__(
        self,
        *,
        changes: SandboxChanges,
        desk: ApprovalDesk,
        admissions: Admissions,
        buttons: Mapping[ChannelName, Buttons],
    ) -> None:
        self._changes = changes
        self._desk = desk
        self._admissions = admissions
        self._buttons = buttons

    async def carry_out(self, command: OutsideCommand) -> str:
        """See `CarriesOut.carry_out`."""
        try:
            match command.work:
                case ChangeSandbox(change=change):
                    return await self._change(command, change)
                case Confirm(token=token):
                    return await self._confirm(command, token)
                case _:
                    assert_never(command.work)
        except ChangeRefused as exc:
            return wording.shown(refusal_text(exc.problem, subject=exc.subject, detail=exc.detail))

    async def tidy(self, command: OutsideCommand) -> None:
        """Take the buttons of an answered prompt away, so that nobody taps in vain."""
        buttons = self._buttons.get(command.target.channel)
        if buttons is None or not isinstance(command.work, Confirm):
            return
        try:
            with anyio.fail_after(TIDY_SECONDS):
                await buttons.close(command.target, command.work.token.strip().upper())
        except (ChannelError, TimeoutError) as exc:
            _log.info("approvals.buttons_stay", extra={"cause": type(exc).__name__})

    def stopped(self) -> None:
        """See `CarriesOut.stopped`."""
        self._desk.stopped()

    async def _change(self, command: OutsideCommand, change: SandboxChange) -> str:
        proposal = await self._changes.propose(change, base=command.message.request_cwd)
        if proposal.changes_nothing:
            return wording.change_done(proposal)
        if not proposal.widens:
            return wording.change_done((await self._changes.apply(proposal)).proposal)
        if command.trust is not Trust.OPERATOR:  # a code would be theirs, and they could not confirm it
            return NEEDS_OWNER
        if not self._desk.keeps_waiting:
            return wording.typed_prompt(proposal, wording.AtTerminal())
        asked = self._desk.ask(PromptKind.TYPED, proposal, _origin(command))
        return wording.typed_prompt(asked.payload.proposal, wording.ByCode(token=asked.token))

    async def _confirm(self, command: OutsideCommand, token: str) -> str:
        answer = self._desk.answer(token, _origin(command))
        if isinstance(answer, NotTaken):
            _log.info("approvals.answer_not_taken", extra={"problem": answer.problem.value})
            return wording.not_taken(answer.problem)
        done = await self._changes.apply(answer.payload.proposal)
        _log.info(
            "approvals.granted",
            extra={"prompt": answer.prompt.id, "kind": answer.prompt.kind.value},
        )
        text = wording.change_done(done.proposal)
        if answer.prompt.kind is PromptKind.TYPED:
            return text
        return f"{text}\n{await self._resume(answer)}"

    async def _resume(self, answer: Taken[Pending]) -> str:
        """Take up what had asked; committed before the reply, and under a key of its own, so once at most."""
        remote = [turn for turn in answer.payload.waiting if turn.route.channel not in LOCAL_CHANNELS]
        if not remote:
            return wording.ASK_ONCE_MORE
        inputs = [each for turn in remote for each in _inputs(turn, answer.prompt)]
        try:
            results = await self._admissions.admit(inputs)
        except LedgerUnavailable as exc:
            _log.warning("approvals.not_resumed", extra={"cause": str(exc) or type(exc).__name__})
            return wording.TOO_MUCH_TO_RESUME
        if all(isinstance(result, Accepted | Duplicate) for result in results):
            return wording.RESUMING
        return wording.TOO_MUCH_TO_RESUME


def _origin(command: OutsideCommand) -> Origin:
    return Origin(route=command.route, user=command.message.sender.id)


def _inputs(turn: ClaimedTurn, prompt: Prompt) -> Iterator[Input]:
    """The messages of a turn as they came, to be answered again, and by one turn if it was one."""
    key = f"resume:{prompt.id}:{prompt.generation}:{turn.turn}"
    album = Album(key=key, debounce=AT_ONCE) if len(turn.messages) > 1 else None
    for position, claimed in enumerate(turn.messages):
        message = claimed.message
        yield Input(
            message=replace(message, key=f"{key}:{position}"),
            route=turn.route,
            target=claimed.target,
            trust=claimed.trust,
            scope=turn.scope,
            album=album,
            media=tuple(
                MediaToPrepare(
                    position=each.position,
                    reference=message.attachments[each.position].reference,
                    prepared=each.result,
                )
                for each in claimed.media
            ),
        )
