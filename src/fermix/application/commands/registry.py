"""The slash commands this version has, and what each does. One list feeds parser, help and menus."""

from collections.abc import Sequence
from dataclasses import dataclass

from fermix.application.commands.outside import ChangeSandbox, Confirm, OutsideWork
from fermix.application.commands.sandbox import (
    CONFIRM,
    GRANT,
    REVOKE,
    SANDBOX,
    Wanted,
    WrongUsage,
    answer,
    read_sandbox_command,
)
from fermix.application.ports.admissions import (
    CommandEffect,
    CommandReply,
    CommandWork,
    Discard,
    DoOutside,
    OpenWindow,
    Resolved,
    RetryTurn,
    Say,
    StopEverything,
    Stopped,
)
from fermix.domain import approval_wording, wording
from fermix.domain.authorization import Authorization, ChannelAccess, Gate, passes
from fermix.domain.commands import CommandSpec, ParsedCommand, index_commands
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.message import InboundMessage
from fermix.domain.sandbox import Sandbox

HELP = CommandSpec(
    name="help",
    aliases=("start",),  # what Telegram sends for whoever opens a chat with the bot
    description="List the commands you may use",
    gate=Gate.ANY_AUTHORIZED,
)
WHOAMI = CommandSpec(
    name="whoami",
    description="Show your user id on this channel, as used for authorization",
    gate=Gate.ANY_AUTHORIZED,
)
NEW = CommandSpec(
    name="new",
    aliases=("clear",),
    description="Start a new conversation; long-term memory and scheduled jobs are kept",
    gate=Gate.OWNER_OR_ALLOWLIST,
)
STOP = CommandSpec(
    name="stop",
    description="Stop everything now, in all conversations: running requests and waiting messages",
    gate=Gate.OWNER_OR_ALLOWLIST,
)
DISCARD = CommandSpec(
    name="discard",
    description="Drop a request that was lost in a restart, so that its conversation goes on",
    gate=Gate.STRICT_OPERATOR,
    usage="[ID]",
)
RETRY = CommandSpec(
    name="retry",
    description="Run again a request that was lost in a restart, or one that failed",
    gate=Gate.STRICT_OPERATOR,
    usage="[ID]",
)

COMMANDS = (HELP, WHOAMI, NEW, STOP, SANDBOX, GRANT, REVOKE, CONFIRM, DISCARD, RETRY)
"""In the order they are listed to people."""

_INDEX = index_commands(COMMANDS)

_COMMANDS_ARE_WRITTEN = {
    ChannelName("slack"): (
        "Slack keeps what begins with / for itself: write commands after my name (@… /help), in a direct message "
        "behind a space, or as /fermix help."
    )
}
"""By channel, how a command is written where it cannot simply be typed."""


