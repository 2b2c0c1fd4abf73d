"""One phone, several spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.phone_numbers import digits_of, other_spellings


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("+1 (555) 123-0001", "15551230001"),
        ("15551230001", "15551230001"),
        ("+49.170-12 34", "491701234"),
        ("US.13491208655302741918", "US.13491208655302741918"),
        ("6f2c1b3a-0000-4000-8000-00000000a001", "6f2c1b3a-0000-4000-8000-00000000a001"),
        ("", ""),
        ("١٢٣", "١٢٣"),
    ],
)
def test_what_is_written_as_a_number_becomes_digits_and_nothing_else_is_touched(
    written: str, digits: str
) -> None:
    assert digits_of(written) == digits


@pytest.mark.parametrize(
    ("digits", "others"),
    [
        ("5215512340000", ("525512340000",)),
        ("525512340000", ("5215512340000",)),
        ("5491123456789", ("541123456789",)),
        ("554788887777", ("5547988887777",)),
        ("5547988887777", ("554788887777",)),
        ("554733334444", ()),
        ("5547933334444", ()),
        ("15551230001", ()),
    ],
)
def test_a_phone_goes_by_the_spellings_of_its_country(digits: str, others: tuple[str, ...]) -> None:
    """A Brazilian number that is a landline without its ninth digit has one spelling."""
    assert other_spellings(digits) == others


@given(st.from_regex(r"(52|54|55|1|49)[0-9]{8,11}", fullmatch=True))
def test_the_other_spelling_leads_back(digits: str) -> None:
    for other in other_spellings(digits):
        assert other != digits
        assert other_spellings(other) == (digits,)


@given(st.text())
def test_digits_stay_as_they_are(written: str) -> None:
    assert digits_of(digits_of(written)) == digits_of(written)
