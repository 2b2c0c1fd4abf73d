"""Tools that only some turns have, and calls that are a whole answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from typing_extensions import override

from fermix.application.agent.loop import AgentLoop
from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.model import ModelAnswer, ToolCall
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.authorization import Trust
from fermix.domain.capability import Capability, Scope
from fermix.domain.history import AssistantEntry, ToolEntry, UserEntry
from fermix.domain.ids import TurnId
from tests.unit.application.scripted import RecordingTool, ScriptedModel, calls, says
from tests.unit.application.test_agent_loop import task

pytestmark = pytest.mark.anyio


class Terminal(RecordingTool):
    """A tool whose call can be a whole answer."""

    @property
    @override
    def capability(self) -> Capability:
        return replace(super().capability, terminal=True)


@dataclass(slots=True)
class Sometimes(RecordingTool):
    """A tool that a turn has or has not, with arguments of its own."""

    parameters: Mapping[str, object] | None = None

    def offered(self, context: ToolContext) -> Mapping[str, object] | None:
        return self.parameters


def context(trust: Trust = Trust.OPERATOR) -> ToolContext:
    return ToolContext(turn=TurnId(1), scope=Scope(trust=trust))


async def test_a_terminal_call_alone_and_without_text_ends_the_turn() -> None:
    model = ScriptedModel([calls("nod"), says("never asked")])
    work = task(model, Terminal("nod"))
    answer = await AgentLoop(max_iterations=5).run(work)
    assert answer.text == ""
    assert len(model.requests) == 1
    assert [type(entry) for entry in work.transcript] == [UserEntry, AssistantEntry, ToolEntry]


@pytest.mark.parametrize(
    "first",
    [
        ModelAnswer(text="wait", tool_calls=calls("nod").tool_calls),
        calls("nod", "look"),
        calls("look"),
        ModelAnswer(text="", tool_calls=(ToolCall(call_id="c", name="nod", arguments="{"),)),
    ],
    ids=["with text", "with another call", "another call alone", "a call that failed"],
)
async def test_anything_else_goes_on(first: ModelAnswer) -> None:
    model = ScriptedModel([first, says("done")])
    answer = await AgentLoop(max_iterations=5).run(task(model, Terminal("nod"), RecordingTool("look")))
    assert answer.text == "done"
    assert len(model.requests) == 2


async def test_a_terminal_call_that_fails_is_told_to_the_model() -> None:
    failing = Terminal("nod", act=lambda _: ToolResult(text="not here", failed=True))
    model = ScriptedModel([calls("nod"), says("in words then")])
    assert (await AgentLoop(max_iterations=5).run(task(model, failing))).text == "in words then"


def test_a_tool_is_told_of_with_the_arguments_that_it_has_in_this_turn() -> None:
    parameters = {"type": "object", "properties": {"emoji": {"enum": ["up"]}}}
    toolbox = Toolbox([Sometimes("nod", parameters=parameters), RecordingTool("look")])
    first, _ = toolbox.definitions(context())
    assert (first.name, first.parameters) == ("nod", parameters)
    assert toolbox.offers("nod", context())


async def test_what_a_turn_does_not_have_is_neither_told_of_nor_run() -> None:
    away = Sometimes("nod")
    model = ScriptedModel([calls("nod"), says("well")])
    work = task(model, away)
    await AgentLoop(max_iterations=5).run(work)
    assert model.requests[0].tools == ()
    assert away.calls == []
    result = work.transcript[2]
    assert isinstance(result, ToolEntry)
    assert result.text == "The tool 'nod' is not available in this conversation."
    assert not work.toolbox.offers("nod", context())


@pytest.mark.requirement("snapshot.filtered_is_not_callable")
async def test_no_offer_widens_what_a_turn_may_do() -> None:
    private = Sometimes("nod", owner_data=True, parameters={"type": "object"})
    model = ScriptedModel([calls("nod"), says("well")])
    await AgentLoop(max_iterations=5).run(task(model, private, trust=Trust.GUEST))
    assert model.requests[0].tools == ()
    assert private.calls == []
