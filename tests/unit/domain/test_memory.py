"""Whose words may shape the agent for good."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.memory import MemoryCategory, may_be_promoted
from tests.unit.domain.test_capability import policies, scopes


@pytest.mark.parametrize(("trust", "allowed"), [(Trust.OPERATOR, True), (Trust.GUEST, False), (None, False)])
def test_a_directive_is_taken_from_operators_alone(trust: Trust | None, *, allowed: bool) -> None:
    assert may_be_promoted(MemoryCategory.DIRECTIVE, Scope(trust=trust)) is allowed


@pytest.mark.parametrize("category", [c for c in MemoryCategory if c is not MemoryCategory.DIRECTIVE])
@pytest.mark.parametrize("trust", [*Trust, None])
def test_what_shapes_nothing_is_taken_from_everybody(category: MemoryCategory, trust: Trust | None) -> None:
    assert may_be_promoted(category, Scope(trust=trust))


@given(category=st.sampled_from(MemoryCategory), scope=scopes, more=st.lists(policies, max_size=2))
def test_work_handed_on_promotes_nothing_that_its_parent_could_not(
    category: MemoryCategory, scope: Scope, more: list[object]
) -> None:
    handed = scope.handed_on(*more)  # type: ignore[arg-type]  # drawn as narrowing policies
    assert may_be_promoted(category, scope) or not may_be_promoted(category, handed)
