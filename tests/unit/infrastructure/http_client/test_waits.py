"""The wait that a server asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.http_client.waits import LONGEST_WAIT_SECONDS, named_wait


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        (7, 7.0),
        (0.5, 0.5),
        ("30", 30.0),
        (" 1.5 ", 1.5),
        (-3, 0.0),
        (10**9, LONGEST_WAIT_SECONDS),
        (10**400, None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        (True, None),
        (None, None),
        ([5], None),
    ],
)
def test_only_a_number_of_seconds_is_a_wait(named: object, seconds: float | None) -> None:
    assert named_wait(named) == seconds


@given(st.floats() | st.integers() | st.text(max_size=10) | st.none() | st.booleans())
def test_a_wait_is_between_nothing_and_a_day(named: object) -> None:
    seconds = named_wait(named)
    assert seconds is None or 0 <= seconds <= LONGEST_WAIT_SECONDS
