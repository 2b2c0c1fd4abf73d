"""What people read of approvals. What the agent or a file system said is shown so that it can imitate nothing."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeAlias, assert_never

from fermix.domain.approvals import AnswerProblem
from fermix.domain.delivery import Choice
from fermix.domain.sandbox_changes import (
    GrantPath,
    RevokePath,
    SandboxChange,
    SandboxProposal,
    SetMode,
)
from fermix.domain.sandbox_wording import change_text, done_text

MAX_REASON = 500
"""Characters shown of why the agent wants something."""

MAX_PATH = 800
"""Characters of a path that can still be asked for: a prompt shows it whole, and in one message."""

APPROVE = "Approve"
CONFIRM_USAGE = "Use /confirm and the eight characters of the code you were shown."
RESUMING = "Access is granted. I am taking up your request again."
ASK_ONCE_MORE = "Access is granted. Ask again, and I can do it now."
TOO_MUCH_TO_RESUME = (
    "Access is granted, but I could not take up your request again. Please send it once more."
)
TOO_SLOW = "That took too long, and I do not know whether it took effect. /sandbox shows how things stand."
TOO_MANY_COMMANDS = "I have too many commands to carry out just now. Please send this one again in a moment."
TOO_LONG = (
    "The path, or the list of folders that are granted already, is too long to be shown whole in a prompt."
)
NOT_HERE = "This command cannot be carried out here."
TAP_REFUSED = "You are not authorized to approve this."

_PROBLEMS = {
    AnswerProblem.UNKNOWN: "I know no such code. Codes are good for 60 seconds and until I am restarted.",
    AnswerProblem.ELSEWHERE: (
        "This code is not good here: it counts only in the chat and thread it was shown in, and from the person "
        "it was shown to."
    ),
    AnswerProblem.EXPIRED: "This code has expired: codes are good for 60 seconds. Please ask again.",
    AnswerProblem.ANSWERED: "This was answered already; the first answer counts.",
    AnswerProblem.WITHDRAWN: "This is no longer asked. Please ask again if you still want it.",
    AnswerProblem.BARRED: "Too many wrong codes. Please wait a minute.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCode:
    """The code is shown; `button`: beside a button that stands for it."""

    token: str
    button: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ByButton:
    """Others read along: there is a button, and its code is shown to nobody."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTerminal:
    """No code would live long enough to be typed: it is done with a command of its own."""


Way: TypeAlias = ByCode | ByButton | AtTerminal
"""How a prompt can be answered."""


def not_taken(problem: AnswerProblem) -> str:
    """Why an answer does not count."""
    return _PROBLEMS[problem]


def access_prompt(proposal: SandboxProposal, way: Way) -> str:
    """What the owner reads when the agent asks for a folder: which one, why, and what would change."""
    path = proposal.change.path if isinstance(proposal.change, GrantPath) else PurePath()
    reason = " ".join((proposal.reason or "").split())
    cut = f"{reason[: MAX_REASON - 1]}…" if len(reason) > MAX_REASON else reason
    return "\n".join(
        [
            "The agent asks for access to this folder and everything in it:",
            fenced([str(path)]),
            "The reason it gives:",
            fenced([cut or "none"]),
            "Change of config.toml:",
            fenced(proposal.diff),
            _how(way, proposal.change),
        ]
    )


def typed_prompt(proposal: SandboxProposal, way: Way) -> str:
    """What the owner reads who typed a change that opens something."""
    return "\n".join(
        [
            shown(change_text(proposal.change)),
            "Change of config.toml:",
            fenced(proposal.diff),
            _how(way, proposal.change),
        ]
    )


def change_done(proposal: SandboxProposal) -> str:
    """A change that was made, or that was not needed."""
    first, _, diff = done_text(proposal).partition("\n")
    return "\n".join([shown(first), fenced(diff.split("\n"))]) if diff else shown(first)


def buttons(way: Way) -> tuple[Choice, ...]:
    """The buttons under a prompt."""
    match way:
        case ByButton(token=token) | ByCode(token=token, button=True):
            return (Choice(label=APPROVE, token=token),)
        case _:
            return ()


def fenced(lines: Iterable[str]) -> str:
    """Lines as code, in a fence that nothing in them can close."""
    safe = [shown(line) for line in lines]
    longest = max((len(run) for line in safe for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *safe, fence])


def shown(text: str) -> str:
    """Text on one line, in which whatever would not be seen stands as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def command_line(change: SandboxChange) -> str | None:
    """What does the same at a terminal, as far as one command does."""
    match change:
        case GrantPath(path=path):
            return f"fermix grant path {shlex.quote(str(path))}"
        case RevokePath(path=path):
            return f"fermix revoke path {shlex.quote(str(path))}"
        case SetMode(mode=mode):
            return f"fermix sandbox mode {mode.value}"
        case _:
            return None


def _how(way: Way, change: SandboxChange) -> str:
    match way:
        case ByButton():
            return (
                "Tap Approve within 60 seconds, or ask me again in a direct message or with `fermix ask`. "
                "Without an answer nothing changes."
            )
        case ByCode(token=token, button=button):
            tap = "Tap Approve or send" if button else "Send"
            return f"{tap} `/confirm {token}` here within 60 seconds to allow it. Without it nothing changes."
        case AtTerminal():
            return at_terminal(change)
        case _:
            assert_never(way)


def at_terminal(change: SandboxChange) -> str:
    """How to do it where there is no daemon that could wait for an answer."""
    line = command_line(change)
    if line is None:
        return "Approvals need the daemon. Start it with `fermix run`, or edit the configuration file."
    return "\n".join(
        ["Approvals need the daemon. Without it, run this at a terminal, then ask again:", fenced([line])]
    )
