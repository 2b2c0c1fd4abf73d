"""What a commit of the gateway sets off: turns are looked for, parts leave, commands do their work outside."""

from fermix.application.commands.outside import NOTHING_OUTSIDE, CarriesOut, OutsideCommand
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.gateway.outside import CommandUnderWay, OutsideCommands
from fermix.application.gateway.stages import Candidate
from fermix.application.ports.admissions import (
    Accepted,
    Admissions,
    Command,
    CommandEffect,
    Input,
    Resolved,
    Stopped,
)
from fermix.application.ports.clock import Clock
from fermix.domain.ids import MessageRow
from fermix.domain.route import Target


class Consequences:
    """Follows commits, each in the moment after it. Nothing here waits but `run` and `drained`."""

    def __init__(
        self,
        *,
        admissions: Admissions,
        dispatcher: Dispatcher,
        deliverer: Deliverer,
        clock: Clock,
        carries_out: CarriesOut = NOTHING_OUTSIDE,
    ) -> None:
        self._dispatcher = dispatcher
        self._deliverer = deliverer
        self._outside = OutsideCommands(
            carries_out=carries_out,
            admissions=admissions,
            deliverer=deliverer,
            dispatcher=dispatcher,
            clock=clock,
        )

    @property
    def is_busy(self) -> bool:
        """Whether no more commands with work outside should be taken."""
        return self._outside.is_busy

    async def run(self) -> None:
        """Do what commands have outside the ledger, until cancelled; errors that end the process pass through."""
        await self._outside.run()

    async def drained(self) -> None:
        """Return once no command waits for its work any more."""
        await self._outside.drained()

    def of_message(self, candidate: Candidate, accepted: Accepted) -> CommandUnderWay | None:
        """Follow a message that was stored; returns the command whose work begins now, when it is one."""
        admission, effect = candidate.admission, accepted.effect
        if isinstance(effect, Resolved) or (isinstance(admission, Input) and admission.media):
            self._dispatcher.look_for_media()
        if isinstance(effect, Stopped):
            self._dispatcher.stopped(effect.report)
            self._deliverer.all_withdrawn()
            self._outside.stopped()
        elif effect is not None:
            self._deliverer.look()
        self._deliverer.submit(accepted.parts)
        self._dispatcher.wake()
        return self._begin_outside(candidate, accepted.row, effect)

    def of_move(self) -> None:
        """Follow a chat that has another id by now."""
        self._deliverer.look()
        self._dispatcher.wake()

    def of_refusal(self, target: Target, text: str) -> None:
        """Say at once, and once, what became of a message of which nothing is stored."""
        self._deliverer.say(target, text)

    def _begin_outside(
        self, candidate: Candidate, row: MessageRow, effect: CommandEffect | None
    ) -> CommandUnderWay | None:
        command = candidate.admission
        if not isinstance(command, Command):
            return None
        if candidate.outside is None:
            self._answer_watchers(command, effect)
            return None
        work = OutsideCommand(
            message=command.message,
            route=command.route,
            target=command.target,
            trust=command.trust,
            work=candidate.outside,
        )
        return self._outside.submit(row, work, instead_of=command.instead_of)

    def _answer_watchers(self, command: Command, effect: CommandEffect | None) -> None:
        """Who waits at a terminal for a turn that turned out to be a command waits for its reply."""
        if command.instead_of is not None and effect is not None:
            text = "\n".join(part.text for part in command.reply(effect))
            self._dispatcher.answered(command.instead_of, text)
