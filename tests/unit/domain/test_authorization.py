"""Who may talk, with which trust, and who may run which command."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import (
    LOCAL_CHANNELS,
    Authorization,
    ChannelAccess,
    Decision,
    Denial,
    DenialKind,
    Gate,
    Policies,
    Role,
    Trust,
    authorise,
    lower_trust,
    passes,
)
from fermix.domain.ids import ChannelName, UserId
from tests.unit.domain import samples

TELEGRAM = ChannelName("telegram")
RANK = {None: 0, Trust.GUEST: 1, Trust.OPERATOR: 2}

user_ids = samples.ids.map(UserId)
accesses = st.builds(
    ChannelAccess,
    owner=st.none() | user_ids,
    allowed=st.frozensets(user_ids, max_size=4),
    command_allowlist=st.frozensets(user_ids, max_size=3),
)
channels = st.sampled_from([ChannelName(name) for name in ("cli", "daemon", "telegram", "slack", "Cli", "")])
policies = st.builds(
    Policies, channels=st.dictionaries(st.sampled_from([TELEGRAM, ChannelName("slack")]), accesses)
)
senders = st.lists(user_ids | st.sampled_from([UserId(""), UserId("  "), UserId(" 1001\n")]), max_size=3)


def decide(access: ChannelAccess, *sender_ids: str) -> Decision:
    return authorise(TELEGRAM, [UserId(i) for i in sender_ids], Policies(channels={TELEGRAM: access}))


def trust_of(decision: Decision) -> Trust | None:
    return decision.trust if isinstance(decision, Authorization) else None


def plainly(channel: str, sender_ids: Iterable[str], policies: Policies) -> str:
    """The six rules once more, one line each."""
    known = dict(policies.channels)
    present = [i.strip() for i in sender_ids if i.strip()]
    if channel in ("cli", "daemon"):
        return "operator"
    if channel not in known:
        return "unknown_channel"
    if len(present) == 0:
        return "unauthorized"
    if any(i == known[ChannelName(channel)].owner for i in present):
        return "operator"
    if any(i in known[ChannelName(channel)].allowed for i in present):
        return "guest"
    return "unauthorized"


@pytest.mark.requirement("ingress.authorise.rule_order")
@given(channel=channels, sender_ids=senders, policies=policies)
def test_the_six_rules_decide_in_their_order(
    channel: ChannelName, sender_ids: list[UserId], policies: Policies
) -> None:
    decision = authorise(channel, sender_ids, policies)
    said = str(decision.trust if isinstance(decision, Authorization) else decision.kind)
    assert said == plainly(channel, sender_ids, policies)


@pytest.mark.requirement("ingress.authorise.cli_is_operator")
@pytest.mark.parametrize("channel", sorted(LOCAL_CHANNELS))
@pytest.mark.parametrize("sender_ids", [[], ["anybody"]])
def test_a_local_channel_is_operator_whoever_sends(channel: ChannelName, sender_ids: list[UserId]) -> None:
    assert trust_of(authorise(channel, sender_ids, Policies())) is Trust.OPERATOR


def test_a_local_channel_is_operator_even_where_somebody_configured_it() -> None:
    stranger = Policies(channels={ChannelName("cli"): ChannelAccess(owner=UserId("1"))})
    assert trust_of(authorise(ChannelName("cli"), [UserId("2")], stranger)) is Trust.OPERATOR


@pytest.mark.parametrize("channel", ["CLI", " cli", "cli\n", "daemon ", "cli/..", ""])
def test_a_name_that_only_looks_local_is_an_unknown_channel(channel: str) -> None:
    decision = authorise(ChannelName(channel), [UserId("1001")], Policies())
    assert isinstance(decision, Denial)
    assert decision.kind is DenialKind.UNKNOWN_CHANNEL


@pytest.mark.requirement("ingress.authorise.unknown_channel")
def test_a_channel_nobody_configured_is_unknown_before_its_sender_is_looked_at() -> None:
    for sender_ids in ([], [UserId("1001")]):
        decision = authorise(ChannelName("matrix"), sender_ids, Policies())
        assert isinstance(decision, Denial)
        assert decision.kind is DenialKind.UNKNOWN_CHANNEL


@pytest.mark.requirement("ingress.authorise.missing_sender_is_unauthorized")
@pytest.mark.parametrize("sender_ids", [(), ("",), ("  ", "\t")])
def test_nobody_is_refused_even_where_the_lists_hold_a_blank(sender_ids: tuple[str, ...]) -> None:
    careless = ChannelAccess(owner=UserId(""), allowed=frozenset({UserId(""), UserId("  ")}))
    decision = decide(careless, *sender_ids)
    assert isinstance(decision, Denial)
    assert decision.kind is DenialKind.UNAUTHORIZED


@pytest.mark.requirement("ingress.authorise.owner_matches")
def test_the_owner_is_operator_though_also_allowlisted() -> None:
    both = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("1001")}))
    assert trust_of(decide(both, "1001")) is Trust.OPERATOR


@pytest.mark.requirement("ingress.authorise.allowlist_matches")
def test_an_allowlisted_sender_is_a_guest() -> None:
    access = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("2002")}))
    assert trust_of(decide(access, "2002")) is Trust.GUEST


@pytest.mark.requirement("ingress.authorise.everyone_else_is_unauthorized")
@pytest.mark.parametrize("stranger", ["9999", "100", "10011", "1001x", "1001,2002", "０1001"])
def test_everyone_else_is_refused_near_misses_too(stranger: str) -> None:
    access = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("2002")}))
    decision = decide(access, stranger)
    assert isinstance(decision, Denial)
    assert decision.kind is DenialKind.UNAUTHORIZED


@pytest.mark.parametrize(
    ("sender", "trust"),
    [("1001", Trust.OPERATOR), ("2002", Trust.GUEST), ("3003", Trust.GUEST), ("4004", None), ("200", None)],
)
def test_an_entry_with_a_comma_in_it_matches_nobody(sender: str, trust: Trust | None) -> None:
    access = ChannelAccess(
        owner=UserId("1001"),
        allowed=frozenset(UserId(i) for i in ("2002", "3003", "", "4004,5005")),
    )
    assert trust_of(decide(access, sender)) is trust


def test_any_of_a_senders_ids_may_match_and_white_space_around_it_is_nothing() -> None:
    access = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("uuid-2")}))
    assert trust_of(decide(access, "+4400", " 1001 ")) is Trust.OPERATOR
    assert trust_of(decide(access, "+4400", "uuid-2\n")) is Trust.GUEST


@pytest.mark.requirement("ingress.authorise.says_role_trust_reason_source")
def test_a_decision_says_role_trust_reason_and_the_setting_it_rests_on() -> None:
    access = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("2002")}))
    owner, guest, stranger = decide(access, "1001"), decide(access, "2002"), decide(access, "3003")
    assert isinstance(owner, Authorization)
    assert isinstance(guest, Authorization)
    assert (owner.role, owner.trust) == (Role.OPERATOR, Trust.OPERATOR)
    assert (guest.role, guest.trust) == (Role.GUEST, Trust.GUEST)
    assert owner.source == "fermix_channels.telegram.owner_user_id"
    assert guest.source.startswith("fermix_channels.telegram")
    assert all(decision.reason for decision in (owner, guest, stranger))
    assert owner.reason != guest.reason


@pytest.mark.requirement("ingress.fail_closed.no_owner_no_allowlist")
@given(sender_ids=senders, command_allowlist=st.frozensets(user_ids))
def test_a_channel_nobody_filled_in_admits_nobody(
    sender_ids: list[UserId], command_allowlist: frozenset[UserId]
) -> None:
    access = ChannelAccess(command_allowlist=command_allowlist)
    assert trust_of(decide(access, *sender_ids)) is None
    assert not access.admits_somebody


@given(access=accesses)
def test_a_channel_says_whether_anybody_would_be_admitted(access: ChannelAccess) -> None:
    everybody = {*access.allowed, *access.command_allowlist, *([access.owner] if access.owner else [])}
    admitted = [user for user in everybody if trust_of(decide(access, user)) is not None]
    assert access.admits_somebody == bool(admitted)


@pytest.mark.requirement("ingress.owner.explicit_only", "ingress.owner.fallback_does_not_promote")
def test_the_only_allowed_sender_commands_and_stays_a_guest() -> None:
    access = ChannelAccess(allowed=frozenset({UserId("2002")}))
    decision = decide(access, "2002")
    assert isinstance(decision, Authorization)
    assert (decision.role, decision.trust) == (Role.GUEST, Trust.GUEST)
    assert may(Gate.OWNER_OR_ALLOWLIST, access, "2002")


@pytest.mark.requirement("ingress.owner.command_falls_back_to_sole_entry")
def test_the_command_owner_is_the_explicit_one_or_else_the_only_allowed() -> None:
    two, three = UserId("2002"), UserId("3003")
    assert ChannelAccess(owner=two, allowed=frozenset({three})).command_owner == two
    assert ChannelAccess(allowed=frozenset({three})).command_owner == three


@pytest.mark.requirement("ingress.owner.two_entries_have_no_fallback")
def test_two_allowed_senders_leave_no_command_owner() -> None:
    access = ChannelAccess(allowed=frozenset({UserId("2002"), UserId("3003")}))
    assert access.command_owner is None
    assert ChannelAccess().command_owner is None
    assert not may(Gate.OWNER_OR_ALLOWLIST, access, "2002")


@pytest.mark.requirement("config.command_allowlist.separate")
def test_the_command_allowlist_admits_nobody_to_the_agent() -> None:
    access = ChannelAccess(owner=UserId("1001"), command_allowlist=frozenset({UserId("2002")}))
    assert trust_of(decide(access, "2002")) is None


def take_away(access: ChannelAccess, gone: UserId) -> list[ChannelAccess]:
    """The access with `gone` missing from one of its places, or from all."""
    owner = None if access.owner == gone else access.owner
    allowed, commands = access.allowed - {gone}, access.command_allowlist - {gone}
    return [
        ChannelAccess(owner=owner, allowed=access.allowed, command_allowlist=access.command_allowlist),
        ChannelAccess(owner=access.owner, allowed=allowed, command_allowlist=access.command_allowlist),
        ChannelAccess(owner=access.owner, allowed=access.allowed, command_allowlist=commands),
        ChannelAccess(owner=owner, allowed=allowed, command_allowlist=commands),
    ]


@pytest.mark.requirement("ingress.authorise.taking_away_never_admits")
@given(access=accesses, gone=user_ids, sender_ids=senders)
def test_taking_an_entry_away_admits_nobody_and_raises_no_trust(
    access: ChannelAccess, gone: UserId, sender_ids: list[UserId]
) -> None:
    before = trust_of(decide(access, *sender_ids))
    for after in take_away(access, gone):
        assert RANK[trust_of(decide(after, *sender_ids))] <= RANK[before]


@given(access=accesses, sender_ids=senders, more=senders)
def test_a_sender_with_more_ids_is_never_trusted_less(
    access: ChannelAccess, sender_ids: list[UserId], more: list[UserId]
) -> None:
    fewer, all_of_them = decide(access, *sender_ids), decide(access, *sender_ids, *more)
    assert RANK[trust_of(fewer)] <= RANK[trust_of(all_of_them)]


@given(policies=policies, sender_ids=senders, other=accesses)
def test_what_one_channel_allows_says_nothing_about_another(
    policies: Policies, sender_ids: list[UserId], other: ChannelAccess
) -> None:
    changed = Policies(channels={**policies.channels, ChannelName("slack"): other})
    assert authorise(TELEGRAM, sender_ids, policies) == authorise(TELEGRAM, sender_ids, changed)


@given(first=st.sampled_from(Trust), second=st.sampled_from(Trust))
def test_the_lower_of_two_trusts_is_never_above_either(first: Trust, second: Trust) -> None:
    lower = lower_trust(first, second)
    assert RANK[lower] == min(RANK[first], RANK[second])


def may(gate: Gate, access: ChannelAccess, *sender_ids: str) -> bool:
    decision = decide(access, *sender_ids)
    return isinstance(decision, Authorization) and passes(
        gate, authorization=decision, sender_ids=[UserId(i) for i in sender_ids], access=access
    )


@pytest.mark.requirement("gate.any_authorised")
@given(access=accesses, sender_ids=senders)
def test_the_open_gate_passes_exactly_those_who_may_talk(
    access: ChannelAccess, sender_ids: list[UserId]
) -> None:
    admitted = trust_of(decide(access, *sender_ids)) is not None
    assert may(Gate.ANY_AUTHORIZED, access, *sender_ids) == admitted


@pytest.mark.requirement("gate.owner_or_allowlist.passes", "gate.owner_or_allowlist.refuses")
@given(access=accesses, sender=user_ids)
def test_the_middle_gate_passes_owner_command_allowlist_and_the_only_allowed(
    access: ChannelAccess, sender: UserId
) -> None:
    trust = trust_of(decide(access, sender))
    only_one = access.owner is None and access.allowed == {sender}
    expected = trust is Trust.OPERATOR or (
        trust is Trust.GUEST and (sender in access.command_allowlist or only_one)
    )
    assert may(Gate.OWNER_OR_ALLOWLIST, access, sender) == expected


@pytest.mark.requirement("gate.strict_operator")
@given(access=accesses, sender_ids=senders)
def test_the_strict_gate_passes_operators_alone(access: ChannelAccess, sender_ids: list[UserId]) -> None:
    is_operator = trust_of(decide(access, *sender_ids)) is Trust.OPERATOR
    assert may(Gate.STRICT_OPERATOR, access, *sender_ids) == is_operator


@given(access=accesses, sender_ids=senders)
def test_a_stricter_gate_never_passes_whom_a_looser_one_refuses(
    access: ChannelAccess, sender_ids: list[UserId]
) -> None:
    order = (Gate.STRICT_OPERATOR, Gate.OWNER_OR_ALLOWLIST, Gate.ANY_AUTHORIZED)
    passed = [may(gate, access, *sender_ids) for gate in order]
    assert passed == sorted(passed)


@given(access=accesses, gone=user_ids, sender=user_ids)
def test_only_the_sole_entry_fallback_opens_a_gate_by_taking_something_away(
    access: ChannelAccess, gone: UserId, sender: UserId
) -> None:
    for after in take_away(access, gone):
        opened = [gate for gate in Gate if may(gate, after, sender) and not may(gate, access, sender)]
        if opened:
            assert opened == [Gate.OWNER_OR_ALLOWLIST]
            assert after.owner is None
            assert after.allowed == {sender}


@pytest.mark.parametrize("gate", Gate)
def test_a_local_operator_passes_every_gate_without_any_list(gate: Gate) -> None:
    decision = authorise(ChannelName("cli"), [], Policies())
    assert isinstance(decision, Authorization)
    assert passes(gate, authorization=decision, sender_ids=[], access=None)


def test_a_guest_without_a_channels_lists_passes_the_open_gate_alone() -> None:
    guest = Authorization(role=Role.GUEST, trust=Trust.GUEST, reason="test", source="test")
    passed = [g for g in Gate if passes(g, authorization=guest, sender_ids=[UserId("")], access=None)]
    assert passed == [Gate.ANY_AUTHORIZED]


def test_a_guest_without_an_id_is_no_blank_entry_of_a_list() -> None:
    guest = Authorization(role=Role.GUEST, trust=Trust.GUEST, reason="test", source="test")
    careless = ChannelAccess(owner=UserId(""), command_allowlist=frozenset({UserId("")}))
    for sender_ids in ([], [UserId("")], [UserId(" ")]):
        assert not passes(
            Gate.OWNER_OR_ALLOWLIST, authorization=guest, sender_ids=sender_ids, access=careless
        )
