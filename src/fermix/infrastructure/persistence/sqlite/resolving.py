"""What the owner does with a turn nobody knows the end of, and with one that failed (T9)."""

from fermix.domain import wording
from fermix.domain.ids import TurnId
from fermix.domain.turn import Outcome, TurnState
from fermix.infrastructure.persistence.sqlite.media import prepare_again
from fermix.infrastructure.persistence.sqlite.parts import withdraw
from fermix.infrastructure.persistence.sqlite.rows import (
    TurnRow,
    count_messages,
    interrupt,
    queue_again,
    turn_row,
    turns_where,
)
from fermix.infrastructure.persistence.sqlite.transaction import Transaction


def choose(tx: Transaction, turn: TurnId | None) -> TurnRow | None:
    """The turn of that id, or without one the oldest unknown turn of all lanes."""
    if turn is not None:
        return turn_row(tx, turn)
    return next(iter(turns_where(tx, "state='unknown'")), None)


def discard(tx: Transaction, turn: TurnRow) -> None:
    """End an unknown turn; the window it was claimed in remembers that, and its lane goes on."""
    withdraw(tx, turn.turn)
    interrupt(tx, turn, marker=wording.DISCARDED_MARKER)


def retry(tx: Transaction, turn: TurnRow) -> TurnId | None:
    """Queue an unknown turn again at its place, a failed one as a new turn at its lane's end.

    The messages of a failed turn move to the new one: a message stays one row for good, so a late second
    offer of it is answered with the turn that runs, and the old turn cannot be asked for twice.

    Returns:
        The turn that will run; `None` when this turn is neither, or its text is no longer kept.
    """
    is_unknown = turn.state is TurnState.UNKNOWN
    if not is_unknown and turn.outcome is not Outcome.FAILED:
        return None
    if not _keeps_its_text(tx, turn.turn):
        return None
    withdraw(tx, turn.turn)
    if is_unknown:
        queue_again(tx, turn, attempts=0)
        return turn.turn
    anew = TurnId(
        tx.insert(
            "INSERT INTO turns(lane, channel, state, epoch, snapshot, created_at) VALUES(?,?,'queued',?,?,?)",
            turn.lane,
            turn.channel,
            tx.epoch,
            turn.scope.encode(),
            tx.now,
        )
    )
    tx.run("UPDATE messages SET turn=? WHERE turn=?", anew, turn.turn)
    prepare_again(tx, anew)
    tx.waiting.change(turn.lane, count_messages(tx, anew))
    return anew


def _keeps_its_text(tx: Transaction, turn: TurnId) -> bool:
    kept = tx.row(
        "SELECT count(*), count(body) FROM messages WHERE turn=?",
        turn,
    )
    return kept is not None and kept[0] == kept[1] > 0
