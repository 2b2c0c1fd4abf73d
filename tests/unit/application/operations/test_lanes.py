"""What the owner sees of conversations and settles from outside a chat, over the in-memory ledger."""

import anyio
import pytest

from fermix.application.operations.lanes import REPLY_LIMIT_SECONDS, Lanes
from fermix.application.ports.lane_control import Resolution, ResolveEnd, ResolveRequest, ResolveWork
from fermix.application.ports.model import ModelError
from fermix.application.ports.turns import EffectIntent
from fermix.domain import wording
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import TurnId
from fermix.domain.recovery import Repeat
from fermix.domain.turn import TurnState
from tests.unit.application.house import TEST, House, build, running
from tests.unit.application.scripted import ScriptedModel, says

pytestmark = pytest.mark.anyio


def lanes_of(house: House) -> Lanes:
    return Lanes(
        conversations=house.ledger.conversations,
        queue_view=house.ledger.queue,
        gateway=house.gateway,
        clients=house.cli,
        clock=house.clock,
    )


def answering_house() -> House:
    return build(ScriptedModel(steps=[says("answer")]))


async def leave_one_lost(house: House, *followers: str) -> TurnId:
    """Let an owner die in the middle of a turn that did something; the house's own ledger goes on after it."""
    ledger = house.ledger
    await ledger.ownership.take(instance="dead", boot="boot")
    await house.write("lost", id="lost")
    for number, follower in enumerate(followers):
        await house.write(follower, id=f"f{number}")
    (claimed,) = (await ledger.turns.claim(limit=1, channels=frozenset({TEST}))).turns
    await ledger.turns.begin_effect(
        EffectIntent(
            turn=claimed.turn,
            generation=claimed.generation,
            step=0,
            name="ring",
            repeat=Repeat.UNSAFE,
            intent="{}",
        )
    )
    await ledger.ownership.take(instance="next", boot="boot")
    recovered = await ledger.ownership.recover(channels=frozenset({TEST}))
    assert recovered.unknown == (claimed.turn,)
    house.deliverer.submit(recovered.parts)
    return claimed.turn


def request(work: ResolveWork, turn: TurnId | None = None, *, key: str = "r-1") -> ResolveRequest:
    return ResolveRequest(request=key, work=work, turn=turn)


async def test_a_queue_is_reported_with_the_time_it_stood_so() -> None:
    house = answering_house()
    lost = await leave_one_lost(house, "follower")
    report = await lanes_of(house).queue()
    assert report.at == house.clock.now()
    paused, waiting = report.listing.turns
    assert (paused.turn, paused.state, paused.preview) == (lost, TurnState.UNKNOWN, "lost")
    assert (waiting.state, waiting.preview) == (TurnState.QUEUED, "follower")


@pytest.mark.parametrize("named", [True, False])
async def test_a_discard_ends_the_lost_turn_and_its_followers_run(named: bool) -> None:
    house = answering_house()
    lost = await leave_one_lost(house, "follower")
    async with running(house):
        done = await lanes_of(house).resolve(request(ResolveWork.DISCARD, lost if named else None))
        assert done == Resolution(end=ResolveEnd.RESOLVED, text=wording.discarded(lost), turn=lost)
        assert await house.channel.has_sent(2) == [wording.PAUSED, "answer"]
        assert (await house.ledger.queue.counts()).paused == 0


async def test_a_retry_runs_the_lost_turn_again() -> None:
    house = answering_house()
    lost = await leave_one_lost(house)
    async with running(house):
        done = await lanes_of(house).resolve(request(ResolveWork.RETRY))
        assert done == Resolution(
            end=ResolveEnd.RESOLVED, text=wording.retried(lost), turn=lost, queued_as=lost
        )
        assert await house.channel.has_sent(2) == [wording.PAUSED, "answer"]


