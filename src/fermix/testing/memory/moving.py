"""A chat of the in-memory ledger goes on under another id."""

from dataclasses import replace

from fermix.domain.delivery import for_another_chat
from fermix.domain.recovery import Repeat
from fermix.domain.route import ChatMove, Route
from fermix.domain.turn import ACTIVE, TurnState
from fermix.testing.memory.process import Transaction
from fermix.testing.memory.tables import OPEN, LaneRow, MoveRow, Tables


def move_chat(tx: Transaction, move: ChatMove) -> bool:
    """See `Admissions.move_chat`."""
    if move.old == move.new or not _routes_of(tx.tables, move.old_chat):
        return False
    tables = tx.tables
    old, new = move.old_chat.key, move.new_chat.key
    for key, row in tables.moves.items():
        if row.new == move.old_chat:
            tables.moves[key] = replace(row, new=move.new_chat)
    tables.moves.pop(new, None)
    tables.moves[old] = MoveRow(old=move.old_chat, new=move.new_chat)
    for message in tables.messages.values():
        if message.target is not None:
            tables.messages[message.row] = replace(message, target=move.target(message.target))
    for part in tables.parts.values():
        if move.concerns(part.target):
            body = for_another_chat(part.body) if part.state in OPEN else part.body
            tables.parts[part.part] = replace(part, target=move.target(part.target), body=body)
    _leave_drafts(tables, move)
    _move_lanes(tx, tables.moves[old])
    return True


def _leave_drafts(tables: Tables, move: ChatMove) -> None:
    lanes = {tables.routes[route.key] for route in _routes_of(tables, move.old_chat)}
    for place, effect in tables.effects.items():
        turn = tables.turns[effect.turn]
        if effect.repeat is Repeat.ADOPT and turn.lane in lanes and turn.state is not TurnState.SETTLED:
            tables.effects[place] = replace(effect, outcome=None)


def finish_moves(tx: Transaction) -> None:
    """Join the conversations that had to wait for the end of a turn and need not any more."""
    for _, row in sorted(tx.tables.moves.items()):
        if row.waiting:
            _move_lanes(tx, row)


def _routes_of(tables: Tables, chat: Route) -> list[Route]:
    routes = (Route.parse(key) for key in tables.routes)
    return [route for route in routes if replace(route, thread=None) == chat]


def _move_lanes(tx: Transaction, row: MoveRow) -> None:
    tables = tx.tables
    waiting = False
    for route in _routes_of(tables, row.old):
        now = replace(route, chat=row.new.chat)
        other = tables.routes.get(now.key)
        if other is not None and any(turn.state in ACTIVE for turn in tables.turns_of(other)):
            waiting = True
            continue
        lane = tables.lanes[tables.routes.pop(route.key)]
        tables.routes[now.key] = lane.lane
        tables.lanes[lane.lane] = replace(lane, route=now)
        if other is not None:
            _join(tx, tables.lanes[lane.lane], tables.lanes.pop(other))
    tables.moves[row.old.key] = replace(row, waiting=waiting)


def _join(tx: Transaction, lane: LaneRow, other: LaneRow) -> None:
    """Append the rows of `other`, of which nothing is running, to those of `lane`."""
    tables = tx.tables
    for turn in tables.turns_of(lane.lane):
        if turn.state is TurnState.COLLECTING:
            tables.turns[turn.turn] = replace(turn, state=TurnState.QUEUED, collect_until=None)
    for turn in tables.turns_of(other.lane):
        window = None if turn.window is None else turn.window + lane.window
        tables.turns[turn.turn] = replace(turn, lane=lane.lane, window=window)
    for message in tables.messages.values():
        if message.lane == other.lane:
            tables.messages[message.row] = replace(message, lane=lane.lane)
    for number, entry in tables.entries.items():
        if entry.lane == other.lane:
            tables.entries[number] = replace(entry, lane=lane.lane, window=entry.window + lane.window)
    tables.lanes[lane.lane] = replace(
        lane, window=lane.window + other.window, generation=max(lane.generation, other.generation)
    )
