"""Reading: conversations, the queue in numbers, and the message a client asks about."""

from pathlib import Path

import pytest

from fermix.application.ports.conversations import ConversationSummary, MessageStatus, QueueCounts
from fermix.application.ports.outbox import Sent
from fermix.domain.turn import Outcome, TurnState
from tests.integration.ledger.kit import (
    CLI,
    START,
    admit_one,
    an_owned_ledger,
    answer,
    claim_one,
    says,
)

pytestmark = pytest.mark.anyio


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
