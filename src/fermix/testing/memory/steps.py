"""The steps of a turn in the in-memory ledger: ending, queueing again, and what history keeps of it."""

from collections.abc import Sequence
from dataclasses import replace

from fermix.application.ports.ledger_errors import LedgerError
from fermix.domain import wording
from fermix.domain.authorization import Trust
from fermix.domain.history import HistoryEntry, MarkerEntry
from fermix.domain.ids import TurnId
from fermix.domain.incoming_media import unanswered
from fermix.domain.route import Target
from fermix.domain.turn import TURN_STEPS, WAITING, Outcome, TurnState, may_settle
from fermix.testing.memory.media import prepare_no_more, prepared_media
from fermix.testing.memory.parts import withdraw
from fermix.testing.memory.process import Transaction
from fermix.testing.memory.tables import EntryRow, StoredMessage, Tables, TurnRow


def move(tx: Transaction, turn: TurnRow, state: TurnState, *, attempts: int | None = None) -> TurnRow:
    """Put a turn into another state that is not its end.

    Raises:
        LedgerError: no step leads there.
    """
    if state not in TURN_STEPS[turn.state]:
        raise LedgerError(f"a turn that is {turn.state} cannot become {state}")
    moved = replace(
        turn, state=state, collect_until=None, attempts=turn.attempts if attempts is None else attempts
    )
    tx.tables.turns[turn.turn] = moved
    return moved


def end_turn(tx: Transaction, turn: TurnRow, outcome: Outcome, *, keep_bodies: bool = False) -> None:
    """Settle a turn; its messages' payloads go unless they are kept.

    Raises:
        LedgerError: a turn in this state cannot end so.
    """
    if not may_settle(turn.state, outcome):
        raise LedgerError(f"a turn that is {turn.state} cannot end as {outcome}")
    if turn.state in WAITING:
        prepare_no_more(tx, turn.turn)
    tx.tables.turns[turn.turn] = replace(
        turn, state=TurnState.SETTLED, outcome=outcome, collect_until=None, settled_at=tx.now
    )
    if not keep_bodies:
        for message in tx.tables.messages_of(turn.turn):
            tx.tables.messages[message.row] = replace(message, body=None)


def interrupt(tx: Transaction, turn: TurnRow, *, marker: str, outcome: Outcome = Outcome.INTERRUPTED) -> None:
    """End a turn without an answer; history keeps what was asked, and a marker."""
    asked = [
        unanswered(message.body.text, [media.result for media in prepared_media(tx.tables, message.row)])
        for message in tx.tables.read_in_order(turn.turn)
        if message.body is not None
    ]
    kept = (entry for entry in asked if entry is not None)
    conclude(tx, turn, (*kept, MarkerEntry(text=marker)))
    end_turn(tx, turn, outcome, keep_bodies=outcome is Outcome.FAILED)


def discard(tx: Transaction, turn: TurnRow) -> None:
    """End an unknown turn as its owner wishes."""
    withdraw(tx, turn.turn)
    interrupt(tx, turn, marker=wording.DISCARDED_MARKER)


def remember(tx: Transaction, turn: TurnRow, entries: Sequence[HistoryEntry]) -> None:
    """Append history to the window the turn was claimed in; before a claim, to its lane's."""
    window = tx.tables.lanes[turn.lane].window if turn.window is None else turn.window
    for entry in entries:
        row = EntryRow(lane=turn.lane, window=window, turn=turn.turn, entry=entry)
        tx.tables.entries[tx.tables.next("entry")] = row


def conclude(tx: Transaction, turn: TurnRow, entries: Sequence[HistoryEntry]) -> None:
    """Append the history of a turn that ends, before the notes about edits that came while it ran."""
    notes = {number: row for number, row in tx.tables.entries.items() if row.turn == turn.turn}
    for number in notes:
        del tx.tables.entries[number]
    remember(tx, turn, entries)
    for row in notes.values():
        tx.tables.entries[tx.tables.next("entry")] = row


def target_of_turn(tables: Tables, turn: TurnId) -> Target:
    """Where the reply to a turn goes: the place of its last message.

    Raises:
        LedgerError: none of its messages says.
    """
    for message in reversed(tables.read_in_order(turn)):
        if message.target is not None:
            return message.target
    raise LedgerError(f"turn {turn} has nowhere to reply to")


def trust_of(messages: Sequence[StoredMessage]) -> Trust:
    """The lowest trust any of a turn's messages was admitted with."""
    trusts = {message.trust for message in messages}
    return Trust.OPERATOR if trusts == {Trust.OPERATOR} else Trust.GUEST
