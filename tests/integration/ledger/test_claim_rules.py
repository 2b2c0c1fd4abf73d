"""The statement that finds heads agrees with the domain's rule on any lane."""

from collections.abc import Sequence

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fermix.domain.capability import Scope
from fermix.domain.ids import Epoch, TurnId
from fermix.domain.lane import LaneTurn, claimable_head
from fermix.domain.turn import ACTIVE, TurnState
from fermix.infrastructure.persistence.sqlite import schema
from fermix.infrastructure.persistence.sqlite.claims import HEADS, claim
from fermix.infrastructure.persistence.sqlite.codec import encode_message
from fermix.infrastructure.persistence.sqlite.transaction import Transaction, WaitingCount
from tests.integration.ledger.kit import SERVED, NumberedIds, message

NOW = 1_000
SETTLED_OR_WAITING = [TurnState.SETTLED, TurnState.QUEUED, TurnState.COLLECTING]

TURNS = st.tuples(st.integers(0, 2), st.sampled_from(SETTLED_OR_WAITING), st.booleans())
ACTIVES = st.dictionaries(st.integers(0, 2), st.sampled_from(sorted(ACTIVE)), max_size=2)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


LIMITS = st.integers(0, 4)
ORDERS = st.permutations(range(3))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(TURNS, max_size=12),
    active=ACTIVES,
    where=st.integers(0, 12),
    limit=st.integers(0, 4),
    served=st.permutations(range(3)),
)
def test_the_claimed_turns_are_the_heads_the_domain_names(
    turns: Sequence[tuple[int, TurnState, bool]],
    active: dict[int, TurnState],
    where: int,
    limit: int,
    served: Sequence[int],
) -> None:
    rows = list(turns)
    for lane, state in active.items():
        rows.insert(min(where, len(rows)), (lane, state, False))
    connection = apsw.Connection(":memory:")
    for statement in schema.STATEMENTS:
        connection.execute(statement)
    lanes: dict[int, list[LaneTurn]] = {}
    for lane in range(3):
        connection.execute(
            "INSERT INTO lanes(lane, channel, served) VALUES(?,'telegram',?)", (lane, served[lane])
        )
        connection.execute("INSERT INTO routes(route, lane) VALUES(?,?)", (f"telegram/bot/{lane}", lane))
    for number, (lane, state, media) in enumerate(rows, 1):
        _insert(connection, number, lane, state, media=media)
        lanes.setdefault(lane, []).append(LaneTurn(turn=TurnId(number), state=state, media_waiting=media))
    by_last_service = sorted(lanes, key=lambda lane: served[lane])
    heads = [head for lane in by_last_service if (head := claimable_head(lanes[lane])) is not None]

    tx = Transaction(
        connection, now=NOW, epoch=Epoch(1), durable=False, ids=NumberedIds(), waiting=WaitingCount()
    )
    claimed = [turn.turn for turn in claim(tx, limit=limit, channels=SERVED).turns]
    connection.close()

    assert claimed == sorted(heads[:limit])


def _insert(connection: apsw.Connection, number: int, lane: int, state: TurnState, *, media: bool) -> None:
    connection.execute(
        "INSERT INTO turns(turn, lane, channel, state, outcome, album, collect_until, epoch, snapshot,"
        " created_at) VALUES(?,?,'telegram',?,?,?,?,1,?,0)",
        (
            number,
            lane,
            state,
            "completed" if state is TurnState.SETTLED else None,
            str(number),
            NOW + 1 if state is TurnState.COLLECTING else None,
            Scope().encode(),
        ),
    )
    connection.execute(
        "INSERT INTO messages(message, origin, key, digest, lane, turn, kind, trust, sender, target, body,"
        " epoch, received_at) VALUES(?1,'telegram:bot',?1,x'00',?2,?1,'input','guest','',?3,?4,1,0)",
        (number, lane, f"telegram/bot/{lane}", encode_message(message(str(number)))),
    )
    if media:
        connection.execute(
            "INSERT INTO media(message, position, reference, state) VALUES(?,0,'r','waiting')", (number,)
        )


def test_finding_heads_reads_what_waits_and_nothing_else() -> None:
    connection = apsw.Connection(":memory:")
    for statement in schema.STATEMENTS:
        connection.execute(statement)
    plan = connection.execute(f"EXPLAIN QUERY PLAN {HEADS}", ("[]", 1)).fetchall()
    connection.close()
    steps = [str(row[3]) for row in plan]
    assert any("turns_waiting" in step for step in steps)
    assert any("turns_active" in step for step in steps)
    scans = [step for step in steps if step.startswith(("SCAN t", "SCAN l", "SCAN m"))]
    assert all("turns_waiting" in step for step in scans)
