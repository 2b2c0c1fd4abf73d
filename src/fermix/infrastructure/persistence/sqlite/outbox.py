"""The ledger's way out: which part leaves now, and what became of it (T6)."""

from collections.abc import Collection
from typing import assert_never

from fermix.application.ports.outbox import DueParts, LeftDraft, NotDelivered, PartEnd, SendingPart, Sent
from fermix.domain.delivery import RetryAt
from fermix.domain.ids import ChannelName, ChatId, PartId
from fermix.domain.route import ChatMove
from fermix.infrastructure.persistence.sqlite import codec, parts
from fermix.infrastructure.persistence.sqlite.gone import note_gone
from fermix.infrastructure.persistence.sqlite.left_drafts import take_left_drafts
from fermix.infrastructure.persistence.sqlite.moving import move_chat
from fermix.infrastructure.persistence.sqlite.transaction import Transaction
from fermix.infrastructure.persistence.sqlite.writer import Writer

SENT_WITHOUT_ID = "sent"
"""Outcome of an effect whose platform gave its message no id."""


class SqliteOutbox:
    """The `Outbox` port over the writer."""

    def __init__(self, *, writer: Writer) -> None:
        self._writer = writer

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        """See `Outbox.due`."""
        served = frozenset(channels)
        # Begun without sync: most looks find nothing; one that starts a part asks for its sync itself.
        return await self._writer.do(
            lambda tx: parts.start_due(tx, channels=served, limit=limit), durable=False
        )

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        """See `Outbox.left_drafts`."""
        served = frozenset(channels)
        return await self._writer.do(lambda tx: take_left_drafts(tx, served), durable=False)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        """See `Outbox.done`."""
        return await self._writer.do(lambda tx: _done(tx, part, end), durable=False)


def _done(tx: Transaction, part: PartId, end: PartEnd) -> SendingPart | None:
    if isinstance(end, Sent) and end.moved_to is not None:
        _move(tx, part, end.moved_to)
    row = tx.row("SELECT state, target, generation FROM outbox WHERE part=?", part)
    if row is not None and row[0] == "withdrawn":
        # It held the younger parts of its target while it was on its way; nobody else would start them now.
        return parts.start_next(tx, row[1])
    if row is None or row[0] != "sending":
        return None
    sent_in_mid_turn = row[2] is not None
    match end:
        case Sent(platform_id=platform_id):
            known = None if platform_id is None else codec.storable(platform_id)
            tx.run("UPDATE outbox SET state='sent', platform_id=? WHERE part=?", known, part)
            if sent_in_mid_turn:
                _end_effect(tx, part, known or SENT_WITHOUT_ID)
        case NotDelivered(error=error, target_gone=target_gone):
            reason = codec.storable(error)
            if target_gone:
                note_gone(tx, row[1], reason)
            tx.run("UPDATE outbox SET state='failed', error=? WHERE part=?", reason, part)
            if sent_in_mid_turn:
                _end_effect(tx, part, f"not delivered: {reason}")
        case RetryAt(when=when, counts=counts):
            tx.run(
                "UPDATE outbox SET state='pending', due_at=?, attempts=attempts+?, repeated=max(repeated,?)"
                " WHERE part=?",
                codec.to_ms(when),
                int(counts),
                int(counts),
                part,
            )
            return None
        case _:
            assert_never(end)
    return parts.start_next(tx, row[1])


def _move(tx: Transaction, part: PartId, new: ChatId) -> None:
    """The part arrived in another chat than its target named: the platform has moved that chat."""
    found = tx.row("SELECT target FROM outbox WHERE part=?", part)
    if found is not None:
        place = codec.decode_route(found[0])
        move_chat(tx, ChatMove(channel=place.channel, account=place.account, old=place.chat, new=new))


def _end_effect(tx: Transaction, part: PartId, outcome: str) -> None:
    tx.run(
        "UPDATE effects SET outcome=? WHERE (turn, generation, step) IN"
        " (SELECT turn, generation, step FROM outbox WHERE part=?)",
        outcome,
        part,
    )
