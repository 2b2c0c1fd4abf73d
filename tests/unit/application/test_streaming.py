"""Streaming beside the turn: what people see while an answer is written, and that it never costs the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
import pytest

from fermix.application.ports.admissions import StopEverything
from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
)
from fermix.application.ports.control import AskRequest
from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile, ModelRequest, ToolCall
from fermix.application.turns.phases import Streamed, StreamPhase
from fermix.domain.delivery import Part
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import ChannelName, PlatformMessageId
from fermix.domain.route import Target
from fermix.domain.streaming.draft import WRITE_EVERY
from fermix.domain.streaming.mode import StreamingMode, decide_mode
from fermix.testing.samples import commanding
from tests.unit.application.house import DOOR, TEST, House, build, running
from tests.unit.application.scripted import PROFILE, RecordingTool, message
from tests.unit.application.test_gateway import OWNER

pytestmark = pytest.mark.anyio

LONG = "This is long enough for a draft. "


@dataclass(slots=True)
class Board:
    """Drafts as the people of a chat see them; calls can be held up and made to fail."""

    shown: dict[PlatformMessageId, str] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    gate: anyio.Event | None = None
    stalls: int = 0
    opened: int = 0

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        await self._call("open", text)
        self.opened += 1
        draft = PlatformMessageId(f"d{self.opened}")
        self.shown[draft] = text
        return draft

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        await self._call("edit", text)
        self._change(draft, text)

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        await self._call("seal", body.text)
        self._change(draft, body.text)
        return Delivered(platform_id=draft)

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:
        await self._call("discard", draft)
        self.shown.pop(draft, None)

    def _change(self, draft: PlatformMessageId, text: str) -> None:
        if draft not in self.shown:
            raise ChannelRejected("there is no such draft")
        self.shown[draft] = text

    async def _call(self, name: str, text: str) -> None:
        self.calls.append((name, text))
        if self.gate is not None:
            await self.gate.wait()
        if self.stalls:
            self.stalls -= 1
            await anyio.sleep_forever()
        if self.faults:
            raise self.faults.pop(0)

    async def called(self, name: str) -> None:
        with anyio.fail_after(5):
            while name not in self.names():
                await anyio.wait_all_tasks_blocked()

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@dataclass(slots=True)
class Writer:
    """A model that writes what the test tells it to, when it tells it to."""

    profile: ModelProfile = PROFILE
    on_text: Callable[[str], None] = print
    asked: int = 0
    _asked: anyio.Event = field(default_factory=anyio.Event)
    _answer: anyio.Event = field(default_factory=anyio.Event)
    _ending: ModelAnswer | ModelError | None = None

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        self.on_text, self.asked = on_text, self.asked + 1
        self._asked.set()
        await self._answer.wait()
        self._answer = anyio.Event()
        assert self._ending is not None
        if isinstance(self._ending, ModelError):
            raise self._ending
        return self._ending

    def ends(self, ending: ModelAnswer | ModelError | str) -> None:
        self._ending = ModelAnswer(text=ending) if isinstance(ending, str) else ending
        self._answer.set()

    async def writes(self, text: str) -> None:
        with anyio.fail_after(5):
            await self._asked.wait()
        self.on_text(text)
        await anyio.wait_all_tasks_blocked()


@dataclass(slots=True)
class Scene:
    """One house whose model the test writes with."""

    house: House
    board: Board
    model: Writer
    phases: list[Streamed]
    modes: dict[ChannelName, StreamingMode]

    async def passes(self, by: timedelta = WRITE_EVERY) -> None:
        self.house.clock.advance(by)
        await anyio.wait_all_tasks_blocked()

    async def ends(self, ending: ModelAnswer | ModelError | str) -> None:
        self.model.ends(ending)
        await anyio.wait_all_tasks_blocked()

    def seen(self) -> list[str]:
        """Everything the chat shows."""
        return [*self.board.shown.values(), *(part.body.text for part in self.house.channel.sent)]


def scene(
    mode: StreamingMode = StreamingMode.DRAFT, *, can_draft: bool = True, call_seconds: float = 5.0
) -> Scene:
    board, model, phases, modes = Board(), Writer(), list[Streamed](), {TEST: mode}
    house = build(
        model,
        tools=[RecordingTool("look")],
        drafts=board if can_draft else None,
        streaming=modes,
        observe=phases.append,
        call_seconds=call_seconds,
    )
    return Scene(house=house, board=board, model=model, phases=phases, modes=modes)


@pytest.mark.requirement("streaming.draft.opens_and_edits", "streaming.draft.ends")
async def test_a_draft_grows_once_a_second_and_ends_as_the_answer() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        for word in ("one ", "two ", "three "):
            await act.model.writes(word)
        await act.passes()
        await act.model.writes("four")
        await act.ends(LONG + "one two three four")
        assert act.board.calls == [
            ("open", LONG.rstrip()),
            ("edit", LONG + "one two three"),
            ("seal", LONG + "one two three four"),
        ]
        assert act.seen() == [LONG + "one two three four"]
        assert (await house.ledger.queue.counts()).open_parts == 0
    assert [one.phase for one in act.phases] == [StreamPhase.OPEN, StreamPhase.EDIT, StreamPhase.SEAL]
    assert act.phases[-1].dropped == 3


async def test_a_short_answer_is_a_message_like_any_other() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes("Short.")
        await act.ends("Short.")
        assert act.board.calls == []
        assert await house.channel.has_sent(1) == ["Short."]


async def test_a_slow_platform_holds_nobody_and_sees_the_newest_text_only() -> None:
    act = scene()
    act.board.gate = anyio.Event()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        for number in range(20):
            await act.model.writes(f"{number} ")
            await act.passes()
        assert act.board.names() == ["open"]
        act.board.gate.set()
        await anyio.wait_all_tasks_blocked()
        assert act.board.calls[-1] == ("edit", LONG + " ".join(map(str, range(20))))
        await act.ends("the end")
        assert act.seen() == ["the end"]


async def test_the_reply_waits_for_the_write_under_way_so_that_it_cannot_land_later() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.gate = anyio.Event()
        await act.model.writes("more")
        await act.passes()
        await act.ends("the end")
        assert act.board.names() == ["open", "edit"]
        act.board.gate.set()
        await anyio.wait_all_tasks_blocked()
        assert act.board.names() == ["open", "edit", "seal"]
        assert act.seen() == ["the end"]


async def test_a_write_that_gets_no_answer_makes_the_reply_a_message_of_its_own() -> None:
    act = scene(call_seconds=0.05)
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.stalls = 1
        await act.model.writes("more")
        await act.passes()
        await act.ends("the end")
        assert await house.channel.has_sent(1) == ["the end"]
        await act.board.called("discard")
        assert act.board.names() == ["open", "edit", "discard"]
        assert act.board.shown == {}


async def test_an_opening_that_gets_no_answer_is_never_tried_again() -> None:
    act = scene(call_seconds=0.05)
    act.board.stalls = 1
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await act.model.writes("more")
        await act.passes(timedelta(seconds=9))
        await act.ends("the end")
        assert await house.channel.has_sent(1) == ["the end"]
        assert act.board.names() == ["open"]


@pytest.mark.requirement("streaming.draft.ends")
async def test_stop_removes_the_draft() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await house.write("/stop", id="m2")
        (reply,) = await house.channel.has_sent(1)
        await anyio.wait_all_tasks_blocked()
        assert act.seen() == [reply]
        assert house.dispatcher.running() == 0
    assert act.phases[-1].phase is StreamPhase.DISCARD


async def test_a_draft_that_is_being_opened_at_the_stop_is_removed_too() -> None:
    act = scene()
    act.board.gate = anyio.Event()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await house.write("/stop", id="m2")
        await house.channel.has_sent(1)
        act.board.gate.set()
        await act.board.called("discard")
        assert act.board.names() == ["open", "discard"]
        assert act.board.shown == {}


async def test_a_failed_turn_leaves_its_apology_only() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await act.ends(ModelError(Failure(kind=FailureKind.UNREACHABLE, provider="p")))
        (apology,) = await house.channel.has_sent(1)
        await anyio.wait_all_tasks_blocked()
        assert act.seen() == [apology]


async def test_a_text_that_begins_anew_does_no_harm() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG + "and a comment before the tool")
        await act.ends(ModelAnswer(text="", tool_calls=(ToolCall(call_id="1", name="look", arguments="{}"),)))
        await act.passes()
        assert act.model.asked == 2
        assert act.board.names() == ["open"]
        await act.model.writes("The")
        await act.passes()
        assert act.board.calls[-1] == ("edit", "The")
        await act.ends("The answer")
        assert act.seen() == ["The answer"]


async def test_a_wait_for_drafts_slows_them_down_and_the_reply_comes_at_once() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [ChannelRateLimited("too fast", retry_after=timedelta(seconds=30))]
        await act.model.writes("more")
        await act.passes()
        await act.model.writes(" and more")
        await act.passes(timedelta(seconds=20))
        assert act.board.names() == ["open", "edit"]
        await act.ends("the end")
        assert act.seen() == ["the end"]
        assert act.board.names() == ["open", "edit", "seal"]


@pytest.mark.parametrize(
    "fault",
    [
        ChannelRejected("no"),
        ChannelRateLimited("wait", retry_after=timedelta(seconds=60)),
    ],
)
async def test_a_seal_that_cannot_be_is_a_message_of_its_own_and_no_draft(fault: ChannelError) -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [fault]
        await act.ends("the end")
        assert act.board.names() == ["open", "seal", "discard"]
        assert act.seen() == ["the end"]


@pytest.mark.parametrize("fault", [ChannelUnreachable("gone"), ChannelOutcomeUnknown("?")])
async def test_a_seal_that_may_be_tried_again_is_tried_again_and_carries_no_mark(fault: Exception) -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [fault]
        await act.ends("the end")
        assert act.board.names() == ["open", "seal"]
        await act.passes()
        assert act.board.names() == ["open", "seal", "seal"]
        assert act.seen() == ["the end"]


async def test_a_seal_of_which_nobody_ever_knows_becomes_a_message_of_its_own() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [ChannelOutcomeUnknown("?") for _ in range(3)]
        await act.ends("the end")
        for _ in range(4):
            await act.passes(timedelta(seconds=2))
        assert act.board.names() == ["open", "seal", "seal", "seal", "discard"]
        assert act.seen() == ["the end"]


async def test_a_reply_whose_draft_may_already_read_so_is_marked() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [*[ChannelOutcomeUnknown("?") for _ in range(3)], ChannelUnreachable("gone")]
        await act.ends("the end")
        for _ in range(4):
            await act.passes(timedelta(seconds=2))
        assert await house.channel.has_sent(1) == ["(possibly sent before)\nthe end"]


async def test_an_edit_of_which_nobody_knows_makes_the_reply_a_message_of_its_own() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [ChannelOutcomeUnknown("?")]
        await act.model.writes("more")
        await act.passes()
        await act.ends("the end")
        assert act.seen() == ["the end"]
        assert act.board.names() == ["open", "edit", "discard"]


async def test_a_reply_that_waits_to_be_sealed_goes_with_its_draft_when_everything_is_stopped() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.faults = [ChannelUnreachable("gone")]
        await act.ends("the end")
        await house.write("/stop", id="m2")
        (reply,) = await house.channel.has_sent(1)
        await anyio.wait_all_tasks_blocked()
        assert act.seen() == [reply]


async def test_a_bug_of_an_adapter_costs_the_draft_and_not_the_answer() -> None:
    act = scene()
    act.board.faults = [RuntimeError("a bug")]
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await act.ends("the end")
        assert await house.channel.has_sent(1) == ["the end"]


@pytest.mark.requirement("recovery.draft_is_adopted")
@pytest.mark.parametrize("mode", [StreamingMode.DRAFT, StreamingMode.OFF])
async def test_the_next_run_of_a_turn_takes_over_its_draft(mode: StreamingMode) -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        (turn,) = house.dispatcher.claims()
        assert await house.ledger.turns.release(turn.turn, generation=turn.generation)
        (again,) = (await house.ledger.turns.claim(limit=1, channels={turn.route.channel})).turns
        assert again.drafts == ("d1",)
        assert await house.ledger.turns.release(again.turn, generation=again.generation)
        assert (await house.ledger.queue.counts()).waiting == 1
    survivor = scene(mode)
    survivor.board.shown = {PlatformMessageId("d1"): "what the first run had shown"}
    survivor.house = build(
        survivor.model, ledger=act.house.ledger, drafts=survivor.board, streaming=survivor.modes
    )
    async with running(survivor.house) as house:
        house.dispatcher.wake()
        await survivor.model.writes("New words")
        await survivor.ends("New words, whole")
        assert survivor.seen() == ["New words, whole"]
        assert "open" not in survivor.board.names()


async def test_a_draft_of_an_earlier_run_that_cannot_be_changed_is_replaced_and_removed() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        (turn,) = house.dispatcher.claims()
        assert await house.ledger.turns.release(turn.turn, generation=turn.generation)
    survivor = scene()
    survivor.board.opened = 1
    survivor.board.faults = [ChannelRejected("not this text")]
    survivor.board.shown = {PlatformMessageId("d1"): "what the first run had shown"}
    survivor.house = build(
        survivor.model, ledger=act.house.ledger, drafts=survivor.board, streaming=survivor.modes
    )
    async with running(survivor.house) as house:
        house.dispatcher.wake()
        await survivor.model.writes(LONG)
        survivor.house.clock.advance(WRITE_EVERY)
        await anyio.wait_all_tasks_blocked()
        await survivor.ends("the end")
        assert survivor.seen() == ["the end"]


async def test_a_seal_that_was_under_way_at_a_death_is_repeated_without_a_mark() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        act.board.gate = anyio.Event()
        await act.ends("the end")
        assert act.board.names() == ["open", "seal"]
    survivor = scene()
    survivor.board.shown = {PlatformMessageId("d1"): "the end, or not"}
    survivor.house = build(
        survivor.model, ledger=act.house.ledger, drafts=survivor.board, streaming=survivor.modes
    )
    async with running(survivor.house) as house:
        recovered = await house.ledger.ownership.recover(channels={TEST})
        assert [part.repeated for part in recovered.parts] == [True]
        house.deliverer.submit(recovered.parts)
        await anyio.wait_all_tasks_blocked()
        assert survivor.seen() == ["the end"]


async def test_a_draft_that_a_process_left_behind_which_died_at_the_stop_is_removed_by_the_next() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        stopping = message("/stop", id="m2", registration=DOOR.registration)
        await house.ledger.admissions.admit([commanding(stopping, StopEverything())])
    survivor = scene()
    survivor.board.shown = {PlatformMessageId("d1"): "what the first run had shown"}
    survivor.house = build(
        survivor.model, ledger=act.house.ledger, drafts=survivor.board, streaming=survivor.modes
    )
    await survivor.house.ledger.ownership.take(instance="the next", boot="boot")
    async with running(survivor.house):
        await survivor.board.called("discard")
        await anyio.wait_all_tasks_blocked()
        assert survivor.board.shown == {}
        assert survivor.board.calls == [("discard", "d1")]


@pytest.mark.requirement("streaming.draft.needs_ability")
async def test_drafts_that_a_channel_cannot_show_are_no_blocks_instead() -> None:
    act = scene(can_draft=False)
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes(LONG)
        await act.passes(timedelta(seconds=5))
        assert house.channel.sent == []
        await act.ends("the end")
        assert await house.channel.has_sent(1) == ["the end"]


@pytest.mark.requirement("streaming.block.chunks")
async def test_blocks_are_messages_of_their_own_and_the_reply_is_what_is_left() -> None:
    act = scene(StreamingMode.BLOCK)
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes("Let me look.")
        await act.passes()
        assert act.seen() == ["Let me look."]
        await act.model.writes(" Then")
        await act.ends("Let me look. Then more.")
        assert act.seen() == ["Let me look.", " Then more."]
        assert act.board.calls == []
    assert [one.phase for one in act.phases] == [StreamPhase.BLOCK]


@pytest.mark.requirement("streaming.resolved_once_per_turn")
async def test_how_a_turn_streams_is_decided_at_its_start() -> None:
    act = scene()
    async with running(act.house) as house:
        await house.write("hello")
        await act.model.writes("A few words. ")
        act.modes[TEST] = StreamingMode.OFF
        await act.model.writes(LONG)
        assert act.board.names() == ["open"]
        await act.ends("the end")
        await house.write("again", id="m2")
        await act.model.writes(LONG)
        assert act.board.names() == ["open", "seal"]
        await act.ends("the second end")
        assert act.seen() == ["the end", "the second end"]


@pytest.mark.requirement("streaming.piped_ask_does_not_stream")
async def test_an_asker_at_a_terminal_gets_no_drafts() -> None:
    act = scene()
    async with running(act.house) as house, anyio.create_task_group() as tasks:

        async def ask() -> None:
            async with house.ask(AskRequest(request="r1", text="hello"), OWNER) as events:
                async for _event in events:
                    pass

        tasks.start_soon(ask)
        await act.model.writes(LONG)
        await act.passes(timedelta(seconds=5))
        assert act.board.calls == []
        await act.ends(LONG)


@pytest.mark.parametrize("wanted", list(StreamingMode))
async def test_what_nobody_attends_never_streams(wanted: StreamingMode) -> None:
    assert decide_mode(wanted, can_draft=True, attended=False) is StreamingMode.OFF
    assert decide_mode(wanted, can_draft=True, attended=True) is wanted
