"""The count of what waits follows the transactions that changed it."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.ids import LaneId
from fermix.infrastructure.persistence.sqlite.transaction import WaitingCount

CHANGES = st.lists(st.tuples(st.integers(1, 3).map(LaneId), st.integers(1, 5)), max_size=8)


@given(kept=CHANGES, undone=CHANGES)
def test_undone_changes_leave_no_trace(
    kept: list[tuple[LaneId, int]], undone: list[tuple[LaneId, int]]
) -> None:
    count = WaitingCount()
    for lane, by in kept:
        count.change(lane, by)
    mark = count.mark()
    for lane, by in undone:
        count.change(lane, by)
    count.undo_to(mark)
    assert count.total == sum(by for _, by in kept)
    for lane in (LaneId(1), LaneId(2), LaneId(3)):
        assert count.here(lane) == sum(by for changed, by in kept if changed == lane)
    count.undo_to()
    assert count.total == 0


def test_what_is_kept_can_no_longer_be_undone() -> None:
    count = WaitingCount()
    count.change(LaneId(1), 2)
    count.keep()
    count.change(LaneId(1), -1)
    count.undo_to()
    assert (count.total, count.here(LaneId(1)), count.here(LaneId(2))) == (2, 2, 0)
