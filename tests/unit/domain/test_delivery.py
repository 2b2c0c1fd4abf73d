"""How often an outgoing part is tried, and how a repeat is marked."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.delivery import (
    COUNTED_PAUSES,
    GIVE_UP_AFTER,
    MAX_COUNTED_ATTEMPTS,
    REPEAT_MARK,
    GiveUp,
    RetryAt,
    TextPart,
    after_maybe_sent,
    after_not_sent,
    mark_repeated,
)

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
waits = st.timedeltas(min_value=timedelta(0), max_value=timedelta(hours=30))


def pause(tries: int, *, wait: timedelta | None = None, age: timedelta = timedelta(0)) -> timedelta | None:
    """The pause after a try that did not leave, or nothing when it was the last."""
    retry = after_not_sent(now=NOW, created_at=NOW - age, tries=tries, wait=wait)
    return retry.when - NOW if isinstance(retry, RetryAt) else None


@pytest.mark.requirement("deliver.backoff")
def test_pauses_double_from_one_second_to_sixty() -> None:
    seconds = [(pause(tries) or SECOND * -1) / SECOND for tries in range(1, 10)]
    assert seconds == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.requirement("deliver.backoff")
@given(tries=st.integers(1, 100_000))
def test_every_pause_of_ours_lies_between_one_and_sixty_seconds(tries: int) -> None:
    found, longer = pause(tries), pause(tries + 1)
    assert found is not None
    assert longer is not None
    assert SECOND <= found <= longer <= 60 * SECOND


@pytest.mark.requirement("deliver.backoff")
@given(tries=st.integers(1, 50), seconds=st.integers(1, 3600))
def test_the_platforms_own_wait_takes_the_place_of_the_back_off(tries: int, seconds: int) -> None:
    assert pause(tries, wait=seconds * SECOND) == seconds * SECOND


@given(wait=st.timedeltas(max_value=SECOND))
def test_no_wait_a_platform_names_makes_us_hammer_it(wait: timedelta) -> None:
    found = pause(1, wait=wait)
    assert found is not None
    assert found >= SECOND


@pytest.mark.requirement("deliver.not_left_is_tried_longer")
@given(tries=st.integers(1, 5000), age=waits, wait=st.none() | waits)
def test_a_part_that_did_not_leave_is_tried_for_a_day_and_counts_nothing(
    tries: int, age: timedelta, wait: timedelta | None
) -> None:
    retry = after_not_sent(now=NOW, created_at=NOW - age, tries=tries, wait=wait)
    if isinstance(retry, RetryAt):
        assert not retry.counts
        assert NOW < retry.when <= NOW - age + GIVE_UP_AFTER
    else:
        longest = max(wait or timedelta(0), 60 * SECOND)
        assert age + longest > GIVE_UP_AFTER


@pytest.mark.requirement("deliver.not_left_is_tried_longer")
def test_a_day_is_reached_exactly_and_not_passed() -> None:
    assert timedelta(hours=24) == GIVE_UP_AFTER
    assert pause(1, age=GIVE_UP_AFTER - SECOND) == SECOND
    assert pause(1, age=GIVE_UP_AFTER) is None


@pytest.mark.parametrize("wait", [timedelta(days=9_000_000), timedelta.max])
def test_a_wait_past_the_end_of_the_calendar_gives_up(wait: timedelta) -> None:
    assert after_not_sent(now=NOW, created_at=NOW, tries=1, wait=wait) == GiveUp()


def test_a_clock_that_was_set_back_still_gives_a_time_to_come() -> None:
    retry = after_not_sent(now=NOW, created_at=NOW + timedelta(days=2), tries=1, wait=None)
    assert isinstance(retry, RetryAt)
    assert retry.when > NOW


@pytest.mark.requirement("deliver.three_attempts")
@given(attempts=st.integers(1, 10))
def test_a_part_that_may_have_left_is_tried_three_times(attempts: int) -> None:
    retry = after_maybe_sent(now=NOW, attempts=attempts)
    assert MAX_COUNTED_ATTEMPTS == 3
    if attempts >= 3:
        assert retry == GiveUp()
    else:
        assert isinstance(retry, RetryAt)
        assert retry.counts
        assert retry.when - NOW == COUNTED_PAUSES[attempts - 1]


def test_the_counted_tries_outlast_an_outage_of_a_minute_and_a_half() -> None:
    assert len(COUNTED_PAUSES) == MAX_COUNTED_ATTEMPTS - 1
    assert sorted(COUNTED_PAUSES) == list(COUNTED_PAUSES)
    assert COUNTED_PAUSES[0] <= 3 * SECOND
    assert sum(COUNTED_PAUSES, timedelta()) >= 90 * SECOND


@given(text=st.text(min_size=1))
def test_a_repeat_says_so_in_its_first_line_and_keeps_its_text(text: str) -> None:
    marked = mark_repeated(TextPart(text=text)).text
    first, _, rest = marked.partition("\n")
    assert (first, rest) == (REPEAT_MARK, text)
    assert REPEAT_MARK == "(possibly sent before)"
