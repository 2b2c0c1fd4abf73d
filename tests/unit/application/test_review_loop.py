"""The agent loop against models, tools and a ledger that do what they should not."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest
from typing_extensions import override

from fermix.application.agent.loop import AgentLoop
from fermix.application.agent.window import fit_to_window
from fermix.application.ports.ledger_errors import LedgerBroken
from fermix.application.ports.model import ModelAnswer, ModelError, ToolCall
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain import wording
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, ToolEntry, UserEntry
from tests.unit.application.house import build, running
from tests.unit.application.scripted import PROFILE, RecordingTool, ScriptedModel, calls, says
from tests.unit.application.test_agent_loop import task
from tests.unit.application.test_gateway import settled

pytestmark = pytest.mark.anyio


def both(bad: str, good: str = '{"n": 1}') -> ModelAnswer:
    return ModelAnswer(
        text="",
        tool_calls=(
            ToolCall(call_id="c1", name="t", arguments=bad),
            ToolCall(call_id="c2", name="t", arguments=good),
        ),
    )


async def test_a_broken_call_is_answered_and_its_neighbour_runs() -> None:
    tool = RecordingTool("t")
    work = task(ScriptedModel([both('{"path": "notes.txt",'), says("ok")]), tool)
    assert (await AgentLoop(max_iterations=9).run(work)).text == "ok"
    assert tool.calls == [{"n": 1}]
    first, second = (entry for entry in work.transcript if isinstance(entry, ToolEntry))
    assert (first.call_id, second.call_id) == ("c1", "c2")
    assert "not valid JSON" in first.text
    assert "notes.txt" in first.text
    assert len(first.text) < 500
    assert second.text == "done"


@pytest.mark.parametrize("bad", ['{"path": "notes.txt",', "[]", "{" * 50_000])
async def test_the_same_broken_call_again_and_again_ends_the_turn_whatever_stands_between(bad: str) -> None:
    steps: list[ModelAnswer | ModelError] = [both(bad, f'{{"n": {n}}}') for n in range(100)]
    model = ScriptedModel(steps)
    with pytest.raises(ModelError) as failed:
        await AgentLoop(max_iterations=100).run(task(model, RecordingTool("t")))
    assert failed.value.kind is FailureKind.LOOPING
    assert len(model.requests) == 5


async def test_a_call_that_fails_now_and_then_does_not_end_a_turn() -> None:
    outcomes = iter([True, True, True, True, False] * 4)

    def act(arguments: Mapping[str, object]) -> ToolResult:
        return ToolResult(text="?", failed=arguments == {} and next(outcomes))

    steps: list[ModelAnswer | ModelError] = []
    for n in range(20):
        steps += [calls("t"), calls("t", arguments=f'{{"n": {n}}}')]
    answer = await AgentLoop(max_iterations=50).run(
        task(ScriptedModel([*steps, says("ok")]), RecordingTool("t", act=act))
    )
    assert answer.text == "ok"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": NaN}',
        '{"a": [-Infinity]}',
        '{"a": 1e999}',
        '{"a": [-1e999]}',
        r'{"a": "\ud83d"}',
        r'{"\uDE00\ud83d": 1}',
        '{"a": "\ud83d"}',
    ],
)
async def test_what_a_stricter_reader_of_json_refuses_is_refused_and_never_kept(arguments: str) -> None:
    tool = RecordingTool("t")
    work = task(ScriptedModel([calls("t", arguments=arguments), says("ok")]), tool)
    await AgentLoop(max_iterations=3).run(work)
    assert tool.calls == []
    said = work.transcript[1]
    assert isinstance(said, AssistantEntry)
    assert said.calls[0].arguments == "{}"


async def test_half_a_surrogate_pair_in_a_text_does_not_break_the_measuring() -> None:
    model = ScriptedModel([says("x")], profile=replace(PROFILE, context_window=1000))
    entry = UserEntry(text="\ud83d")
    assert fit_to_window([entry], [entry], model, "system", ()) == (entry, entry)


async def test_a_broken_ledger_under_calls_that_run_together_is_raised_as_itself() -> None:
    class Broken(RecordingTool):
        @override
        async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
            raise LedgerBroken("the disk failed")

    class Endless(RecordingTool):
        @override
        async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
            await anyio.sleep_forever()
            raise AssertionError

    model = ScriptedModel([calls("slow", "broken"), says("never")])
    with anyio.fail_after(5), pytest.raises(LedgerBroken):
        await AgentLoop(max_iterations=3).run(task(model, Endless("slow"), Broken("broken")))


class Hanging(RecordingTool):
    """A tool that never returns."""

    @override
    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.parametrize("together", [1, 3])
async def test_a_tool_that_never_returns_is_ended_by_the_limit_of_its_turn(together: int) -> None:
    model = ScriptedModel([calls(*["look"] * together), says("fine")])
    house = build(model, tools=[Hanging("look")], time_limit=timedelta(milliseconds=30))
    async with running(house):
        await house.write("look there", id="m1")
        await house.write("and now", id="m2")
        told, answer = await house.channel.has_sent(2)
        assert "too long" in told
        assert answer == "fine"


async def test_a_tool_that_never_returns_is_ended_by_stop() -> None:
    house = build(ScriptedModel([calls("look"), says("fine")]), tools=[Hanging("look")])
    async with running(house):
        await house.write("look there", id="m1")
        await settled()
        await house.write("/stop", id="m2", chat_id="c2", reply_target="c2")
        await house.write("and now", id="m3")
        assert set(await house.channel.has_sent(2)) == {wording.stopped(running=1, waiting=0), "fine"}


async def test_a_conversation_that_is_too_long_is_told_once_each_time_and_stays_usable() -> None:
    failure = Failure(kind=FailureKind.CONTEXT_TOO_LONG, provider="scripted", model="one")
    model = ScriptedModel([says("short"), ModelError(failure), ModelError(failure), says("fresh")])
    async with running(build(model)) as house:
        await house.write("hello", id="m1")
        await house.write("x" * 5_000, id="m2")
        await house.write("again", id="m3")
        sent = await house.channel.has_sent(3)
        assert sent == ["short", wording.failed(failure), wording.failed(failure)]
        assert "/new" in sent[1]
        assert len(model.requests) == 3
        assert [type(entry) for entry in model.requests[2].entries] == [UserEntry, AssistantEntry, UserEntry]
        await house.write("/new", id="m4")
        await house.write("and now", id="m5")
        assert (await house.channel.has_sent(5))[3:] == [wording.NEW_WINDOW, "fresh"]
        assert model.requests[3].entries == (UserEntry(text="and now"),)
