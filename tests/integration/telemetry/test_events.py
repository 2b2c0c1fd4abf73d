"""Every registered event out of a running gateway: a scenario each, read back from the trace files."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.supervisor import supervise
from fermix.application.ports.admissions import Accepted, Admissions, AdmitResult, Command, Say
from fermix.application.ports.channel import (
    Channel,
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Inbox,
    Offered,
)
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.model import Model, ModelError
from fermix.application.ports.tools import ToolResult
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import REPEAT_MARK, MediaKind, MediaPart
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.message import AttachmentKind
from fermix.domain.route import route_of, target_of
from fermix.domain.streaming.draft import WRITE_EVERY
from fermix.domain.streaming.mode import StreamingMode
from fermix.domain.telemetry import EVENTS
from fermix.domain.trust import Trust
from fermix.infrastructure.telemetry.redaction import Redactor
from fermix.infrastructure.telemetry.reporter import Reporter
from fermix.infrastructure.telemetry.traces import TraceFolder, writing_traces
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_transcriber import MemoryTranscriber, ScriptedListener
from fermix.testing.transcriber_harness import Heard
from tests.unit.application.house import ACCOUNT, DOOR, MEDIA_DOOR, PUSH, TEST, House, build, running
from tests.unit.application.media_parts import HTML, OGG, MediaParts, declared
from tests.unit.application.scripted import RecordingTool, ScriptedModel, calls, message, raw, says
from tests.unit.application.test_streaming import LONG, Board, Writer

pytestmark = pytest.mark.anyio

WRITTEN = "my grandmother's maiden name"
"""What the person of every scenario writes; no trace may hold it."""

Trace = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a scenario plays on."""

    reporter: Reporter
    clock: StoppedClock

    def house(self, model: Model | None = None, **parts: Any) -> House:
        model = model or ScriptedModel([says("an answer")])
        return build(model, telemetry=self.reporter, clock=self.clock, **parts)


Scenario = Callable[[Stage], Awaitable[None]]


async def asked_and_answered(stage: Stage) -> None:
    async with running(stage.house()) as house:
        await house.write(WRITTEN)
        await house.channel.has_sent(1)


async def of_every_kind(stage: Stage) -> None:
    async with running(stage.house()) as house:
        await house.write(WRITTEN, key="k1")
        await house.write(WRITTEN, key="k1")
        await house.write(WRITTEN, key="k2", sender_id="9999", sender="Mallory Jones")
        await house.write("", key="k3")
        await house.write(WRITTEN, key="k4", chat_id=None)
        await house.channel.has_sent(2)


async def sent_with_troubles(stage: Stage) -> None:
    async with running(stage.house()) as house:
        house.channel.faults += [
            ChannelRateLimited("slow down", retry_after=timedelta(seconds=1)),
            ChannelUnreachable("nobody there"),
            ChannelOutcomeUnknown("the line broke"),
        ]
        await house.write(WRITTEN)
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            house.clock.advance(timedelta(seconds=3))
        (text,) = await house.channel.has_sent(1)
        assert text.startswith(REPEAT_MARK)
        house.channel.faults.append(ChannelRejected("the chat is gone"))
        await house.write(WRITTEN, id="m2")
        await anyio.wait_all_tasks_blocked()


async def a_file_that_is_refused(stage: Stage) -> None:
    async with running(stage.house()) as house:
        written = message(WRITTEN, registration=DOOR.registration)
        blob = BlobRef(digest="0" * 64, size_bytes=1)
        file = MediaPart(kind=MediaKind.IMAGE, blob=blob, file_name=f"{WRITTEN}.png", caption=WRITTEN)
        command = Command(
            message=written,
            route=route_of(written),
            target=target_of(written),
            trust=Trust.OPERATOR,
            work=Say(),
            reply=lambda _effect: (file,),
        )
        (admitted,) = await house.ledger.admissions.admit([command])
        assert isinstance(admitted, Accepted)
        house.channel.faults.append(ChannelRejected("too large"))
        house.deliverer.submit(admitted.parts)
        await anyio.wait_all_tasks_blocked()


