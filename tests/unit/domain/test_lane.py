"""Who is next in a conversation, and how much may wait."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.ids import TurnId
from fermix.domain.lane import (
    ALBUM_MAX_PARTS,
    LaneTurn,
    Placement,
    QueueLimits,
    claimable_head,
    collect_until,
    place,
)
from fermix.domain.turn import ACTIVE, TurnState

NOW = datetime(2030, 1, 1, tzinfo=UTC)
lanes = st.lists(
    st.builds(
        LaneTurn,
        turn=st.integers(1, 50).map(TurnId),
        state=st.sampled_from(TurnState),
        media_waiting=st.booleans(),
    ),
    unique_by=lambda turn: turn.turn,
    max_size=8,
)


def turn(number: int, state: TurnState, *, media_waiting: bool = False) -> LaneTurn:
    return LaneTurn(turn=TurnId(number), state=state, media_waiting=media_waiting)


def walked(turns: list[LaneTurn]) -> TurnId | None:
    """The dullest model: walk from the oldest and stop at the first that is not settled."""
    for each in turns:
        if each.state is TurnState.STARTED or each.state is TurnState.UNKNOWN:
            return None
    for each in sorted(turns, key=lambda t: t.turn):
        if each.state is TurnState.SETTLED:
            continue
        ready = each.state is TurnState.QUEUED and not each.media_waiting
        return each.turn if ready else None
    return None


@given(turns=lanes)
def test_the_head_is_what_a_walk_from_the_oldest_finds(turns: list[LaneTurn]) -> None:
    assert claimable_head(turns) == walked(turns)


@given(turns=lanes, data=st.data())
def test_the_order_in_which_turns_are_read_does_not_matter(
    turns: list[LaneTurn], data: st.DataObject
) -> None:
    assert claimable_head(data.draw(st.permutations(turns))) == claimable_head(turns)


@given(turns=lanes)
def test_nothing_older_that_is_unsettled_is_ever_overtaken(turns: list[LaneTurn]) -> None:
    head = claimable_head(turns)
    if head is not None:
        assert all(t.state is TurnState.SETTLED for t in turns if t.turn < head)
        assert not any(t.state in ACTIVE for t in turns)


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_a_running_or_unknown_turn_holds_its_lane(state: TurnState) -> None:
    assert claimable_head([turn(1, state), turn(2, TurnState.QUEUED)]) is None


@pytest.mark.requirement("lane.head_in_preparation_holds_lane")
def test_a_head_in_preparation_holds_its_lane() -> None:
    waiting, ready = turn(1, TurnState.QUEUED, media_waiting=True), turn(2, TurnState.QUEUED)
    assert claimable_head([waiting, ready]) is None
    assert claimable_head([turn(1, TurnState.QUEUED), ready]) == 1


@pytest.mark.requirement("album.collecting_holds_the_lane")
def test_a_collecting_album_holds_its_lane() -> None:
    assert claimable_head([turn(1, TurnState.COLLECTING), turn(2, TurnState.QUEUED)]) is None
    assert claimable_head([turn(1, TurnState.QUEUED), turn(2, TurnState.COLLECTING)]) == 1


def test_what_is_settled_is_out_of_the_way() -> None:
    assert claimable_head([turn(1, TurnState.SETTLED, media_waiting=True), turn(2, TurnState.QUEUED)]) == 2
    assert claimable_head([]) is None


@pytest.mark.requirement("lane.new_message_waits")
@given(
    here=st.integers(0, 300),
    others=st.integers(0, 3000),
    limits=st.builds(QueueLimits, per_conversation=st.integers(0, 200), total=st.integers(0, 2000)),
)
def test_a_new_message_waits_unless_too_much_waits_already(
    here: int, others: int, limits: QueueLimits
) -> None:
    answer = place(waiting_here=here, waiting_in_all=here + others, limits=limits)
    room_here, room_in_all = here < limits.per_conversation, here + others < limits.total
    if not room_in_all:
        assert answer is Placement.FULL_TOTAL
    else:
        assert answer is (Placement.WAIT if room_here else Placement.FULL_CONVERSATION)


@pytest.mark.requirement("limits.per_conversation", "limits.in_all")
def test_two_hundred_wait_in_a_conversation_and_two_thousand_in_all() -> None:
    limits = QueueLimits()
    assert place(waiting_here=199, waiting_in_all=1999, limits=limits) is Placement.WAIT
    assert place(waiting_here=200, waiting_in_all=1999, limits=limits) is Placement.FULL_CONVERSATION
    assert place(waiting_here=0, waiting_in_all=2000, limits=limits) is Placement.FULL_TOTAL


@pytest.mark.requirement("album.part_restarts_the_window", "album.closes_at_ten_or_window_end")
@given(parts=st.integers(1, 20), milliseconds=st.integers(0, 10_000))
def test_each_part_of_an_album_starts_its_wait_anew_and_the_tenth_ends_it(
    parts: int, milliseconds: int
) -> None:
    debounce = timedelta(milliseconds=milliseconds)
    until = collect_until(NOW, debounce=debounce, parts=parts)
    assert until == (NOW if parts >= ALBUM_MAX_PARTS else NOW + debounce)
    assert ALBUM_MAX_PARTS == 10


@pytest.mark.parametrize("debounce", [timedelta(0), timedelta(milliseconds=-5)])
def test_an_album_without_a_wait_is_due_at_once(debounce: timedelta) -> None:
    assert collect_until(NOW, debounce=debounce, parts=1) <= NOW
