"""Ending in order: what runs may finish for a while, the rest goes back to the queue or is told that it ended."""

import logging
from datetime import timedelta
from functools import partial

import anyio

from fermix.application.agent.prompt import user_entry
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.ports.ledger_errors import LedgerUnavailable, StaleTurn
from fermix.application.ports.turns import ClaimedTurn, Settlement, Turns
from fermix.domain import wording
from fermix.domain.delivery import TextPart
from fermix.domain.history import MarkerEntry
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.drain")

LAST_WORDS_SECONDS = 5.0
"""How long the notices of ended turns may take to leave; what does not is sent by the next start."""


async def drain(*, dispatcher: Dispatcher, deliverer: Deliverer, turns: Turns, grace: timedelta) -> None:
    """Let running turns finish within `grace`, then end the rest.

    A turn without effects that nobody waits for goes back to its place in the queue, its attempt untaken. Any
    other is settled as interrupted and told. Nothing new is started from the first moment on; who waits at a
    terminal for a turn that has not started is told at once.
    """
    dispatcher.stop_claiming()
    await _dismiss(dispatcher=dispatcher, turns=turns)
    with anyio.move_on_after(grace.total_seconds()) as waited:
        await dispatcher.drained()
    if waited.cancelled_caught:
        async with anyio.create_task_group() as ends:  # together: one commit, however slow the disk is
            for claim in dispatcher.claims():
                ends.start_soon(partial(_end, claim, dispatcher=dispatcher, deliverer=deliverer, turns=turns))
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            await dispatcher.drained()
    await _dismiss(dispatcher=dispatcher, turns=turns)
    with anyio.move_on_after(LAST_WORDS_SECONDS):
        await deliverer.quiet()


async def _dismiss(*, dispatcher: Dispatcher, turns: Turns) -> None:
    """End the waiting turns that a terminal waits for: they would not be run by the next start either."""
    for turn in dispatcher.watched_unstarted():
        try:
            if await turns.cancel(turn):
                dispatcher.cancel([turn], text=wording.ASK_INTERRUPTED)
        except LedgerUnavailable as exc:
            _log.warning("drain.left_to_next_start", extra={"turn": turn, "cause": str(exc)})


async def _end(claim: ClaimedTurn, *, dispatcher: Dispatcher, deliverer: Deliverer, turns: Turns) -> None:
    try:
        if await turns.release(claim.turn, generation=claim.generation):
            _log.info("turn.released", extra={"turn": claim.turn})
            dispatcher.abandon(claim.turn)
        else:
            parts = await turns.settle(_interrupted(claim))
            _log.info("turn.interrupted", extra={"turn": claim.turn})
            dispatcher.cancel([claim.turn], text=wording.ASK_INTERRUPTED)
            deliverer.submit(parts)
    except StaleTurn:
        return
    except LedgerUnavailable as exc:
        _log.warning("drain.left_to_next_start", extra={"turn": claim.turn, "cause": str(exc)})


def _interrupted(claim: ClaimedTurn) -> Settlement:
    """What is kept of a turn that the drain ends; an asker at a terminal is told there, not by a reply."""
    return Settlement(
        turn=claim.turn,
        generation=claim.generation,
        outcome=Outcome.INTERRUPTED,
        target=claim.messages[-1].target,
        entries=(
            user_entry(claim.messages),
            MarkerEntry(text=wording.INTERRUPTED_MARKER),
        ),
        parts=() if claim.awaited else (TextPart(text=wording.ASK_AGAIN),),
    )