async def a_streamed_draft(stage: Stage) -> None:
    model, board = Writer(), Board()
    async with running(stage.house(model, drafts=board, streaming={TEST: StreamingMode.DRAFT})) as house:
        await house.write(WRITTEN)
        await model.writes(LONG)
        await board.called("open")
        await model.writes(LONG)
        house.clock.advance(WRITE_EVERY * 2)
        await board.called("edit")
        model.ends(LONG * 2)
        await board.called("seal")


async def a_draft_that_no_answer_fills(stage: Stage) -> None:
    model, board = Writer(), Board()
    async with running(stage.house(model, drafts=board, streaming={TEST: StreamingMode.DRAFT})) as house:
        await house.write(WRITTEN)
        await model.writes(LONG)
        await board.called("open")
        model.ends(ModelError(Failure(kind=FailureKind.PROVIDER_FAILED)))
        await board.called("discard")
        await house.channel.has_sent(1)


async def streamed_blocks(stage: Stage) -> None:
    model = Writer()
    async with running(stage.house(model, streaming={TEST: StreamingMode.BLOCK})) as house:
        await house.write(WRITTEN)
        for _ in range(200):
            await model.writes(LONG)
            house.clock.advance(timedelta(seconds=1))
            await anyio.wait_all_tasks_blocked()
            if house.channel.sent:
                break
        model.ends(LONG * 200)
        await house.channel.has_sent(1)


async def commands(stage: Stage) -> None:
    async with running(stage.house()) as house:
        await house.write("/start", key="k1")
        await house.write("/retry", key="k2", sender_id="2002")
        await house.channel.has_sent(2)


async def a_gateway_that_ends(stage: Stage) -> None:
    async with running(stage.house()) as house:
        house.gateway.close()
        await house.write(WRITTEN)
        await house.write(WRITTEN, door=PUSH)
        await house.channel.has_sent(1)


class NoRoom:
    """Admissions on a full disk."""

    async def admit(self, *_batch: object, **_more: object) -> tuple[AdmitResult, ...]:
        raise LedgerUnavailable("no room")


async def a_full_disk(stage: Stage) -> None:
    async with running(stage.house()) as house:
        gateway = Gateway(
            admissions=cast("Admissions", NoRoom()),
            policies=house.policies,
            consequences=Consequences(
                admissions=cast("Admissions", NoRoom()),
                dispatcher=house.dispatcher,
                deliverer=house.deliverer,
                clock=house.clock,
            ),
            board=house.board,
            clock=house.clock,
            telemetry=stage.reporter,
        )
        await gateway.accept([Offered(message=raw(WRITTEN))], DOOR)


class Falling:
    """A channel that cannot be reached once, and then listens."""

    account = ACCOUNT
    features = ChannelFeatures()

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        self.runs += 1
        if self.runs == 1:
            raise ChannelUnreachable(f"no way to {WRITTEN}")
        await anyio.sleep_forever()


async def a_channel_that_falls_over(stage: Stage) -> None:
    house, falling = stage.house(), Falling()

    async def listen() -> None:
        await supervise(
            cast("Channel", falling),
            DOOR,
            gateway=house.gateway,
            board=house.board,
            clock=house.clock,
            cursor=None,
            telemetry=stage.reporter,
        )

    async with running(house), anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()


async def a_blank_answer(stage: Stage) -> None:
    async with running(stage.house(ScriptedModel([says(" ")]))) as house:
        await house.write(WRITTEN)
        await house.channel.has_sent(1)


async def tools_of_every_fate(stage: Stage) -> None:
    broken = RecordingTool("broken", act=lambda _: ToolResult(text=WRITTEN, failed=True))
    model = ScriptedModel([calls("fine", "broken", f"made up: {WRITTEN}"), says("done")])
    async with running(stage.house(model, tools=[RecordingTool("fine"), broken])) as house:
        await house.write(WRITTEN)
        await house.channel.has_sent(1)


async def a_model_that_repeats_itself(stage: Stage) -> None:
    model = ScriptedModel([calls(*["fine"] * 50)])
    async with running(stage.house(model, tools=[RecordingTool("fine")])) as house:
        await house.write(WRITTEN)
        await house.channel.has_sent(1)


async def a_turn_out_of_time(stage: Stage) -> None:
    async with running(stage.house(Writer(), time_limit=timedelta(milliseconds=10))) as house:
        await house.write(WRITTEN)
        await house.channel.has_sent(1)


