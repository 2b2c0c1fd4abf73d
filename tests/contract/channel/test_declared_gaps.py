"""What our adapters cannot keep is public, with the platform's reason, and the page that says so is true."""

import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS
from tests.contract.channel.declared_gaps import GAPS, MARK, PAGE, listed


def test_the_page_lists_exactly_the_gaps_that_are_declared() -> None:
    _, mark, found = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    assert found == listed(GAPS)


@pytest.mark.parametrize("channel", GAPS)
def test_every_gap_names_a_check_once_and_has_a_reason(channel: str) -> None:
    ids = {check.id for check in CHANNEL_CHECKS}
    named = [gap.check for gap in GAPS[channel]]
    assert set(named) <= ids
    assert len(named) == len(set(named))
    assert all(gap.reason.strip() and "|" not in gap.reason for gap in GAPS[channel])
