"""Model, tools, model, tools, answer: the loop of one turn, with its bounds."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from fermix.application.agent.arguments import kept_arguments
from fermix.application.agent.journal import Journal
from fermix.application.agent.measuring import Measuring, Outcomes, measured_calls, measured_request
from fermix.application.agent.sight import NOTHING_KEPT, Sight, forget_pictures
from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.model import Model, ModelAnswer, ModelError, ToolCall
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain import wording
from fermix.domain.events import StepStarted, TextDelta, ThoughtTold, ToolFinished, ToolStarted, TurnEvent
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import (
    AssistantEntry,
    CallRecord,
    HistoryEntry,
    MarkerEntry,
    ToolEntry,
    UserEntry,
)
from fermix.domain.loop_detection import LoopDetector, LoopVerdict

_log = logging.getLogger("fermix.agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What a turn came to: its text, perhaps blank."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask:
    """All that one run of the loop works on.

    Attributes:
        history: what came before, oldest first; cut to the model's window here.
        transcript: what this turn adds to the history, beginning with the user's entry. The loop appends
            whole steps only (an answer with the results of all its calls), so that it can be kept whatever
            happens next, and takes out pictures that the provider refused.
        corrections: asked at each boundary between steps for what the user added meanwhile.
        report: told what happens, at once; must not block.
        thoughts: whether somebody wants to know what the model thinks.
    """

    model: Model
    system: str
    history: tuple[HistoryEntry, ...]
    transcript: list[HistoryEntry]
    toolbox: Toolbox
    context: ToolContext
    journal: Journal
    report: Callable[[TurnEvent], None]
    corrections: Callable[[], Sequence[UserEntry]] = tuple
    thoughts: bool = False


class AgentLoop:
    """Runs a task to its answer. Raises `ModelError` when there is none."""

    def __init__(
        self, *, max_iterations: int, telemetry: Telemetry = UNHEARD, blobs: ReadsBlobs = NOTHING_KEPT
    ) -> None:
        self._max_iterations = max_iterations
        self._telemetry = telemetry
        self._blobs = blobs

    async def run(self, task: AgentTask) -> AgentAnswer:
        """Ask, run the calls, ask again, until the model answers without calls.

        Raises:
            ModelError: the model failed, the step limit was reached, or the model kept repeating one call.
        """
        detector = LoopDetector()
        measuring = Measuring(telemetry=self._telemetry, clock=task.journal.clock, turn=task.context.turn)
        tools = task.toolbox.definitions(task.context) if task.model.profile.tools else ()
        sight = Sight(model=task.model, system=task.system, tools=tools, blobs=self._blobs)
        for step in range(1, self._max_iterations + 1):
            if step > 1:
                task.transcript.extend(task.corrections())
                task.report(StepStarted(step=step))
            answer = await _ask(task, sight, measuring, step)
            calls = tuple(_record(call) for call in answer.tool_calls)
            said = AssistantEntry(
                text=answer.text,
                calls=calls,
                provider=task.model.profile.provider,
                provider_state=answer.provider_state,
            )
            if not calls:
                task.transcript.append(said)
                return AgentAnswer(text=answer.text)
            with measured_calls(measuring, task.toolbox, answer.tool_calls) as outcomes:
                results, stuck = await self._run_calls(task, answer.tool_calls, detector, outcomes)
            task.transcript.extend((said, *results))
            if stuck:
                raise ModelError(Failure(kind=FailureKind.LOOPING))
            if _is_whole_answer(answer, outcomes, task.toolbox):
                return AgentAnswer(text="")
        raise ModelError(
            Failure(kind=FailureKind.STEP_LIMIT, detail=wording.step_limit(self._max_iterations))
        )

    async def _run_calls(
        self, task: AgentTask, calls: Sequence[ToolCall], detector: LoopDetector, outcomes: Outcomes
    ) -> tuple[list[HistoryEntry], bool]:
        """Run the calls of one answer: neighbours that only read at the same time, others one by one.

        Returns:
            Their results, and whether the same failure has come too often.
        """
        results = outcomes.results
        warned = False
        for call in calls:
            verdict = detector.observe(call.name, call.arguments)
            if verdict is LoopVerdict.KILL:
                raise ModelError(Failure(kind=FailureKind.LOOPING))
            warned = warned or verdict is LoopVerdict.WARN
        position = 0
        spoken = False
        while position < len(calls):
            group = _group(calls, position, task)
            if task.toolbox.is_channel(calls[position].name):
                if spoken:
                    results[position] = ToolResult(
                        text="Only one call that speaks to the conversation runs per step.", failed=True
                    )
                    position += 1
                    continue
                spoken = True
            if len(group) == 1:
                await _run_into(outcomes, position, calls[position], task)
            else:
                await _run_together(outcomes, group, calls, task)
            position = group[-1] + 1
        stuck = False
        for index, call in enumerate(calls):
            error = results[index].text if results[index].failed else None
            verdict = detector.returned(call.name, call.arguments, error=error)
            stuck = stuck or verdict is LoopVerdict.KILL
        entries: list[HistoryEntry] = [
            ToolEntry(call_id=call.call_id, name=call.name, text=results[index].text)
            for index, call in enumerate(calls)
        ]
        if warned:
            entries.append(MarkerEntry(text="The same call was made three times in a row. Try another way."))
        return entries, stuck


async def _ask(task: AgentTask, sight: Sight, measuring: Measuring, step: int) -> ModelAnswer:
    """Ask for the next step; once more when all that was wrong with the request were pictures of earlier turns."""
    while True:
        request = await sight.request(task.history, task.transcript)
        try:
            with measured_request(measuring, task.model.profile, step):
                return await task.model.complete(
                    request,
                    on_text=lambda text: task.report(TextDelta(text=text)),
                    on_thought=(lambda text: task.report(ThoughtTold(text=text))) if task.thoughts else None,
                )
        except ModelError as exc:
            if not sight.looks_away(exc.failure):
                forget_pictures(exc.failure, task.transcript)
                raise


def _is_whole_answer(answer: ModelAnswer, outcomes: Outcomes, toolbox: Toolbox) -> bool:
    """Whether the only call of an answer without text did what there was to do."""
    if len(answer.tool_calls) != 1 or answer.text.strip():
        return False
    return toolbox.is_terminal(answer.tool_calls[0].name) and not outcomes.results[0].failed


async def _run_into(outcomes: Outcomes, index: int, call: ToolCall, task: AgentTask) -> None:
    task.report(ToolStarted(call_id=call.call_id, name=call.name))
    began = task.journal.clock.monotonic()
    result = await task.toolbox.run(call, task.context, task.journal)
    outcomes.took[index] = task.journal.clock.monotonic() - began
    task.report(ToolFinished(call_id=call.call_id, name=call.name, failed=result.failed))
    outcomes.results[index] = result


async def _run_together(outcomes: Outcomes, group: range, calls: Sequence[ToolCall], task: AgentTask) -> None:
    """Run calls at the same time; the first error of the ledger ends them all and is raised as it is."""
    broken: list[LedgerError] = []

    async def run(index: int, scope: anyio.CancelScope) -> None:
        try:
            await _run_into(outcomes, index, calls[index], task)
        except LedgerError as exc:
            broken.append(exc)
            scope.cancel()

    async with anyio.create_task_group() as together:
        for index in group:
            together.start_soon(run, index, together.cancel_scope)
    if broken:
        raise broken[0]


def _group(calls: Sequence[ToolCall], start: int, task: AgentTask) -> range:
    if not task.toolbox.only_reads(calls[start].name):
        return range(start, start + 1)
    end = start
    while end < len(calls) and task.toolbox.only_reads(calls[end].name):
        end += 1
    return range(start, end)


def _record(call: ToolCall) -> CallRecord:
    return CallRecord(call_id=call.call_id, name=call.name, arguments=kept_arguments(call.arguments))
