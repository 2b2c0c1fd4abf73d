"""The tool port: the code behind a capability."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol, runtime_checkable

from fermix.application.ports.access import AccessSeam
from fermix.application.ports.reply import ReplySeam
from fermix.domain.capability import Capability, Scope
from fermix.domain.ids import TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a call may know of its turn; never a handle on the gateway.

    Attributes:
        request_cwd: the folder the local asker was in, on an operator's turn only.
        access: the way to ask the owner for a folder, where there is somebody to ask.
        reply: the way to show something in the conversation before the turn ends, where it can be shown there.
    """

    turn: TurnId
    scope: Scope
    request_cwd: PurePath | None = None
    access: AccessSeam | None = None
    reply: ReplySeam | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the model reads; `failed` marks an error the model may react to."""

    text: str
    failed: bool = False


class Tool(Protocol):
    """One capability with its code."""

    @property
    def capability(self) -> Capability:
        """What the model is told, and what the filter looks at."""
        ...

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run once. Arguments are unchecked JSON; a wrong one is a failed result that says what is wrong.

        Must be cancellable and must not block the event loop. Raises nothing for expected failures; what it
        raises is a bug, reported to the model as such and logged with its cause.
        """
        ...


@runtime_checkable
class OfferedByTurn(Protocol):
    """A tool that only some turns have, or that takes other arguments in each. Others lack the method.

    It narrows: what a turn's scope leaves out stays out, and what is not offered cannot be called by name.
    """

    def offered(self, context: ToolContext) -> Mapping[str, object] | None:
        """The JSON schema of its arguments in this turn; `None` where the turn does not have the tool."""
        ...