def find_command(name: str) -> CommandSpec | None:
    """The command of that name or alias; an unknown one is ordinary text."""
    return _INDEX.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who runs a command, what they may, and what the agent may.

    Attributes:
        busy: so many commands wait for their work outside the ledger that no more are taken.
    """

    message: InboundMessage
    authorization: Authorization
    access: ChannelAccess | None
    sandbox: Sandbox | None = None
    busy: bool = False

    def may(self, spec: CommandSpec) -> bool:
        """Whether this caller passes the command's gate."""
        return passes(
            spec.gate,
            authorization=self.authorization,
            sender_ids=self.message.sender.ids(),
            access=self.access,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """What the ledger does for a command, and what its sender reads.

    Attributes:
        outside: what is done after the commit, for `DoOutside`.
    """

    work: CommandWork
    reply: CommandReply
    outside: OutsideWork | None = None


def _say(text: str) -> CommandPlan:
    return CommandPlan(work=Say(), reply=lambda _effect: (TextPart(text=text),))


def _line(spec: CommandSpec) -> str:
    usage = f" {spec.usage}" if spec.usage else ""
    also = f" (also {', '.join(f'/{alias}' for alias in spec.aliases)})" if spec.aliases else ""
    return f"/{spec.name}{usage} — {spec.description}{also}"


def _help(caller: Caller) -> str:
    mine = [spec for spec in COMMANDS if caller.may(spec)]
    others = [spec for spec in COMMANDS if not caller.may(spec)]
    lines = ["Commands you may use:", *(_line(spec) for spec in mine)]
    if others:
        lines += ["", "For the owner only:", *(_line(spec) for spec in others)]
    if caller.message.channel in _COMMANDS_ARE_WRITTEN:
        lines += ["", _COMMANDS_ARE_WRITTEN[caller.message.channel]]
    return "\n".join(lines)


def _whoami(caller: Caller) -> str:
    ids = list(caller.message.sender.ids())
    if not ids:
        return f"You write from {caller.message.channel}, on this machine. You are the operator."
    also = f" (also known as {', '.join(ids[1:])})" if len(ids) > 1 else ""
    return (
        f"Your user id on {caller.message.channel} is {ids[0]}{also}. "
        f"You are {'the operator' if caller.authorization.role.value == 'operator' else 'a guest'}."
    )


def _stopped(effect: CommandEffect) -> Sequence[Part]:
    assert isinstance(effect, Stopped)  # noqa: S101  # the ledger answers StopEverything with Stopped
    report = effect.report
    return (TextPart(text=wording.stopped(running=len(report.running), waiting=report.waiting_messages)),)


def _discarded(effect: CommandEffect) -> Sequence[Part]:
    if isinstance(effect, Resolved):
        return (TextPart(text=wording.discarded(effect.turn)),)
    return (TextPart(text=wording.NOTHING_TO_DISCARD),)


def _retried(effect: CommandEffect) -> Sequence[Part]:
    if isinstance(effect, Resolved):
        return (TextPart(text=wording.retried(effect.turn)),)
    return (TextPart(text=wording.NOTHING_TO_RETRY),)


def _by_id(spec: CommandSpec, arguments: tuple[str, ...]) -> CommandPlan:
    turn = None
    if arguments:
        if (
            len(arguments) > 1
            or not arguments[0].isascii()
            or not arguments[0].isdigit()
            or len(arguments[0]) > 18
        ):
            return _say(f"Use /{spec.name} alone, or /{spec.name} and the number of one request.")
        turn = TurnId(int(arguments[0]))
    if spec is DISCARD:
        return CommandPlan(work=Discard(turn=turn), reply=_discarded)
    return CommandPlan(work=RetryTurn(turn=turn), reply=_retried)


def _do_outside(outside: OutsideWork, caller: Caller) -> CommandPlan:
    if caller.busy:
        return _say(approval_wording.TOO_MANY_COMMANDS)
    return CommandPlan(work=DoOutside(), reply=lambda _effect: (), outside=outside)


def _approval(spec: CommandSpec, arguments: tuple[str, ...], caller: Caller) -> CommandPlan:
    if spec is CONFIRM:
        if len(arguments) != 1:
            return _say(approval_wording.CONFIRM_USAGE)
        return _do_outside(Confirm(token=arguments[0]), caller)
    match read_sandbox_command(spec, arguments):
        case WrongUsage(text=text):
            return _say(text)
        case _ if caller.sandbox is None:
            return _say(wording.NO_SANDBOX)
        case Wanted(change=change):
            return _do_outside(ChangeSandbox(change=change), caller)
        case asked:
            told = answer(
                asked,
                caller.sandbox,
                trust=caller.authorization.trust,
                request_cwd=caller.message.request_cwd,
            )
            return _say(told)


def plan_command(spec: CommandSpec, command: ParsedCommand, caller: Caller) -> CommandPlan:
    """Decide what a command does for this caller; a closed gate is answered, never passed to the agent."""
    if not caller.may(spec):
        return _say(wording.NEEDS_OWNER)
    if spec in {HELP, WHOAMI}:
        return _say(_help(caller) if spec is HELP else _whoami(caller))
    if spec in {SANDBOX, GRANT, REVOKE, CONFIRM}:
        return _approval(spec, command.arguments, caller)
    if spec is NEW:
        return CommandPlan(work=OpenWindow(), reply=lambda _effect: (TextPart(text=wording.NEW_WINDOW),))
    if spec is STOP:
        return CommandPlan(work=StopEverything(), reply=_stopped)
    return _by_id(spec, command.arguments)
