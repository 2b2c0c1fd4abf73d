"""The gateway as a whole: what is written comes in, is answered in order, and what fails is told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Verdict,
)
from fermix.application.ports.control import (
    AskEnd,
    AskEnded,
    AskEvent,
    AskRequest,
    Principal,
    PrincipalCapability,
)
from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile, ModelRequest
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.turns import EffectIntent, Settlement, Turns
from fermix.domain import wording
from fermix.domain.delivery import REPEAT_MARK
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, MarkerEntry, UserEntry
from fermix.domain.ids import LaneId, TurnId
from fermix.domain.lane import QueueLimits
from fermix.domain.recovery import Repeat
from tests.unit.application.house import PUSH, TEST, House, allow, build, running
from tests.unit.application.scripted import PROFILE, ScriptedModel, raw, says

pytestmark = pytest.mark.anyio

OWNER = Principal(uid=0, pid=None, capabilities=frozenset(PrincipalCapability))


@dataclass(slots=True)
class GatedModel:
    """Answers a request with its own last words, once the test opens the gate."""

    profile: ModelProfile = PROFILE
    gate: anyio.Event = field(default_factory=anyio.Event)
    asked: list[str] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        last = request.entries[-1]
        assert isinstance(last, UserEntry)
        self.asked.append(last.text)
        self.requests.append(request)
        await self.gate.wait()
        return ModelAnswer(text=f"re: {last.text}")


def opened() -> GatedModel:
    model = GatedModel()
    model.gate.set()
    return model


async def settled() -> None:
    await anyio.wait_all_tasks_blocked()


@pytest.mark.requirement("ingress.single_entry", "ingress.reply_path.answers_any_stage")
async def test_a_message_is_answered_where_it_came_from() -> None:
    async with running(build(opened())) as house:
        receipt = await house.write("hello", thread_ts="t1", id="m5")
        assert receipt.verdict is Verdict.ACCEPTED
        assert await house.channel.has_sent(1) == ["re: hello"]
        target = house.channel.sent[0].target
        assert (target.chat, target.thread, target.reply_to) == ("c1", "t1", "m5")


@pytest.mark.requirement("lane.one_turn_at_a_time", "lane.first_in_first_out", "lane.new_message_waits")
async def test_a_conversation_is_answered_one_at_a_time_in_order() -> None:
    model = GatedModel()
    async with running(build(model)) as house:
        for number in range(5):
            await house.write(f"n{number}", id=f"m{number}")
        await settled()
        assert model.asked == ["n0"]
        model.gate.set()
        assert await house.channel.has_sent(5) == [f"re: n{number}" for number in range(5)]


@pytest.mark.requirement(
    "lane.conversations_are_independent", "lane.slots_are_bounded", "lane.thread_is_part_of_the_route"
)
async def test_conversations_do_not_wait_for_each_other_beyond_the_slots() -> None:
    model = GatedModel()
    async with running(build(model, slots=3)) as house:
        for number in range(5):
            await house.write(f"c{number}", id=f"m{number}", thread_ts=f"t{number}")
        await settled()
        assert len(model.asked) == house.dispatcher.running() == 3
        model.gate.set()
        await house.channel.has_sent(5)


@pytest.mark.requirement("lane.fair_between_conversations")
async def test_a_conversation_with_many_waiting_does_not_starve_the_others() -> None:
    model = opened()
    house = build(model, slots=1)
    await house.ledger.ownership.take(instance="t", boot="b")
    for number in range(6):
        await house.write(f"busy{number}", id=f"b{number}", chat_id="busy")
    await house.write("quiet", id="q", chat_id="quiet")
    async with running(house):
        house.dispatcher.wake()
        sent = await house.channel.has_sent(7)
    assert sent.index("re: quiet") <= 1


@pytest.mark.requirement("ingress.dedupe.ledger_key")
async def test_the_same_message_offered_twice_is_answered_once() -> None:
    async with running(build(opened())) as house:
        first, second = await house.write_all([raw("hi", id="m1"), raw("hi", id="m1")])
        third = await house.write("hi", id="m1")
        assert (first.verdict, second.verdict, third.verdict) == (
            Verdict.ACCEPTED,
            Verdict.DUPLICATE,
            Verdict.DUPLICATE,
        )
        await house.channel.has_sent(1)
        await settled()
        assert len(house.channel.sent) == 1


@pytest.mark.requirement(
    "ingress.authorise.denied_is_silent",
    "ingress.authorise.denied_is_warned",
    "ingress.authorise.denied_leaves_nothing",
    "ingress.authorise.refused_lately",
)
async def test_a_stranger_gets_nothing_and_leaves_only_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with running(build(opened())) as house:
        for number in range(60):
            receipt = await house.write("let me in", sender_id="99\n99", sender="Eve\nadmin", id=f"m{number}")
            assert receipt.verdict is Verdict.DROPPED
        await settled()
        assert house.channel.sent == []
        assert (await house.ledger.queue.counts()).lanes == 0
        assert len(house.gateway.refused_lately()) == 50
    (record, *_) = [r for r in caplog.records if r.message == "gateway.sender_refused"]
    assert record.levelname == "WARNING"
    said = " ".join((record.__dict__["sender_ids"], record.__dict__["sender"]))
    assert "99" in said
    assert "\n" not in said


@pytest.mark.requirement("ingress.normalise.dropped_with_one_error_line")
async def test_what_is_no_message_is_dropped_with_one_error_line(caplog: pytest.LogCaptureFixture) -> None:
    async with running(build(opened())) as house:
        assert (await house.write(chat_id=None)).verdict is Verdict.DROPPED
    errors = [r for r in caplog.records if r.levelname == "ERROR"]
    assert len(errors) == 1
    assert errors[0].__dict__["field"] == "chat_id"


@pytest.mark.requirement("ingress.empty.no_turn", "deliver.unadmitted_reply_goes_once")
async def test_an_empty_message_is_answered_once_without_a_turn() -> None:
    model = opened()
    async with running(build(model)) as house:
        house.channel.faults.append(ChannelUnreachable("down"))
        assert (await house.write(" ", id="m0")).verdict is Verdict.ANSWERED
        await settled()
        assert house.channel.sent == []
        await house.write(" ", id="m1")
        assert await house.channel.has_sent(1) == [wording.LOOKS_EMPTY]
        assert model.asked == []
        assert (await house.ledger.queue.counts()).lanes == 0


@pytest.mark.requirement(
    "limits.per_conversation", "limits.honest_reply", "limits.reply_once_per_episode", "limits.commands_pass"
)
async def test_too_much_waiting_is_told_once_and_commands_still_pass() -> None:
    model = GatedModel()
    async with running(build(model, limits=QueueLimits(per_conversation=2, total=100))) as house:
        await house.write("running", id="r")
        await settled()
        for number in range(6):
            await house.write(f"w{number}", id=f"w{number}")
        assert await house.channel.has_sent(1) == [wording.TOO_MUCH_WAITING_HERE]
        assert (await house.write("/whoami", id="c")).verdict is Verdict.ACCEPTED
        await house.channel.has_sent(2)
        model.gate.set()
        await house.channel.has_sent(5)
        model.gate = anyio.Event()
        for number in range(6):
            await house.write(f"again{number}", id=f"a{number}")
            await settled()
            await settled()
        await house.channel.has_sent(6)
        assert [p.body.text for p in house.channel.sent].count(wording.TOO_MUCH_WAITING_HERE) == 2


@pytest.mark.requirement("limits.in_all", "limits.pull_transport_stops_polling")
async def test_at_the_total_limit_pull_transports_wait_and_others_are_told() -> None:
    async with running(build(GatedModel(), limits=QueueLimits(per_conversation=10, total=2))) as house:
        for number in range(3):
            await house.write("x", id=f"m{number}", chat_id=f"c{number}")
            await settled()
        for number in range(3, 5):
            await house.write("x", id=f"m{number}", chat_id="c0")
        assert (await house.write("x", id="m8", chat_id="c8")).verdict is Verdict.FULL
        assert (await house.write("x", id="m9", chat_id="c9", door=PUSH)).verdict is Verdict.ANSWERED
        assert await house.channel.has_sent(1) == [wording.TOO_MUCH_WAITING_IN_ALL]


@pytest.mark.requirement(
    "command.ahead_of_queue",
    "command.stop.everything_everywhere",
    "command.stop.reply_counts",
    "command.stop.marker_in_history",
    "settle.stopped_turn_says_nothing",
    "recovery.late_settlement_is_refused",
)
async def test_stop_ends_everything_everywhere_at_once() -> None:
    model = GatedModel()
    async with running(build(model)) as house:
        await house.write("one", id="m1", chat_id="c1")
        await house.write("two", id="m2", chat_id="c2", sender_id="2002")
        await house.write("three", id="m3", chat_id="c1")
        await settled()
        assert sorted(model.asked) == ["one", "two"]
        await house.write("/stop", id="m4", chat_id="c3")
        assert await house.channel.has_sent(1) == [wording.stopped(running=2, waiting=1)]
        assert house.dispatcher.running() == 0
        model.gate.set()
        await house.write("hi", id="m5", chat_id="c1")
        assert (await house.channel.has_sent(2))[1] == "re: hi"
        entries = model.requests[-1].entries
        assert entries == (
            UserEntry(text="one"),
            MarkerEntry(text=wording.STOPPED_MARKER),
            UserEntry(text="hi"),
        )
        await settled()
        assert len(house.channel.sent) == 2
        assert "three" not in model.asked


async def test_a_stopped_answer_that_still_waits_to_be_sent_never_leaves() -> None:
    async with running(build(opened())) as house:
        house.channel.gate = anyio.Event()
        for number in range(17):
            chat = f"c{number}"
            await house.write(f"n{number}", id=f"m{number}", chat_id=chat, reply_target=chat)
            await settled()
        await house.write("/stop", id="s", chat_id="c99", reply_target="c99")
        await settled()
        house.channel.gate.set()
        sent = await house.channel.has_sent(17)
        await settled()
        assert len(house.channel.sent) == 17
        assert wording.stopped(running=0, waiting=0) in sent
        assert "re: n16" not in sent


@pytest.mark.requirement("command.new.clears_window", "command.clear.is_new")
@pytest.mark.parametrize("command", ["/new", "/clear"])
async def test_a_new_window_forgets_what_came_before(command: str) -> None:
    model = opened()
    async with running(build(model)) as house:
        await house.write("my name is Ann", id="m1")
        await house.channel.has_sent(1)
        await house.write("who am I", id="m2")
        await house.channel.has_sent(2)
        assert len(model.requests[1].entries) == 3
        await house.write(command, id="m3")
        await house.write("who am I", id="m4")
        assert (await house.channel.has_sent(4))[2] == wording.NEW_WINDOW
        assert model.requests[-1].entries == (UserEntry(text="who am I"),)


@pytest.mark.requirement("turn.blank_completion")
@pytest.mark.parametrize("nothing", ["  \n", "\x07", "\x1b\n\x00"])
async def test_a_blank_answer_is_told_and_leaves_nothing_in_the_history(nothing: str) -> None:
    model = ScriptedModel([says(nothing), says("now then")])
    async with running(build(model)) as house:
        await house.write("hello", id="m1")
        await house.write("again", id="m2")
        assert await house.channel.has_sent(2) == [wording.EMPTY_ANSWER, "now then"]
        assert model.requests[1].entries == (UserEntry(text="again"),)


@pytest.mark.requirement("settle.failure_is_told", "retention.kept_for_unknown_and_failed")
async def test_a_failure_is_told_remembered_and_can_be_run_again() -> None:
    failure = Failure(kind=FailureKind.UNREACHABLE, provider="openai", model="m")
    model = ScriptedModel([ModelError(failure), says("here I am"), says("retried")])
    async with running(build(model)) as house:
        await house.write("hello", id="m1")
        assert await house.channel.has_sent(1) == [wording.failed(failure)]
        await house.write("try again", id="m2")
        await house.channel.has_sent(2)
        assert model.requests[1].entries == (
            UserEntry(text="hello"),
            MarkerEntry(text=wording.FAILED_MARKER),
            UserEntry(text="try again"),
        )
        await house.write("/retry 1", id="m3")
        assert (await house.channel.has_sent(4))[3] == "retried"


async def test_a_bug_in_a_turn_is_an_apology_and_the_next_turn_runs() -> None:
    class Broken(ScriptedModel):
        @override
        async def complete(
            self,
            request: ModelRequest,
            *,
            on_text: Callable[[str], None],
            on_thought: Callable[[str], None] | None = None,
        ) -> ModelAnswer:
            if not self.requests:
                self.requests.append(request)
                raise KeyError("bug")
            return says("fine")

    async with running(build(Broken([]))) as house:
        await house.write("a", id="m1")
        await house.write("b", id="m2")
        assert await house.channel.has_sent(2) == [wording.APOLOGY, "fine"]


@pytest.mark.requirement("turn.events.after_the_commit")
async def test_an_event_that_speaks_of_a_commit_comes_after_it() -> None:
    seen: list[str] = []

    class Watched:
        def __init__(self, turns: Turns) -> None:
            self._turns = turns

        def __getattr__(self, name: str) -> object:
            return getattr(self._turns, name)

        async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
            await anyio.wait_all_tasks_blocked()
            seen.append("before the commit")
            parts = await self._turns.settle(settlement)
            seen.append("committed")
            return parts

    house = build(opened(), wrap_turns=lambda turns: cast("Turns", Watched(turns)))

    async def follow() -> None:
        async for numbered in house.events.watch(TurnId(1)):
            name = type(numbered.event).__name__
            if name in {"TurnSettled", "TurnCompleted"}:
                seen.append(name)

    async with running(house), anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await house.write("hi", id="m1")
        await house.channel.has_sent(1)
    assert seen == ["before the commit", "committed", "TurnSettled", "TurnCompleted"]


@pytest.mark.requirement(
    "command.help.lists", "command.gate.open_commands", "command.gate.state_changing_commands"
)
async def test_help_tells_each_sender_what_they_may_use_and_what_exists() -> None:
    async with running(build(opened())) as house:
        await house.write("/help", id="m1")
        await house.write("/help", id="m2", sender_id="2002")
        await house.write("/clear", id="m3", sender_id="2002")
        await house.write("/stop", id="m4", sender_id="2002")
        owner, guest, *refused = await house.channel.has_sent(4)
        assert "For the owner only" not in owner
        may, _, may_not = guest.partition("For the owner only:")
        assert [name in may for name in ("/help", "/whoami", "/new", "/stop")] == [True, True, False, False]
        assert all(name in may_not for name in ("/new", "/stop", "/discard", "/retry"))
        assert refused == [wording.NEEDS_OWNER] * 2


@pytest.mark.requirement("command.whoami.shows_id", "command.gate.open_commands")
async def test_whoami_shows_the_id_that_is_compared() -> None:
    async with running(build(opened())) as house:
        await house.write("/whoami", id="m1", sender="Ann", sender_id=2002, sender_aliases=["uuid-1"])
        (text,) = await house.channel.has_sent(1)
        assert "2002" in text
        assert "uuid-1" in text
        assert "guest" in text


@pytest.mark.requirement("command.new.keeps_the_rest")
async def test_a_new_window_leaves_other_conversations_as_they_are() -> None:
    model = opened()
    async with running(build(model)) as house:
        await house.write("one", id="m1", chat_id="c1")
        await house.write("two", id="m2", chat_id="c2")
        await house.channel.has_sent(2)
        await house.write("/new", id="m3", chat_id="c1")
        await house.write("more", id="m4", chat_id="c2")
        await house.channel.has_sent(4)
        assert len(model.requests[-1].entries) == 3


@pytest.mark.requirement(
    "command.discard_and_retry", "gate.strict_commands.lanes", "command.discard_and_retry_commit_with_row"
)
async def test_a_paused_lane_is_cleared_from_any_chat_of_the_owners_and_by_nobody_else() -> None:
    model = opened()
    house = build(model)
    await house.ledger.ownership.take(instance="first", boot="b")
    for number in range(2):
        await house.write(f"risky {number}", id=f"m{number}", chat_id=f"c{number}")
        (claim,) = (await house.ledger.turns.claim(limit=1, channels={TEST})).turns
        await house.ledger.turns.begin_effect(
            EffectIntent(
                turn=claim.turn,
                generation=claim.generation,
                step=0,
                name="pay",
                repeat=Repeat.UNSAFE,
                intent="{}",
            )
        )
    house = build(model, ledger=house.ledger.reopened())
    async with running(house):
        house.deliverer.submit((await house.ledger.ownership.recover(channels={TEST})).parts)
        assert await house.channel.has_sent(2) == [wording.PAUSED] * 2
        await house.write("/retry 1", id="g1", chat_id="c9", sender_id="2002")
        assert (await house.channel.has_sent(3))[2] == wording.NEEDS_OWNER
        await house.write("/retry 1", id="o1", chat_id="c8")
        await house.write("/discard", id="o2", chat_id="c8")
        said = (await house.channel.has_sent(6))[3:]
        assert set(said) == {wording.retried(1), "re: risky 0", wording.discarded(2)}
        await house.write("/discard", id="o3", chat_id="c8")
        assert (await house.channel.has_sent(7))[6] == wording.NOTHING_TO_DISCARD


@pytest.mark.requirement("turn.bounds.time")
async def test_a_turn_that_takes_too_long_is_ended_and_told() -> None:
    async with running(build(GatedModel(), time_limit=timedelta(milliseconds=20))) as house:
        await house.write("a", id="m1")
        assert "took too long" in (await house.channel.has_sent(1))[0]


@pytest.mark.requirement(
    "turn.reauthorised_at_claim", "turn.rejected_when_no_longer_allowed", "snapshot.queued_turn_cannot_widen"
)
async def test_a_sender_who_lost_the_right_while_waiting_is_rejected_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = GatedModel()
    async with running(build(model)) as house:
        await house.write("first", id="m1", sender_id="2002")
        await house.write("second", id="m2", sender_id="2002")
        await settled()
        house.policies.policies = allow(guests=())
        model.gate.set()
        assert await house.channel.has_sent(1) == ["re: first"]
        await settled()
        assert model.asked == ["first"]
        assert len(house.channel.sent) == 1
    assert any(r.message == "turn.sender_no_longer_allowed" for r in caplog.records)


@pytest.mark.requirement("deliver.backoff", "deliver.not_left_is_tried_longer", "deliver.nonce_is_stable")
async def test_a_part_that_did_not_leave_is_tried_until_it_does() -> None:
    async with running(build(opened())) as house:
        house.channel.faults += [
            ChannelUnreachable("down"),
            ChannelRateLimited("slow", retry_after=timedelta(seconds=7)),
            *(ChannelUnreachable("down") for _ in range(5)),
        ]
        await house.write("hi", id="m1")
        await house.write("ho", id="m2")
        for pause in (1, 7, 4, 8, 16, 32, 60):
            await settled()
            assert house.channel.sent == []
            house.clock.advance(timedelta(seconds=pause - 0.5))
            await settled()
            assert house.channel.sent == []
            house.clock.advance(timedelta(seconds=0.5))
        assert await house.channel.has_sent(2) == ["re: hi", "re: ho"]
        assert not house.channel.sent[0].repeated


@pytest.mark.requirement(
    "deliver.only_the_outbox_sends_again",
    "deliver.three_attempts",
    "deliver.repeat_is_marked",
    "deliver.waits_for_the_older_part",
)
async def test_a_part_that_may_have_left_is_marked_and_tried_three_times() -> None:
    async with running(build(opened())) as house:
        house.channel.faults += [ChannelOutcomeUnknown("?"), ChannelOutcomeUnknown("?")]
        await house.write("hi", id="m1")
        for _ in range(6):
            await settled()
            house.clock.advance(timedelta(seconds=20))
        assert await house.channel.has_sent(1) == [f"{REPEAT_MARK}\nre: hi"]
        house.channel.faults += [ChannelOutcomeUnknown("?")] * 3
        await house.write("lost", id="m2")
        await house.write("next", id="m3")
        for _ in range(6):
            await settled()
            house.clock.advance(timedelta(seconds=20))
        assert (await house.channel.has_sent(2))[1] == "re: next"


@pytest.mark.requirement("deliver.three_attempts")
async def test_an_outage_of_half_a_minute_that_leaves_every_outcome_open_loses_nothing() -> None:
    async with running(build(opened())) as house:
        answered_with_502 = ChannelOutcomeUnknown("Telegram failed (502)")
        house.channel.faults += [answered_with_502] * 100
        await house.write("one", id="m1")
        await house.write("two", id="m2")
        for _ in range(30):
            await settled()
            house.clock.advance(timedelta(seconds=1))
        await settled()
        assert house.channel.sent == []
        house.channel.faults.clear()
        for _ in range(7):
            house.clock.advance(timedelta(seconds=10))
            await settled()
        assert await house.channel.has_sent(2) == [f"{REPEAT_MARK}\nre: one", "re: two"]


async def test_a_part_the_platform_refuses_fails_and_the_next_one_goes_out() -> None:
    async with running(build(opened())) as house:
        house.channel.faults += [ChannelRejected("blocked"), KeyError("adapter bug")]
        await house.write("a", id="m1")
        await house.write("b", id="m2")
        for _ in range(3):
            await settled()
            house.clock.advance(timedelta(seconds=2))
        assert await house.channel.has_sent(1) == [f"{REPEAT_MARK}\nre: b"]


@pytest.mark.requirement(
    "restart.inbox_says_unavailable", "restart.local_request_is_told", "drain.stops_accepting"
)
async def test_a_closed_gateway_takes_nothing_and_tells_whom_it_would_lose() -> None:
    async with running(build(opened())) as house:
        house.gateway.close()
        assert (await house.write("a", id="m1")).verdict is Verdict.UNAVAILABLE
        assert (await house.write("b", id="m2", door=PUSH)).verdict is Verdict.UNAVAILABLE
        assert await house.channel.has_sent(1) == [wording.RESTARTING]


@pytest.mark.requirement("disk_full.no_acknowledgement")
async def test_a_ledger_that_cannot_write_acknowledges_nothing() -> None:
    house = build(opened())
    async with running(house):
        house.ledger.kill()
        assert (await house.write("a", id="m1")).verdict is Verdict.UNAVAILABLE


@pytest.mark.requirement("edit.replaces_while_queued", "edit.noted_later")
async def test_an_edit_replaces_what_waits_and_is_noted_later() -> None:
    model = GatedModel()
    edited = datetime(2026, 1, 1, tzinfo=UTC)
    async with running(build(model)) as house:
        await house.write("first", id="m1")
        await settled()
        await house.write("teh typo", id="m2")
        await house.write("the typo", id="m2", edited_at=edited)
        model.gate.set()
        assert (await house.channel.has_sent(2))[1] == "re: the typo"
        await house.write("first, corrected", id="m1", edited_at=edited)
        await settled()
        assert len(house.channel.sent) == 2
        await house.write("next", id="m3")
        await house.channel.has_sent(3)
        assert any("first, corrected" in str(entry) for entry in model.requests[-1].entries)


async def asked(house: House, text: str, *, new: bool = False, request: str = "r1") -> list[AskEvent]:
    with anyio.fail_after(5):
        async with house.ask(AskRequest(request=request, text=text, new=new), OWNER) as events:
            return [event async for event in events]


@pytest.mark.requirement(
    "channel.cli.same_gateway", "channel.cli.whole_answer", "ingress.authorise.cli_is_operator"
)
async def test_a_terminal_gets_the_whole_answer_and_its_route() -> None:
    async with running(build(opened())) as house:
        ended = (await asked(house, "hello"))[-1]
        assert ended == AskEnded(
            end=AskEnd.ANSWERED,
            text="re: hello",
            outcome=ended.outcome,  # type: ignore[union-attr]  # compared below
            provider="scripted",
            model="one",
        )
        again = (await asked(house, "hello"))[-1]
        assert isinstance(again, AskEnded)
        assert again.end is AskEnd.INTERRUPTED
        other = (await asked(house, "something else"))[-1]
        assert isinstance(other, AskEnded)
        assert other.end is AskEnd.REFUSED


@pytest.mark.requirement("command.works_everywhere")
async def test_a_terminal_gets_a_commands_reply() -> None:
    async with running(build(opened())) as house:
        ended = (await asked(house, "/whoami"))[-1]
        assert isinstance(ended, AskEnded)
        assert "operator" in ended.text


async def test_asking_anew_opens_a_window_without_a_word() -> None:
    model = opened()
    async with running(build(model)) as house:
        await asked(house, "one", request="r1")
        await asked(house, "two", request="r2")
        ended = (await asked(house, "three", request="r3", new=True))[-1]
        assert isinstance(ended, AskEnded)
        assert ended.text == "re: three"
        assert [len(request.entries) for request in model.requests] == [1, 3, 1]


async def test_a_terminal_that_leaves_ends_its_turn_and_nothing_else() -> None:
    model = GatedModel()
    async with running(build(model)) as house:
        await house.write("other", id="m1")
        async with house.ask(AskRequest(request="r1", text="slow"), OWNER) as events:
            await anext(events)
            await settled()
            assert house.dispatcher.running() == 2
        await settled()
        assert house.dispatcher.running() == 1
        model.gate.set()
        assert await house.channel.has_sent(1) == ["re: other"]
        entries = await house.ledger.conversations.history(LaneId(2), window=0)
        assert entries == (UserEntry(text="slow"), MarkerEntry(text=wording.STOPPED_MARKER))
        assert not any(isinstance(entry, AssistantEntry) for entry in entries)


async def test_a_terminal_without_the_right_is_refused() -> None:
    async with running(build(opened())) as house:
        nobody = Principal(uid=1, pid=None, capabilities=frozenset())
        async with house.ask(AskRequest(request="r1", text="x"), nobody) as events:
            (ended,) = [event async for event in events]
        assert isinstance(ended, AskEnded)
        assert ended.end is AskEnd.REFUSED