async def test_a_retry_of_a_failed_turn_tells_which_turn_will_run() -> None:
    failure = ModelError(Failure(kind=FailureKind.CREDENTIAL_REFUSED))
    async with running(build(ScriptedModel(steps=[failure, says("answer")]))) as house:
        receipt = await house.write("try me")
        await house.channel.has_sent(1)
        assert receipt.turn is not None
        done = await lanes_of(house).resolve(request(ResolveWork.RETRY, receipt.turn))
        assert (done.end, done.turn) == (ResolveEnd.RESOLVED, receipt.turn)
        assert done.queued_as not in {None, receipt.turn}
        assert (await house.channel.has_sent(2))[1] == "answer"


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (ResolveWork.DISCARD, wording.NOTHING_TO_DISCARD),
        (ResolveWork.RETRY, wording.NOTHING_TO_RETRY),
    ],
)
@pytest.mark.parametrize("turn", [None, TurnId(99)])
async def test_where_there_is_nothing_to_do_its_sentence_says_so(
    work: ResolveWork, text: str, turn: TurnId | None
) -> None:
    async with running(answering_house()) as house:
        done = await lanes_of(house).resolve(request(work, turn))
        assert done == Resolution(end=ResolveEnd.NOTHING, text=text)


@pytest.mark.requirement("command.has_a_row_first")
async def test_a_request_that_comes_twice_takes_effect_once_and_has_a_row() -> None:
    house = answering_house()
    await leave_one_lost(house)
    async with running(house):
        lanes = lanes_of(house)
        first = await lanes.resolve(request(ResolveWork.DISCARD))
        again = await lanes.resolve(request(ResolveWork.DISCARD))
        assert first.end is ResolveEnd.RESOLVED
        assert again == Resolution(end=ResolveEnd.TAKEN_BEFORE, text=wording.COMMAND_TAKEN_BEFORE)
        other = await lanes.resolve(request(ResolveWork.RETRY))
        assert other.end is ResolveEnd.TAKEN_BEFORE
        found = await house.ledger.queue.find(origin="cli:local", key="r-1")
        assert found is not None
        assert found.turn is None


async def test_a_gateway_that_is_ending_does_nothing_and_says_so() -> None:
    house = answering_house()
    lost = await leave_one_lost(house)
    async with running(house):
        house.gateway.close()
        done = await lanes_of(house).resolve(request(ResolveWork.DISCARD))
        assert done == Resolution(end=ResolveEnd.UNAVAILABLE, text=wording.RESTARTING)
        (paused,) = await house.ledger.queue.paused()
        assert paused.turn == lost


@pytest.mark.requirement("recovery.unknown_told_once")
async def test_a_paused_lane_is_told_once_and_later_messages_are_admitted_silently() -> None:
    house = answering_house()
    await leave_one_lost(house)
    async with running(house):
        for number in range(3):
            await house.write(f"later {number}", id=f"l{number}")
        await house.write("elsewhere", id="e", chat_id="c2", reply_target="c2")
        assert await house.channel.has_sent(2) == [wording.PAUSED, "answer"]
        await house.ledger.ownership.take(instance="third", boot="boot")
        again = await house.ledger.ownership.recover(channels=frozenset({TEST}))
        assert (again.unknown, again.parts) == ((), ())
        assert (await house.ledger.queue.counts()).waiting == 3
        await anyio.wait_all_tasks_blocked()
        assert len(house.channel.sent) == 2


async def test_sessions_are_the_conversations_newest_first_and_no_more_than_asked_for() -> None:
    async with running(answering_house()) as house:
        await house.write("one", id="1", chat_id="c1")
        await house.write("two", id="2", chat_id="c2", reply_target="c2")
        await house.channel.has_sent(2)
        lanes = lanes_of(house)
        assert [one.route.chat for one in await lanes.sessions(limit=10)] == ["c2", "c1"]
        assert [one.route.chat for one in await lanes.sessions(limit=1)] == ["c2"]


def test_a_reply_is_given_up_before_a_client_gives_up_the_call() -> None:
    from fermix.infrastructure.local_socket.client import CALL_SECONDS

    assert REPLY_LIMIT_SECONDS < CALL_SECONDS
