"""How many turns run at once."""

from dataclasses import replace

import pytest

from fermix.application.gateway.dispatcher import turn_slots
from tests.unit.application.scripted import PROFILE


@pytest.mark.requirement("lane.provider_may_lower_slots")
def test_a_provider_may_lower_the_slots_and_never_raise_them() -> None:
    assert turn_slots(16, None) == 16
    assert turn_slots(16, PROFILE) == 16
    assert turn_slots(16, replace(PROFILE, max_concurrent_turns=1)) == 1
    assert turn_slots(2, replace(PROFILE, max_concurrent_turns=8)) == 2
