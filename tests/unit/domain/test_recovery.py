"""What becomes of a turn whose owner died."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Trust
from fermix.domain.recovery import (
    MAX_ATTEMPTS,
    InterruptedTurn,
    RecordedEffect,
    Recovery,
    Repeat,
    recover,
)

UNSAFE = RecordedEffect(repeat=Repeat.UNSAFE)
OWN_PART = RecordedEffect(repeat=Repeat.UNSAFE, own_reply_part=True)
TEXT = RecordedEffect(repeat=Repeat.TEXT)
DRAFT = RecordedEffect(repeat=Repeat.ADOPT)

effects = st.builds(RecordedEffect, repeat=st.sampled_from(Repeat), own_reply_part=st.booleans())
turns = st.builds(
    InterruptedTurn,
    awaited=st.booleans(),
    trust=st.sampled_from(Trust),
    attempts=st.integers(1, 6),
    effects=st.lists(effects, max_size=4).map(tuple),
)


def found(
    *journal: RecordedEffect, awaited: bool = False, trust: Trust = Trust.OPERATOR, attempts: int = 1
) -> Recovery:
    return recover(InterruptedTurn(awaited=awaited, trust=trust, attempts=attempts, effects=journal))


def plainly(turn: InterruptedTurn) -> Recovery:
    """The rules once more, one line each."""
    unsafe = {(e.repeat, e.own_reply_part) for e in turn.effects if e.repeat == "unsafe"}
    only_own_parts = unsafe == {(Repeat.UNSAFE, True)}
    rules = (
        (turn.awaited, Recovery.INTERRUPT_AWAITED),
        (only_own_parts and turn.trust is Trust.GUEST, Recovery.ASK_GUEST_AGAIN),
        (len(unsafe) > 0, Recovery.PAUSE_AS_UNKNOWN),
        (any(e.repeat == "text" for e in turn.effects), Recovery.INTERRUPT_CUT_OFF),
        (turn.attempts > 2, Recovery.FAIL),
        (True, Recovery.REPLAY),
    )
    return next(answer for holds, answer in rules if holds)


@given(turn=turns)
def test_the_rules_are_tried_in_their_order(turn: InterruptedTurn) -> None:
    assert recover(turn) is plainly(turn)


@given(turn=turns, data=st.data())
def test_the_order_of_the_journal_does_not_matter(turn: InterruptedTurn, data: st.DataObject) -> None:
    shuffled = InterruptedTurn(
        awaited=turn.awaited,
        trust=turn.trust,
        attempts=turn.attempts,
        effects=data.draw(st.permutations(turn.effects)),
    )
    assert recover(shuffled) is recover(turn)


@given(turn=turns)
def test_only_a_turn_that_left_no_trace_runs_again(turn: InterruptedTurn) -> None:
    if recover(turn) is Recovery.REPLAY:
        assert not turn.awaited
        assert turn.attempts < MAX_ATTEMPTS
        assert all(effect.repeat in (Repeat.ADOPT, Repeat.HARMLESS) for effect in turn.effects)


@given(turn=turns, more=effects)
def test_another_effect_never_makes_a_turn_run_again(turn: InterruptedTurn, more: RecordedEffect) -> None:
    longer = InterruptedTurn(
        awaited=turn.awaited, trust=turn.trust, attempts=turn.attempts, effects=(*turn.effects, more)
    )
    if recover(turn) is not Recovery.REPLAY:
        assert recover(longer) is not Recovery.REPLAY


@pytest.mark.parametrize(
    ("journal", "attempts"), list(itertools.product([(), (UNSAFE,), (TEXT,), (DRAFT,)], [1, 3]))
)
def test_an_awaited_turn_is_interrupted_whatever_it_did(
    journal: tuple[RecordedEffect, ...], attempts: int
) -> None:
    assert found(*journal, awaited=True, attempts=attempts) is Recovery.INTERRUPT_AWAITED


def test_an_unsafe_effect_pauses_whoever_asked_and_however_often_it_was_tried() -> None:
    for trust, attempts in itertools.product(Trust, (1, 3, 9)):
        assert found(DRAFT, TEXT, UNSAFE, trust=trust, attempts=attempts) is Recovery.PAUSE_AS_UNKNOWN


def test_a_guest_who_only_got_parts_of_a_reply_is_asked_again_and_the_owner_decides_alone() -> None:
    assert found(OWN_PART, TEXT, trust=Trust.GUEST) is Recovery.ASK_GUEST_AGAIN
    assert found(OWN_PART, UNSAFE, trust=Trust.GUEST) is Recovery.PAUSE_AS_UNKNOWN
    assert found(OWN_PART, trust=Trust.OPERATOR) is Recovery.PAUSE_AS_UNKNOWN


def test_text_that_was_shown_is_where_the_turn_was_cut_off() -> None:
    assert found(TEXT, DRAFT, attempts=9) is Recovery.INTERRUPT_CUT_OFF


def test_a_turn_without_a_trace_runs_three_times_and_no_more() -> None:
    answers = [found(DRAFT, attempts=attempts) for attempts in (1, 2, 3, 4)]
    assert answers == [Recovery.REPLAY, Recovery.REPLAY, Recovery.FAIL, Recovery.FAIL]
