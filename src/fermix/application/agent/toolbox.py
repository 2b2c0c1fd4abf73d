"""The capabilities of one process with their code, and running one call of a turn that may use it."""

import logging
from collections.abc import Iterable, Mapping

from fermix.application.agent.arguments import BadArguments, read_arguments
from fermix.application.agent.journal import Journal
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.model import ToolCall, ToolDefinition
from fermix.application.ports.tools import OfferedByTurn, Tool, ToolContext, ToolResult
from fermix.domain.capability import RiskClass
from fermix.domain.normalise import clean

_log = logging.getLogger("fermix.tools")

MAX_RESULT = 200_000
"""Characters of a result the model gets to read."""


class Toolbox:
    """All registered tools. What a turn's scope filters out cannot be called by name either."""

    def __init__(self, tools: Iterable[Tool], *, computer_use: bool = False) -> None:
        """Register the tools.

        Args:
            tools: in the order in which models are told of them.
            computer_use: whether the owner lets the agent use the screen; without it, tools that do are left
                out, so that nobody's turn has them.

        Raises:
            ValueError: two have the same name.
        """
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.capability.risk is RiskClass.GUI_CONTROL and not computer_use:
                continue
            if tool.capability.name in self._tools:
                raise ValueError(f"capability {tool.capability.name!r} is registered twice")
            self._tools[tool.capability.name] = tool

    def definitions(self, context: ToolContext) -> tuple[ToolDefinition, ...]:
        """What a model is told in this turn, in the order of registration."""
        return tuple(
            ToolDefinition(
                name=tool.capability.name, description=tool.capability.description, parameters=parameters
            )
            for tool in self._tools.values()
            if (parameters := _offered(tool, context)) is not None
        )

    def offers(self, name: str, context: ToolContext) -> bool:
        """Whether this turn has a tool of that name."""
        tool = self._tools.get(name)
        return tool is not None and _offered(tool, context) is not None

    def knows(self, name: str) -> bool:
        """Whether a tool of that name is registered, available or not."""
        return name in self._tools

    def only_reads(self, name: str) -> bool:
        """Whether calls of that name may run at the same time."""
        tool = self._tools.get(name)
        return tool is not None and tool.capability.risk is RiskClass.READ_ONLY and not self.is_channel(name)

    def is_channel(self, name: str) -> bool:
        """Whether it speaks to the conversation."""
        tool = self._tools.get(name)
        return tool is not None and tool.capability.category == "channel"

    def is_terminal(self, name: str) -> bool:
        """Whether a call of that name can be a whole answer."""
        tool = self._tools.get(name)
        return tool is not None and tool.capability.terminal

    async def run(self, call: ToolCall, context: ToolContext, journal: Journal) -> ToolResult:
        """Run one call, or say why not. Never raises for what a tool or a model does wrong.

        Raises:
            LedgerError: the call could not be journalled; it did not run.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            return _refused(call, f"There is no tool named {call.name[:80]!r}.")
        if _offered(tool, context) is None:
            return _refused(call, f"The tool {call.name!r} is not available in this conversation.")
        try:
            arguments = read_arguments(call.arguments)
        except BadArguments as exc:
            return _refused(call, f"{exc} Nothing was run.")
        capability = tool.capability
        step = await journal.begin(capability, call) if capability.journalled else None
        try:
            result = await tool.call(arguments, context)
        except LedgerError:
            raise
        except Exception:  # noqa: BLE001  # a tool's bug is a failed call for the model, and a traceback for us
            _log.exception("tool.failed", extra={"tool": call.name, "turn": context.turn})
            result = ToolResult(text=f"The tool {call.name!r} failed with an internal error.", failed=True)
        result = ToolResult(text=_bounded(clean(result.text)), failed=result.failed)
        if step is not None:
            await journal.end(step, result)
        _log.info("tool.finished", extra={"tool": call.name, "turn": context.turn, "failed": result.failed})
        return result


def _offered(tool: Tool, context: ToolContext) -> Mapping[str, object] | None:
    """What a tool takes in this turn; `None` where the turn does not have it. The scope has the first word."""
    if not context.scope.allows(tool.capability):
        return None
    return tool.offered(context) if isinstance(tool, OfferedByTurn) else tool.capability.parameters


def _refused(call: ToolCall, text: str) -> ToolResult:
    _log.warning("tool.not_run", extra={"tool": repr(call.name[:80]), "cause": text.partition(":")[0]})
    return ToolResult(text=clean(text), failed=True)


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT:
        return text
    return f"{text[:MAX_RESULT]}\n[cut after {MAX_RESULT} characters]"
