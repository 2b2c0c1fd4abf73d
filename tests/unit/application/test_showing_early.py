"""Files and reactions that a turn shows before it ends, from the model's call to the channel and the history."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.channel import ChannelFeatures, ChannelRejected, ChannelUnreachable
from fermix.application.ports.model import ModelAnswer, ToolCall
from fermix.application.ports.outbox import SendingPart, Sent
from fermix.application.ports.tools import Tool
from fermix.domain import wording
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.caps import CAPS
from fermix.domain.delivery import REPEAT_MARK, MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, ToolEntry, UserEntry
from fermix.domain.ids import ChannelName, ChatId, LaneId, PartId, PlatformMessageId, TurnId
from fermix.domain.route import Target
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.sandbox import SandboxSettings
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.tools.attachments import SendAttachment
from fermix.infrastructure.tools.reactions import React
from fermix.infrastructure.workspace.folders import FolderWorkspace
from fermix.infrastructure.workspace.roots import Places
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_ledger import MemoryLedger
from tests.unit.application.house import ACCOUNT, DOOR, TEST, House, TestChannel, build, running
from tests.unit.application.scripted import ScriptedModel, says
from tests.unit.application.test_trust_table import asked_with

pytestmark = pytest.mark.anyio

TELEGRAM = ChannelFeatures.within(CAPS[ChannelName("telegram")])
DISCORD = ChannelFeatures.within(CAPS[ChannelName("discord")])
FILES_ONLY = ChannelFeatures(media_out=TELEGRAM.media_out)
NOTHING = ChannelFeatures()
THUMB = ReactionPart(message=PlatformMessageId("m1"), emoji="👍")

MakeHouse = Callable[..., House]


def call(name: str, **arguments: object) -> ModelAnswer:
    return ModelAnswer(
        text="", tool_calls=(ToolCall(call_id="c1", name=name, arguments=json.dumps(arguments)),)
    )


def sends(**more: object) -> ModelAnswer:
    return call("send_attachment", path="report.csv", **more)


def reacts(emoji: str = "👍") -> ModelAnswer:
    return call("react", emoji=emoji)


@pytest.fixture
def house_of(tmp_path: Path) -> MakeHouse:
    """A house whose agent has one file in its workspace."""
    home = tmp_path / "user" / ".fermix"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "report.csv").write_text("name,amount\n")
    sandbox = sandbox_of(SandboxSettings(), home=home, user_home=tmp_path / "user", launch_folder=None)
    workspace = FolderWorkspace(places=Places(sandbox=lambda: sandbox), clock=SystemClock())

    def make(
        model: ScriptedModel, features: ChannelFeatures = TELEGRAM, ledger: MemoryLedger | None = None
    ) -> House:
        tools: list[Tool] = [
            SendAttachment(workspace=workspace, blobs=MemoryBlobs(clock=StoppedClock())),
            React(),
        ]
        return build(model, tools=tools, channel=TestChannel(features=features), ledger=ledger)

    return make


async def settled(house: House) -> None:
    """Back when nothing waits, runs or leaves."""
    with anyio.fail_after(5):
        while True:
            counts = await house.ledger.queue.counts()
            if not (counts.waiting or counts.running or counts.open_parts):
                return
            await anyio.wait_all_tasks_blocked()


async def remembered(house: House) -> tuple[HistoryEntry, ...]:
    return await house.ledger.conversations.history(LaneId(1), window=0)


def tool_result(model: ScriptedModel) -> str:
    """What the model read last."""
    entry = model.requests[-1].entries[-1]
    assert isinstance(entry, ToolEntry)
    return entry.text


@pytest.mark.requirement("reaction.instead_of_filler", "turn.blank_completion.marker")
async def test_a_reaction_is_a_whole_answer_and_a_marker_stands_for_it(house_of: MakeHouse) -> None:
    model = ScriptedModel([reacts(), says("never asked")])
    async with running(house_of(model)) as house:
        await house.write("thanks!")
        await settled(house)
        entries = await remembered(house)
    assert [part.body for part in house.channel.sent] == [THUMB]
    assert len(model.requests) == 1
    assert [type(entry) for entry in entries] == [UserEntry, AssistantEntry, ToolEntry, MarkerEntry]
    assert entries[-1].text == "You answered the message above with the reaction 👍, and without words."


@pytest.mark.requirement("outbound_media.through_the_reply_port", "turn.blank_completion.marker")
async def test_a_file_without_words_after_it_is_an_answer(house_of: MakeHouse) -> None:
    model = ScriptedModel([sends(caption="Here"), says("  ")])
    async with running(house_of(model)) as house:
        await house.write("send me the report")
        await settled(house)
        entries = await remembered(house)
    (part,) = (part.body for part in house.channel.sent)
    assert isinstance(part, MediaPart)
    assert (part.kind, part.file_name, part.caption) == (MediaKind.DOCUMENT, "report.csv", "Here")
    assert (
        tool_result(model) == '"report.csv" (12 bytes, text/csv) was sent as a file of the kind `document`.'
    )
    assert [type(entry) for entry in entries] == [UserEntry, AssistantEntry, ToolEntry, MarkerEntry]
    assert entries[-1].text.startswith('You answered the message above with the file "report.csv"')


async def test_a_file_comes_before_the_words_that_follow_it(house_of: MakeHouse) -> None:
    model = ScriptedModel([sends(), says("That is all.")])
    async with running(house_of(model)) as house:
        await house.write("send me the report")
        await settled(house)
        entries = await remembered(house)
    assert [part.body.text for part in house.channel.sent] == ["", "That is all."]
    assert entries[-1] == AssistantEntry(text="That is all.", provider="scripted")


async def test_a_caption_that_is_too_long_goes_on_in_texts(house_of: MakeHouse) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    model = ScriptedModel([sends(caption=words), says("")])
    async with running(house_of(model)) as house:
        await house.write("send me the report")
        await settled(house)
    file, text = (part.body for part in house.channel.sent)
    assert isinstance(file, MediaPart)
    assert isinstance(text, TextPart)
    assert f"{file.caption} {text.text}" == words
    assert len(f"{REPEAT_MARK}\n{file.caption}") <= 1024


async def test_the_same_file_asked_for_twice_is_shown_once(house_of: MakeHouse) -> None:
    model = ScriptedModel([sends(), sends(), says("There.")])
    async with running(house_of(model)) as house:
        await house.write("send me the report")
        await settled(house)
    assert [type(part.body) for part in house.channel.sent] == [MediaPart, TextPart]


@pytest.mark.requirement("turn.blank_completion")
async def test_a_reaction_that_was_refused_is_no_answer_and_the_model_is_told(house_of: MakeHouse) -> None:
    model = ScriptedModel([reacts(), says("You are welcome.")])
    house = house_of(model)
    house.channel.faults.append(ChannelRejected("REACTION_INVALID"))
    async with running(house):
        await house.write("thanks!")
        await settled(house)
        entries = await remembered(house)
    assert "REACTION_INVALID" in tool_result(model)
    assert "short line" in tool_result(model)
    assert [part.body.text for part in house.channel.sent] == ["You are welcome."]
    assert entries[-1].text == "You are welcome."


@pytest.mark.requirement("turn.blank_completion")
async def test_nothing_shown_and_nothing_said_is_still_no_answer(house_of: MakeHouse) -> None:
    model = ScriptedModel([sends(), says("")])
    house = house_of(model)
    house.channel.faults.append(ChannelRejected("too large"))
    async with running(house):
        await house.write("send me the report")
        await settled(house)
        entries = await remembered(house)
    assert [part.body.text for part in house.channel.sent] == [wording.EMPTY_ANSWER]
    assert entries == ()


async def test_a_turn_is_complete_only_when_what_it_showed_early_has_left_too(house_of: MakeHouse) -> None:
    house = house_of(ScriptedModel([says("never")]))
    ended: list[TurnId] = []
    turn = TurnId(7)
    early = SendingPart(
        part=PartId(1),
        turn=turn,
        ordinal=0,
        target=Target(channel=TEST, account=ACCOUNT, chat=ChatId("c1")),
        body=THUMB,
        nonce="n",
        created_at=house.clock.now(),
    )
    async with running(house):
        assert house.deliverer.submit_early(turn, None) is None
        shown = house.deliverer.submit_early(turn, early)
        house.deliverer.expect(turn, 0, ended.append)
        assert shown is not None
        assert await shown.ended(within=5) == Sent(platform_id=PlatformMessageId("p1"))
        assert ended == []
        house.deliverer.submit_early(turn, replace(early, part=PartId(2)))
        house.deliverer.submit([replace(early, part=PartId(3))])
        await house.channel.has_sent(3)
        await anyio.wait_all_tasks_blocked()
    assert ended == [turn]


@pytest.mark.requirement("reaction.offered_where_supported", "reaction.allowed_sets")
@pytest.mark.parametrize(
    ("features", "offered"),
    [
        (TELEGRAM, ["send_attachment", "react"]),
        (DISCORD, ["send_attachment", "react"]),
        (FILES_ONLY, ["send_attachment"]),
        (NOTHING, []),
    ],
)
async def test_what_a_channel_cannot_show_is_not_offered(
    house_of: MakeHouse, features: ChannelFeatures, offered: list[str]
) -> None:
    model = ScriptedModel([says("hello")])
    async with running(house_of(model, features)) as house:
        await house.write("hello")
        await settled(house)
    tools = {tool.name: tool.parameters for tool in model.requests[0].tools}
    assert list(tools) == offered
    if features is TELEGRAM:
        assert "🫡" in json.dumps(tools["react"], ensure_ascii=False)
    if features is DISCORD:
        assert "enum" not in json.dumps(tools["react"])
    reacting = "react" in offered
    assert ("`react`" in model.requests[0].system) is reacting
    assert ("one brief" in model.requests[0].system) is not reacting


@pytest.mark.requirement("reaction.cli_answers_in_text")
async def test_at_a_terminal_an_acknowledgement_is_a_brief_line(house_of: MakeHouse) -> None:
    model = ScriptedModel([reacts(), says("You are welcome.")])
    async with running(house_of(model, NOTHING)) as house:
        await house.write("thanks!")
        await settled(house)
    assert "one brief\nline" in model.requests[0].system
    assert tool_result(model) == "The tool 'react' is not available in this conversation."
    assert [part.body.text for part in house.channel.sent] == ["You are welcome."]


@pytest.mark.requirement("trust.owner_data.hidden_from_guests")
async def test_a_guest_may_be_reacted_to_and_is_sent_no_file(house_of: MakeHouse) -> None:
    model = ScriptedModel([sends(), reacts()])
    async with running(house_of(model)) as house:
        await house.write("send me the report", sender_id="2002")
        await settled(house)
    assert [tool.name for tool in model.requests[0].tools] == ["react"]
    assert "not available" in tool_result(model)
    assert [part.body for part in house.channel.sent] == [THUMB]


async def test_work_that_was_handed_on_has_no_conversation_to_show_anything_in(house_of: MakeHouse) -> None:
    model = ScriptedModel([says("done")])
    async with running(house_of(model)) as house:
        await house.ledger.admissions.admit([asked_with(Scope(trust=Trust.OPERATOR).handed_on(), "1001")])
        house.dispatcher.wake()
        await settled(house)
    assert model.requests[0].tools == ()


async def test_a_reaction_goes_on_the_last_message_that_a_turn_answers(house_of: MakeHouse) -> None:
    model = ScriptedModel([reacts()])
    house = house_of(model)
    door = replace(DOOR, album_debounce=timedelta(seconds=3))
    async with running(house):
        await house.write("one", id="a1", album="g1", door=door)
        await house.write("two", id="a2", album="g1", door=door)
        await anyio.wait_all_tasks_blocked()
        house.clock.advance(timedelta(seconds=4))
        await settled(house)
    assert [part.body for part in house.channel.sent] == [replace(THUMB, message=PlatformMessageId("a2"))]


async def test_a_turn_that_died_after_its_reaction_runs_again_and_one_reaction_is_left(
    house_of: MakeHouse,
) -> None:
    ledger = MemoryLedger(clock=StoppedClock(), ids=CountedIds())
    dying = house_of(ScriptedModel([reacts("👀"), says("never")]), ledger=ledger)
    dying.channel.gate = anyio.Event()
    async with running(dying):
        await dying.write("thanks!")
        with anyio.fail_after(5):
            while not (await ledger.queue.counts()).open_parts:
                await anyio.wait_all_tasks_blocked()
    house = house_of(ScriptedModel([reacts("👍")]), ledger=ledger)
    async with running(house):
        recovered = await ledger.ownership.recover(channels=frozenset({ChannelName("test")}))
        house.deliverer.submit(recovered.parts)
        house.dispatcher.wake()
        await settled(house)
    assert [part.body.text for part in house.channel.sent] == ["👀", "👍"]


async def test_a_line_that_is_down_is_no_refusal(house_of: MakeHouse) -> None:
    model = ScriptedModel([reacts()])
    house = house_of(model)
    house.channel.faults.append(ChannelUnreachable("no line"))
    async with running(house):
        await house.write("thanks!")
        with anyio.fail_after(20):
            while not (await house.ledger.queue.counts()).open_parts:
                await anyio.wait_all_tasks_blocked()
            house.clock.advance(timedelta(seconds=2))
            house.deliverer.look()
            await house.channel.has_sent(1)
        await settled(house)
    assert [part.body for part in house.channel.sent] == [THUMB]