async def a_turn_that_is_stopped(stage: Stage) -> None:
    async with running(stage.house(model := Writer())) as house:
        await house.write(WRITTEN, key="k1")
        with anyio.fail_after(5):
            while not model.asked:
                await anyio.wait_all_tasks_blocked()
        await house.write("/stop", key="k2")
        await house.channel.has_sent(1)


async def files_of_two_fates(stage: Stage) -> None:
    blobs, listener = MemoryBlobs(clock=stage.clock), ScriptedListener()
    media = MediaParts(blobs=blobs, transcriber=MemoryTranscriber(listener, blobs=blobs))
    listener.will(Heard(text=WRITTEN))
    picture = declared(AttachmentKind.IMAGE, media.server.add(HTML, name=WRITTEN))
    async with running(stage.house(media=media)) as house:
        voice = media.server.add(OGG, name=WRITTEN)
        await house.write("", key="k1", id="m1", door=MEDIA_DOOR, attachments=[voice])
        await house.channel.has_sent(1)
        await house.write("", key="k2", id="m2", door=MEDIA_DOOR, attachments=[picture])
        await anyio.wait_all_tasks_blocked()


SCENARIOS: Mapping[Scenario, Sequence[Trace]] = {
    files_of_two_fates: [
        {"event": "fermix.media_ingest.message", "kind": "audio", "status": "ok", "session_id": "main-1"},
        {"event": "fermix.transcription.message", "channel": "test", "status": "ok", "duration": 0.0},
        {"event": "fermix.media_ingest.message", "kind": "image", "status": "failed", "duration": 0.0},
    ],
    asked_and_answered: [
        {"event": "fermix.ingress.authorize", "channel": "test", "result": "ok", "trust": "operator"},
        {
            "event": "fermix.channel.message",
            "direction": "inbound",
            "result": "accepted",
            "session_id": "main-1",
        },
        {"event": "fermix.gateway.queue.request_start", "attempt": 1, "messages": 1, "session_id": "main-1"},
        {"event": "fermix.agent.history", "entries": 0, "session_id": "main-1"},
        {
            "event": "fermix.provider.call",
            "provider": "scripted",
            "model": "one",
            "status": "ok",
            "step": 1,
            "session_id": "main-1",
        },
        {"event": "fermix.gateway.queue.settle", "outcome": "completed", "session_id": "main-1"},
        {"event": "fermix.gateway.queue.request_complete", "status": "completed", "session_id": "main-1"},
        {
            "event": "fermix.channel.reply",
            "channel": "test",
            "reply_type": "text",
            "status": "sent",
            "repeated": False,
            "session_id": "main-1",
        },
        {
            "event": "fermix.channel.message",
            "direction": "outbound",
            "result": "sent",
            "session_id": "main-1",
        },
    ],
    of_every_kind: [
        {"event": "fermix.channel.message", "result": "duplicate", "session_id": "main-1"},
        {"event": "fermix.ingress.authorize", "result": "unauthorized"},
        {"event": "fermix.channel.message", "result": "unauthorized"},
        {"event": "fermix.channel.message", "result": "empty"},
        {"event": "fermix.dispatcher.normalize", "field": "chat_id"},
        {"event": "fermix.channel.message", "result": "invalid"},
        {"event": "fermix.channel.reply", "reply_type": "notice", "status": "sent"},
    ],
    sent_with_troubles: [
        {"event": "fermix.channel.reply", "status": "rate_limited", "session_id": "main-1"},
        {"event": "fermix.channel.reply", "status": "unreachable"},
        {"event": "fermix.channel.reply", "status": "unknown", "repeated": False},
        {"event": "fermix.channel.reply", "status": "sent", "repeated": True},
        {"event": "fermix.channel.reply", "status": "rejected", "session_id": "main-2"},
        {"event": "fermix.channel.message", "direction": "outbound", "result": "failed"},
    ],
    a_file_that_is_refused: [
        {
            "event": "fermix.channel.media_send_error",
            "channel": "test",
            "media_kind": "image",
            "reason": "rejected",
        },
        {"event": "fermix.channel.reply", "reply_type": "media", "status": "rejected", "duration": 0.0},
    ],
    a_streamed_draft: [
        {"event": "fermix.channel.stream", "phase": phase, "succeeded": True, "session_id": "main-1"}
        for phase in ("open", "edit", "seal")
    ],
    a_draft_that_no_answer_fills: [
        {"event": "fermix.channel.stream", "phase": "discard", "succeeded": True, "session_id": "main-1"},
        {"event": "fermix.provider.call", "status": "failed", "failure": "provider_failed"},
    ],
    streamed_blocks: [
        {"event": "fermix.channel.stream", "phase": "block", "index": 1, "session_id": "main-1"}
    ],
    commands: [
        {"event": "fermix.command.received", "command": "help"},
        {"event": "fermix.command.dispatch", "command": "help", "duration": 0.0},
        {"event": "fermix.command.received", "command": "retry"},
        {"event": "fermix.command.unauthorized", "command": "retry"},
    ],
    a_gateway_that_ends: [
        {"event": "fermix.dispatcher.agent_unavailable", "channel": "test", "reason": "restarting"},
        {"event": "fermix.channel.message", "result": "unavailable"},
    ],
    a_full_disk: [{"event": "fermix.dispatcher.agent_unavailable", "reason": "ledger"}],
    a_channel_that_falls_over: [
        {"event": "fermix.dispatcher.ingress_failed", "reason": "ChannelUnreachable", "pause": 1.0}
    ],
    a_blank_answer: [
        {"event": "fermix.dispatcher.empty_completion", "session_id": "main-1"},
        {
            "event": "fermix.gateway.queue.request_complete",
            "status": "failed",
            "failure": "empty_answer",
        },
    ],
    tools_of_every_fate: [
        {"event": "fermix.tool.exec", "tool": "fine", "status": "ok", "session_id": "main-1"},
        {"event": "fermix.tool.exec", "tool": "broken", "status": "failed"},
        {"event": "fermix.tool.exec", "tool": "unknown", "status": "failed"},
        {"event": "fermix.provider.call", "step": 2, "status": "ok"},
    ],
    a_model_that_repeats_itself: [
        {"event": "fermix.tool.exec", "tool": "fine", "status": "not_run", "duration": 0.0}
    ]
    * 50,
    a_turn_out_of_time: [
        {"event": "fermix.timeout.expired", "kind": "turn", "limit": 0.01, "session_id": "main-1"},
        {"event": "fermix.provider.call", "status": "cancelled"},
        {"event": "fermix.gateway.queue.request_complete", "status": "failed", "failure": "timed_out"},
    ],
    a_turn_that_is_stopped: [
        {"event": "fermix.gateway.queue.request_complete", "status": "cancelled", "session_id": "main-1"},
    ],
}


