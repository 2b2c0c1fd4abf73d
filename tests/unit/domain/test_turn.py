"""The state machines of turns and outgoing parts."""

from collections.abc import Mapping
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.turn import (
    ACTIVE,
    OUTCOMES_FROM,
    PART_STEPS,
    TURN_STEPS,
    WAITING,
    Outcome,
    PartState,
    TurnState,
    may_settle,
)

S = TypeVar("S")


def reachable(steps: Mapping[S, frozenset[S]], start: S) -> set[S]:
    found, fresh = {start}, {start}
    while fresh:
        fresh = {after for state in fresh for after in steps[state]} - found
        found |= fresh
    return found


def finals(steps: Mapping[S, frozenset[S]]) -> set[S]:
    return {state for state, after in steps.items() if not after}


def test_every_state_has_its_steps_and_leads_into_known_states() -> None:
    assert set(TURN_STEPS) == set(OUTCOMES_FROM) == set(TurnState)
    assert set(PART_STEPS) == set(PartState)
    assert all(after <= set(TurnState) for after in TURN_STEPS.values())
    assert all(after <= set(PartState) for after in PART_STEPS.values())


def test_a_turn_ends_settled_and_nowhere_else() -> None:
    assert finals(TURN_STEPS) == {TurnState.SETTLED}
    for state in TurnState:
        assert TurnState.SETTLED in reachable(TURN_STEPS, state)


def test_a_part_ends_sent_failed_or_withdrawn_and_can_always_end() -> None:
    ends = {PartState.SENT, PartState.FAILED, PartState.WITHDRAWN}
    assert finals(PART_STEPS) == ends
    for state in PartState:
        assert reachable(PART_STEPS, state) & ends


def test_every_state_can_be_reached_from_how_things_begin() -> None:
    assert reachable(TURN_STEPS, TurnState.COLLECTING) == set(TurnState)
    assert reachable(TURN_STEPS, TurnState.QUEUED) == set(TurnState) - {TurnState.COLLECTING}
    assert reachable(PART_STEPS, PartState.PENDING) == set(PartState)


def test_nothing_stays_where_it_is_by_a_step() -> None:
    assert all(state not in after for state, after in TURN_STEPS.items())
    assert all(state not in after for state, after in PART_STEPS.items())


def test_only_a_queued_turn_starts_and_only_a_started_one_becomes_unknown() -> None:
    assert [s for s, after in TURN_STEPS.items() if TurnState.STARTED in after] == [TurnState.QUEUED]
    assert [s for s, after in TURN_STEPS.items() if TurnState.UNKNOWN in after] == [TurnState.STARTED]
    assert not any(TurnState.COLLECTING in after for after in TURN_STEPS.values())


def test_only_a_part_on_its_way_is_sent_or_fails() -> None:
    for end in (PartState.SENT, PartState.FAILED):
        assert [s for s, after in PART_STEPS.items() if end in after] == [PartState.SENDING]


def test_a_stop_withdraws_every_open_part() -> None:
    for state in (PartState.PENDING, PartState.SENDING):
        assert PartState.WITHDRAWN in PART_STEPS[state]


@given(state=st.sampled_from(TurnState), outcome=st.sampled_from(Outcome))
def test_an_outcome_belongs_to_states_that_can_settle(state: TurnState, outcome: Outcome) -> None:
    if may_settle(state, outcome):
        assert TurnState.SETTLED in TURN_STEPS[state]
    assert may_settle(state, outcome) == (outcome in OUTCOMES_FROM[state])


def test_every_state_that_settles_has_an_outcome_and_every_outcome_a_state() -> None:
    for state, after in TURN_STEPS.items():
        assert (TurnState.SETTLED in after) == bool(OUTCOMES_FROM[state])
    assert frozenset().union(*OUTCOMES_FROM.values()) == set(Outcome)


def test_only_a_turn_that_ran_was_answered_and_only_a_waiting_one_is_cancelled() -> None:
    for outcome in (Outcome.COMPLETED, Outcome.FAILED, Outcome.REJECTED):
        assert [s for s in TurnState if may_settle(s, outcome)] == [TurnState.STARTED]
    assert {s for s in TurnState if may_settle(s, Outcome.CANCELLED)} == WAITING
    assert [o for o in Outcome if may_settle(TurnState.UNKNOWN, o)] == [Outcome.INTERRUPTED]


def test_a_turn_is_waiting_or_active_or_settled() -> None:
    assert not ACTIVE & WAITING
    assert ACTIVE | WAITING | {TurnState.SETTLED} == set(TurnState)


@pytest.mark.parametrize("table", [TURN_STEPS, OUTCOMES_FROM, PART_STEPS])
def test_the_tables_cannot_be_changed(table: object) -> None:
    with pytest.raises(TypeError):
        table["queued"] = frozenset()  # type: ignore[index]  # the point
