"""What a turn may see of the registry, and that it can only ever see less."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Trust
from fermix.domain.capability import (
    Capability,
    Narrowing,
    OnlyNames,
    OnlyRisks,
    RiskClass,
    Scope,
    WithoutCategories,
    WithoutNames,
)

names = st.sampled_from(["file_read", "file_write", "react", "web", "screen", ""])
categories = st.sampled_from(["general", "channel", "files"])
risks = st.sampled_from(RiskClass)
capabilities = st.builds(
    Capability,
    name=names,
    description=st.just("does it"),
    risk=risks,
    owner_data=st.booleans(),
    repeatable=st.booleans(),
    category=categories,
)
policies: st.SearchStrategy[Narrowing] = st.one_of(
    st.builds(OnlyNames, names=st.frozensets(names | st.text())),
    st.builds(WithoutNames, names=st.frozensets(names | st.text())),
    st.builds(OnlyRisks, risks=st.frozensets(risks)),
    st.builds(WithoutCategories, categories=st.frozensets(categories | st.text())),
)
trusts = st.none() | st.sampled_from(Trust)
scopes = st.builds(
    Scope, trust=trusts, narrowing=st.lists(policies, max_size=3).map(tuple), delegated=st.booleans()
)

EVERYTHING = tuple(
    Capability(name=f"{risk}-{owner}", description="does it", risk=risk, owner_data=owner)
    for risk, owner in itertools.product(RiskClass, (False, True))
)


def seen(scope: Scope) -> set[str]:
    return {capability.name for capability in scope.visible(EVERYTHING)}


@pytest.mark.requirement("trust.operator_sees_all_classes")
def test_an_operator_sees_every_risk_class() -> None:
    assert Scope(trust=Trust.OPERATOR).visible(EVERYTHING) == EVERYTHING


@pytest.mark.requirement("trust.guest_sees_read_only", "trust.owner_data.hidden_from_guests")
def test_a_guest_sees_read_only_capabilities_without_the_owners_data() -> None:
    assert seen(Scope(trust=Trust.GUEST)) == {"read_only-False"}


@pytest.mark.requirement("trust.flow.absent_is_guest")
@given(offered=st.lists(capabilities), narrowing=st.lists(policies).map(tuple), delegated=st.booleans())
def test_a_turn_without_trust_sees_what_a_guest_sees(
    offered: list[Capability], narrowing: tuple[Narrowing, ...], delegated: bool
) -> None:
    guest = Scope(trust=Trust.GUEST, narrowing=narrowing, delegated=delegated)
    nobody = Scope(trust=None, narrowing=narrowing, delegated=delegated)
    assert nobody.visible(offered) == guest.visible(offered)


@given(offered=st.lists(capabilities), scope=scopes)
def test_what_is_visible_is_what_is_allowed_in_the_order_offered(
    offered: list[Capability], scope: Scope
) -> None:
    assert scope.visible(offered) == tuple(c for c in offered if scope.allows(c))


@given(capability=capabilities, scope=scopes)
def test_a_guest_is_never_shown_more_than_an_operator(capability: Capability, scope: Scope) -> None:
    operator = Scope(trust=Trust.OPERATOR, narrowing=scope.narrowing, delegated=scope.delegated)
    assert operator.allows(capability) or not scope.allows(capability)


@pytest.mark.requirement("snapshot.policies_only_narrow")
@given(capability=capabilities, scope=scopes, more=st.lists(policies, max_size=3), trust=trusts)
def test_narrowing_never_shows_more_than_before(
    capability: Capability, scope: Scope, more: list[Narrowing], trust: Trust | None
) -> None:
    narrower = scope.narrowed(*more, trust=trust)
    assert scope.allows(capability) or not narrower.allows(capability)
    alone = Scope(trust=trust)
    assert alone.allows(capability) or not narrower.allows(capability)


@given(capability=capabilities, scope=scopes, more=st.lists(policies, max_size=3))
def test_work_handed_on_never_sees_more_and_never_the_screen(
    capability: Capability, scope: Scope, more: list[Narrowing]
) -> None:
    handed = scope.handed_on(*more)
    assert scope.allows(capability) or not handed.allows(capability)
    assert not (handed.allows(capability) and capability.risk is RiskClass.GUI_CONTROL)


@given(scope=scopes, more=st.lists(policies, max_size=2), trust=trusts)
def test_work_handed_on_stays_handed_on_however_it_is_narrowed(
    scope: Scope, more: list[Narrowing], trust: Trust | None
) -> None:
    again = scope.handed_on().narrowed(*more, trust=trust).handed_on()
    assert again.delegated


@given(scope=scopes, first=policies, second=policies, capability=capabilities)
def test_the_order_of_narrowing_does_not_matter(
    scope: Scope, first: Narrowing, second: Narrowing, capability: Capability
) -> None:
    one, other = scope.narrowed(first).narrowed(second), scope.narrowed(second, first)
    assert one.allows(capability) == other.allows(capability)


def test_an_empty_list_of_names_means_nothing_at_all() -> None:
    operator = Scope(trust=Trust.OPERATOR)
    assert seen(operator.narrowed(OnlyNames(names=frozenset()))) == set()
    assert seen(operator.narrowed(OnlyRisks(risks=frozenset()))) == set()
    assert operator.narrowed(WithoutNames(names=frozenset())).visible(EVERYTHING) == EVERYTHING


def test_each_policy_takes_away_what_it_names() -> None:
    operator = Scope(trust=Trust.OPERATOR)
    assert seen(operator.narrowed(OnlyNames(names=frozenset({"exec-True"})))) == {"exec-True"}
    assert "exec-True" not in seen(operator.narrowed(WithoutNames(names=frozenset({"exec-True"}))))
    only_read = operator.narrowed(OnlyRisks(risks=frozenset({RiskClass.READ_ONLY})))
    assert seen(only_read) == {"read_only-False", "read_only-True"}
    assert seen(operator.narrowed(WithoutCategories(categories=frozenset({"general"})))) == set()


@given(scope=scopes)
def test_a_scope_reads_back_as_it_was_written(scope: Scope) -> None:
    assert Scope.decode(scope.encode()) == scope


@given(scope=scopes)
def test_equal_scopes_are_written_equally(scope: Scope) -> None:
    assert Scope.decode(scope.encode()).encode() == scope.encode()


GOOD = {"trust": "operator", "delegated": False, "narrowing": []}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '"operator"',
        '{"trust": "operator"}',
        "[" * 100_000,
        json.dumps(GOOD | {"trust": "root"}),
        json.dumps(GOOD | {"trust": True}),
        json.dumps(GOOD | {"trust": []}),
        json.dumps(GOOD | {"delegated": None}),
        json.dumps(GOOD | {"delegated": "false"}),
        json.dumps(GOOD | {"delegated": 0}),
        json.dumps(GOOD | {"narrowing": None}),
        json.dumps(GOOD | {"narrowing": {}}),
        json.dumps(GOOD | {"narrowing": [["only_names"]]}),
        json.dumps(GOOD | {"narrowing": [["only_names", "abc"]]}),
        json.dumps(GOOD | {"narrowing": [["only_names", {"a": 1}]]}),
        json.dumps(GOOD | {"narrowing": [["without_names", [1]]]}),
        json.dumps(GOOD | {"narrowing": [["only_risks", ["harmless"]]]}),
        json.dumps(GOOD | {"narrowing": [["anything_goes", []]]}),
        json.dumps(GOOD | {"narrowing": ["ab"]}),
        json.dumps(GOOD | {"widening": [["all", []]]}),
    ],
)
def test_nothing_is_guessed_from_a_text_that_is_no_scope(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Scope.decode(text)


@given(
    trust=json_values | st.just("operator"),
    delegated=json_values,
    narrowing=json_values | st.lists(st.tuples(names | st.just("only_names"), json_values)),
)
def test_whatever_is_read_as_a_scope_is_what_encode_would_have_written(
    trust: object, delegated: object, narrowing: object
) -> None:
    text = json.dumps({"trust": trust, "delegated": delegated, "narrowing": narrowing})
    try:
        scope = Scope.decode(text)
    except ValueError:
        return
    written = json.loads(scope.encode())
    assert (written["trust"], written["delegated"]) == (trust, delegated)


@pytest.mark.requirement("trust.owner_data.is_declared")
def test_a_capability_must_say_whether_it_reads_the_owners_data() -> None:
    with pytest.raises(TypeError, match="owner_data"):
        Capability(name="x", description="x", risk=RiskClass.READ_ONLY)  # type: ignore[call-arg]  # the point


@given(capability=capabilities)
def test_exactly_what_a_repeat_would_do_twice_is_journalled(capability: Capability) -> None:
    harmless = capability.risk is RiskClass.READ_ONLY or capability.repeatable
    assert capability.journalled != harmless


def test_capabilities_do_not_share_their_empty_schema() -> None:
    first, second = EVERYTHING[0], EVERYTHING[1]
    assert first.parameters == {"type": "object", "properties": {}}
    assert first.parameters is not second.parameters