async def played(scenario: Scenario, home: Path) -> list[Trace]:
    clock = StoppedClock()
    folder = TraceFolder(path=home / "traces", keep_days=1)
    with writing_traces(folder, Redactor()) as writer:
        await scenario(Stage(reporter=Reporter(writer, clock), clock=clock))
    assert (writer.dropped, writer.unwritten) == (0, 0)
    return [
        json.loads(line)
        for path in sorted((home / "traces").rglob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def without(seen: list[Trace], wanted: Trace) -> list[Trace] | None:
    """What is left of the traces without the first that has all that is wanted; `None` when there is none."""
    for place, trace in enumerate(seen):
        if wanted.items() <= trace.items():
            return seen[:place] + seen[place + 1 :]
    return None


@pytest.mark.requirement(
    "telemetry.channel",
    "telemetry.command",
    "telemetry.agent_unavailable",
    "telemetry.stream_phases",
    "telemetry.transcription",
)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_what_happens_is_traced_and_nothing_that_anybody_wrote(
    scenario: Scenario, tmp_path: Path
) -> None:
    seen = await played(scenario, tmp_path)
    left = seen
    for wanted in SCENARIOS[scenario]:
        rest = without(left, wanted)
        assert rest is not None, f"{wanted} is not in\n" + "\n".join(map(str, seen))
        left = rest
    written = json.dumps(seen)
    for text in (WRITTEN, "Mallory", "9999", "1001", "2002", "an answer", "c1"):
        assert text not in written


def test_every_registered_event_has_a_scenario() -> None:
    played_ones = {wanted["event"] for wanted_ones in SCENARIOS.values() for wanted in wanted_ones}
    assert played_ones == {kind.name for kind in EVENTS.values()}
