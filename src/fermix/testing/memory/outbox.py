"""The in-memory ledger's way out."""

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from fermix.application.ports.outbox import DueParts, LeftDraft, NotDelivered, PartEnd, SendingPart, Sent
from fermix.domain.delivery import RetryAt
from fermix.domain.ids import ChannelName, PartId
from fermix.domain.route import ChatMove
from fermix.domain.turn import PartState
from fermix.testing.memory import parts
from fermix.testing.memory.left_drafts import take_left_drafts
from fermix.testing.memory.moving import move_chat
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.tables import GoneRow, PartRow, chat_of

SENT_WITHOUT_ID = "sent"
"""Outcome of an effect whose platform gave its message no id."""


class MemoryOutbox:
    """The `Outbox` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        """See `Outbox.due`."""
        served = frozenset(channels)
        return await self._process.write(
            lambda tx: parts.start_due(tx, channels=served, limit=limit), durable=False
        )

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        """See `Outbox.left_drafts`."""
        served = frozenset(channels)
        return await self._process.write(lambda tx: take_left_drafts(tx, served), durable=False)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        """See `Outbox.done`."""
        return await self._process.write(lambda tx: _done(tx, part, end), durable=False)


def _done(tx: Transaction, part: PartId, end: PartEnd) -> SendingPart | None:
    row = tx.tables.parts.get(part)
    if row is None:
        return None
    if isinstance(end, Sent) and end.moved_to is not None:
        place = row.target
        move = ChatMove(channel=place.channel, account=place.account, old=place.chat, new=end.moved_to)
        move_chat(tx, move)
        row = tx.tables.parts[part]
    if row.state is PartState.WITHDRAWN:
        # It held the younger parts of its target while it was on its way; nobody else would let them go now.
        return parts.start_next(tx, row.target.key)
    if row.state is not PartState.SENDING:
        return None
    match end:
        case Sent(platform_id=platform_id):
            tx.tables.parts[part] = replace(row, state=PartState.SENT, platform_id=platform_id)
            _end_effect(tx, row, platform_id or SENT_WITHOUT_ID)
        case NotDelivered(error=error, target_gone=target_gone):
            if target_gone:
                chat = chat_of(row.target)
                tx.tables.gone[chat.key] = GoneRow(chat=chat, error=error, since=tx.now)
            tx.tables.parts[part] = replace(row, state=PartState.FAILED, error=error)
            _end_effect(tx, row, f"not delivered: {error}")
        case RetryAt(when=when, counts=counts):
            tx.tables.parts[part] = replace(
                row,
                state=PartState.PENDING,
                due_at=when,
                attempts=row.attempts + counts,
                repeated=row.repeated or counts,
            )
            return None
        case _:
            assert_never(end)
    return parts.start_next(tx, row.target.key)


def _end_effect(tx: Transaction, row: PartRow, outcome: str) -> None:
    if row.turn is None or row.generation is None or row.step is None:
        return
    place = (row.turn, row.generation, row.step)
    effect = tx.tables.effects.get(place)
    if effect is not None:
        tx.tables.effects[place] = replace(effect, outcome=outcome)
