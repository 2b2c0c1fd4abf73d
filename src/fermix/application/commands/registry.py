"""The slash commands this version has, and what each does. One list feeds parser, help and menus."""

from collections.abc import Sequence
from dataclasses import dataclass

from fermix.application.commands.sandbox import SANDBOX, Wanted, WrongUsage, answer, read_sandbox_command
from fermix.application.ports.admissions import (
    CommandEffect,
    CommandReply,
    CommandWork,
    Discard,
    OpenWindow,
    Resolved,
    RetryTurn,
    Say,
    StopEverything,
    Stopped,
)
from fermix.domain import wording
from fermix.domain.authorization import Authorization, ChannelAccess, Gate, passes
from fermix.domain.commands import CommandSpec, ParsedCommand, index_commands
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import TurnId
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

COMMANDS = (HELP, WHOAMI, NEW, STOP, SANDBOX, DISCARD, RETRY)
"""In the order they are listed to people."""

_INDEX = index_commands(COMMANDS)


def find_command(name: str) -> CommandSpec | None:
    """The command of that name or alias; an unknown one is ordinary text."""
    return _INDEX.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who runs a command, what they may, and what the agent may."""

    message: InboundMessage
    authorization: Authorization
    access: ChannelAccess | None
    sandbox: Sandbox | None = None

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
    """What the ledger does for a command, and what its sender reads."""

    work: CommandWork
    reply: CommandReply


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


def _sandbox(arguments: tuple[str, ...], caller: Caller) -> str:
    match read_sandbox_command(SANDBOX, arguments):
        case WrongUsage(text=text):
            return text
        case Wanted():
            return wording.SANDBOX_CHANGES_ELSEWHERE
        case _ if caller.sandbox is None:
            return wording.NO_SANDBOX
        case asked:
            return answer(
                asked,
                caller.sandbox,
                trust=caller.authorization.trust,
                request_cwd=caller.message.request_cwd,
            )


def _told(spec: CommandSpec, command: ParsedCommand, caller: Caller) -> str:
    """What a command says that changes nothing."""
    if spec is HELP:
        return _help(caller)
    return _whoami(caller) if spec is WHOAMI else _sandbox(command.arguments, caller)


def plan_command(spec: CommandSpec, command: ParsedCommand, caller: Caller) -> CommandPlan:
    """Decide what a command does for this caller; a closed gate is answered, never passed to the agent."""
    if not caller.may(spec):
        return _say(wording.NEEDS_OWNER)
    if spec in {HELP, WHOAMI, SANDBOX}:
        return _say(_told(spec, command, caller))
    if spec is NEW:
        return CommandPlan(work=OpenWindow(), reply=lambda _effect: (TextPart(text=wording.NEW_WINDOW),))
    if spec is STOP:
        return CommandPlan(work=StopEverything(), reply=_stopped)
    return _by_id(spec, command.arguments)
