"""Reading: conversations, the queue in numbers, and the message a client asks about."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import apsw
import pytest

from fermix.application.ports.conversations import ConversationSummary, MessageStatus, QueueCounts
from fermix.application.ports.outbox import Sent
from fermix.domain.ids import LaneId
from fermix.domain.turn import Outcome, TurnState
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.kit import (
    CLI,
    SERVED,
    START,
    admit_one,
    an_owned_ledger,
    answer,
    claim_one,
    says,
)

pytestmark = pytest.mark.anyio

A_LARGE_PAST = """
CREATE TEMP TABLE past AS
    WITH RECURSIVE numbers(n) AS (SELECT 1000 UNION ALL SELECT n+1 FROM numbers WHERE n<31000)
    SELECT n FROM numbers;
INSERT INTO turns(turn,lane,channel,state,outcome,created_at,settled_at)
    SELECT n,1,'telegram','settled',iif(n%10,'completed','failed'),n,n FROM past;
INSERT INTO messages(origin,key,digest,lane,turn,kind,trust,sender,epoch,received_at)
    SELECT 'telegram:bot','old-'||n,x'00',1,n,'input','operator','{}',1,n FROM past;
INSERT INTO outbox(turn,ordinal,origin,target,nonce,state,due_at,created_at)
    SELECT n,0,'telegram:bot','x','old-'||n,'sent',n,n FROM past;
INSERT INTO entries(lane,window,turn,role,content) SELECT 1,0,n,'user','{"text":"said before"}' FROM past;
"""


def questions(ledger: SqliteLedger, lane: LaneId) -> tuple[Callable[[], Awaitable[object]], ...]:
    """Everything that is asked of the reading connection."""
    queue, conversations = ledger.queue, ledger.conversations
    return (
        queue.counts,
        queue.paused,
        queue.listing,
        lambda: queue.find(origin="telegram:bot", key="old-2000"),
        lambda: queue.cursor(origin="telegram:bot", scope="x"),
        conversations.summaries,
        lambda: conversations.history(lane, window=0),
        lambda: conversations.lane_of(says("x").route),
        lambda: ledger.media.waiting(channels=SERVED, limit=9),
        lambda: ledger.blob_names.named(["00"] * 100),
    )


def the_log_can_be_begun_anew(path: Path) -> bool:
    """Whether, within a second, nobody reads what was written before."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(1000)
    ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return is_busy == 0


async def test_the_queue_in_numbers(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        assert await ledger.queue.counts() == QueueCounts(
            waiting=0, running=0, paused=0, lanes=0, open_parts=0
        )
        await ledger.admissions.admit([says("1"), says("2"), says("3", chat="8", album="g")])
        await ledger.admissions.admit([says("4", chat="8", album="g")])
        claimed = await claim_one(ledger)
        assert await ledger.queue.counts() == QueueCounts(
            waiting=3, running=1, paused=0, lanes=2, open_parts=0
        )
        (part,) = await ledger.turns.settle(answer(claimed, "a", "b"))
        assert await ledger.queue.counts() == QueueCounts(
            waiting=3, running=0, paused=0, lanes=2, open_parts=2
        )
        await ledger.outbox.done(part.part, Sent())
        assert (await ledger.queue.counts()).open_parts == 1


async def test_a_client_finds_its_message_by_its_own_key(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("ask-1", channel=CLI, awaited=True))
        queued = await ledger.queue.find(origin="cli:bot", key="ask-1")
        assert accepted.turn is not None
        await ledger.turns.cancel(accepted.turn)
        over = await ledger.queue.find(origin="cli:bot", key="ask-1")
        assert await ledger.queue.find(origin="cli:bot", key="ask-2") is None
    assert queued == MessageStatus(
        row=accepted.row, turn=accepted.turn, state=TurnState.QUEUED, outcome=None, channel=CLI
    )
    assert over == MessageStatus(
        row=accepted.row,
        turn=accepted.turn,
        state=TurnState.SETTLED,
        outcome=Outcome.CANCELLED,
        channel=CLI,
    )


async def test_conversations_are_listed_newest_first(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        older = await admit_one(ledger, says("1", chat="a"))
        newer = await admit_one(ledger, says("2", chat="b"))
        await claim_one(ledger)
        summaries = await ledger.conversations.summaries()
        assert await ledger.conversations.summaries(limit=1) == summaries[:1]
        assert await ledger.conversations.lane_of(says("x", chat="c").route) is None
    assert summaries == (
        ConversationSummary(
            lane=newer.lane,
            route=says("2", chat="b").route,
            window=0,
            title=None,
            waiting=1,
            active=None,
            last_at=START,
        ),
        ConversationSummary(
            lane=older.lane,
            route=says("1", chat="a").route,
            window=0,
            title=None,
            waiting=0,
            active=TurnState.STARTED,
            last_at=START,
        ),
    )


async def test_no_question_holds_the_log_for_longer_than_a_second(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        lane = (await admit_one(ledger, says("1"))).lane
        with apsw.Connection(str(path)) as connection:
            connection.execute(A_LARGE_PAST)
        connection.close()
        answered = 0

        async def ask_without_end() -> None:
            nonlocal answered
            while True:
                for question in questions(ledger, lane):
                    await question()
                answered += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_without_end)
            with anyio.fail_after(30):
                for number in range(5):
                    await admit_one(ledger, says(f"new-{number}"))
                    assert await anyio.to_thread.run_sync(the_log_can_be_begun_anew, path)
                while answered < 2:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(the_log_can_be_begun_anew, path)
