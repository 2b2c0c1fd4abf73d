"""Nobody is let in for looking like somebody: other digits, signs, blanks, names, and taking rights away."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import (
    Authorization,
    ChannelAccess,
    Decision,
    Denial,
    DenialKind,
    Policies,
    Trust,
    authorise,
)
from fermix.domain.capability import Capability, RiskClass, Scope
from fermix.domain.ids import ChannelName, UserId, trimmed
from tests.unit.domain import samples
from tests.unit.domain.samples import TELEGRAM, message

OWNER, GUEST = "1001", "2002"
ACCESS = ChannelAccess(
    owner=UserId(OWNER), allowed=frozenset({UserId(GUEST)}), command_allowlist=frozenset({UserId(GUEST)})
)
RANK = {None: 0, Trust.GUEST: 1, Trust.OPERATOR: 2}

ZEROS = {
    "full-width": "\uff10",
    "arabic-indic": "\u0660",
    "extended arabic-indic": "\u06f0",
    "devanagari": "\u0966",
    "bengali": "\u09e6",
    "thai": "\u0e50",
    "mathematical bold": "\U0001d7ce",
    "mathematical monospace": "\U0001d7f6",
    "segmented": "\U0001fbf0",
}
"""The zero of other ways to write digits; the others follow it."""

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def written_with(zero: str) -> Callable[[str], str]:
    """Digits in another way of writing them."""
    return lambda digits: "".join(chr(ord(zero) + int(each)) for each in digits)


DISGUISES: dict[str, Callable[[str], str]] = {
    **{name: written_with(zero) for name, zero in ZEROS.items()},
    "superscript": lambda digits: digits.translate(SUPERSCRIPTS),
    "subscript": lambda digits: digits.translate(SUBSCRIPTS),
    "first digit full-width": lambda digits: chr(ord("\uff10") + int(digits[0])) + digits[1:],
    "letter l for one": lambda digits: digits.replace("1", "l").replace("2", "Z"),
    "letter O for zero": lambda digits: digits.replace("0", "O"),
    "leading zero": lambda digits: f"0{digits}",
    "leading zeros": lambda digits: f"000{digits}",
    "plus sign": lambda digits: f"+{digits}",
    "minus sign": lambda digits: f"-{digits}",
    "real minus sign": lambda digits: f"\u2212{digits}",
    "decimal": lambda digits: f"{digits}.0",
    "exponent": lambda digits: f"{digits}e0",
    "hexadecimal": lambda digits: hex(int(digits)),
    "underscore": lambda digits: f"{digits[0]}_{digits[1:]}",
    "thousands": lambda digits: f"{int(digits):,}",
    "no-break space after": lambda digits: f"{digits}\u00a0",
    "no-break space before": lambda digits: f"\u00a0{digits}",
    "narrow no-break space": lambda digits: f"{digits}\u202f",
    "ideographic space": lambda digits: f"{digits}\u3000",
    "next line": lambda digits: f"{digits}\u0085",
    "line separator": lambda digits: f"{digits}\u2028",
    "unit separator": lambda digits: f"{digits}\x1f",
    "zero-width space": lambda digits: f"{digits[0]}\u200b{digits[1:]}",
    "zero-width joiner": lambda digits: f"{digits}\u200d",
    "byte order mark": lambda digits: f"\ufeff{digits}",
    "soft hyphen": lambda digits: f"{digits[0]}\u00ad{digits[1:]}",
    "right-to-left override": lambda digits: f"\u202e{digits[::-1]}",
    "combining mark": lambda digits: f"{digits}\u0301",
    "variation selector": lambda digits: f"{digits}\ufe0f",
    "NUL": lambda digits: f"{digits}\x00",
    "inner blank": lambda digits: f"{digits[0]} {digits[1:]}",
    "quotes": lambda digits: f'"{digits}"',
    "mention": lambda digits: f"@{digits}",
    "with a name": lambda digits: f"{digits}|ada",
    "two at once": lambda digits: f"{digits},{digits}",
    "half": lambda digits: digits[:2],
    "bytes shown": lambda digits: str(digits.encode()),
}


def decide(access: ChannelAccess, *sender_ids: str) -> Decision:
    return authorise(
        TELEGRAM.channel, [UserId(i) for i in sender_ids], Policies(channels={TELEGRAM.channel: access})
    )


def decide_on(**facts: Any) -> Decision:
    """The decision about a message as an adapter hands it over."""
    return decide(ACCESS, *message(**facts).sender.ids())


def trust_of(decision: Decision) -> Trust | None:
    return decision.trust if isinstance(decision, Authorization) else None


@pytest.mark.requirement("ingress.authorise.everyone_else_is_unauthorized")
@pytest.mark.parametrize("listed", [OWNER, GUEST])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_what_only_looks_like_an_id_is_refused(disguise: str, listed: str) -> None:
    lookalike = DISGUISES[disguise](listed)
    assert lookalike != listed
    for decision in (
        decide(ACCESS, lookalike),
        decide_on(sender_id=lookalike),
        decide_on(sender_aliases=[lookalike]),
        decide_on(metadata={"user_id": lookalike, "sender_id": lookalike}),
    ):
        assert isinstance(decision, Denial)
        assert decision.kind is DenialKind.UNAUTHORIZED


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_list_that_holds_a_lookalike_lets_the_real_one_not_in(disguise: str) -> None:
    lookalike = UserId(DISGUISES[disguise](OWNER))
    careless = ChannelAccess(owner=lookalike, allowed=frozenset({lookalike}))
    assert trust_of(decide(careless, OWNER)) is None


@given(sender=st.text(st.characters(categories=["Nd", "No", "Nl", "Zs", "Cf"]) | st.sampled_from("1002")))
def test_only_the_very_characters_of_an_id_match(sender: str) -> None:
    decision = decide(ACCESS, sender)
    expected = {OWNER: Trust.OPERATOR, GUEST: Trust.GUEST}.get(trimmed(sender))
    assert trust_of(decision) is expected
    assert (expected is None) or sender.strip(" \t\n\r\v\f").isascii()


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r\n"])
def test_plain_blanks_around_an_id_are_nothing(blank: str) -> None:
    assert trust_of(decide_on(sender_id=f"{blank}{OWNER}{blank}")) is Trust.OPERATOR


@pytest.mark.parametrize("odd", [1001.0, True, [OWNER], {"id": OWNER}, OWNER.encode(), 2**5000])
def test_an_id_that_is_neither_number_nor_text_names_nobody(odd: object) -> None:
    assert trust_of(decide_on(sender_id=odd)) is None


@pytest.mark.requirement("ingress.authorise.names_never_match")
@given(name=st.sampled_from([OWNER, GUEST, f" {OWNER} ", f"@{OWNER}"]) | samples.any_text)
def test_no_name_title_role_or_mention_ever_counts(name: str) -> None:
    facts: dict[str, Any] = {
        "sender": name,
        "chat_title": name,
        "chat_parent": OWNER,
        "guild": OWNER,
        "reply_target": OWNER,
        "chat_id": OWNER,
        "id": OWNER,
        "key": OWNER,
        "thread_ts": OWNER,
        "thread_starter": OWNER,
        "sender_roles": [OWNER, GUEST],
        "mentions": [{"id": OWNER, "start": 0, "end": 1}],
        "references": [{"kind": "reply", "author": OWNER, "is_ours": True}],
        "metadata": {"username": OWNER, "name": OWNER, "owner_user_id": OWNER, "trust": "operator"},
    }
    assert trust_of(decide_on(**facts)) is None
    assert trust_of(decide_on(**facts, sender_id="9999")) is None


@pytest.mark.requirement("ingress.authorise.names_never_match")
def test_a_username_in_a_list_lets_nobody_of_that_name_in() -> None:
    careless = ChannelAccess(owner=UserId("ada"), allowed=frozenset({UserId("@ada"), UserId("Ada")}))
    sender = message(sender="ada", sender_id=9999).sender
    assert trust_of(decide(careless, *sender.ids())) is None


user_ids = samples.ids.map(UserId)
accesses = st.builds(
    ChannelAccess,
    owner=st.none() | user_ids,
    allowed=st.frozensets(user_ids, max_size=4),
    command_allowlist=st.frozensets(user_ids, max_size=3),
)
CHANNELS = [ChannelName(name) for name in ("telegram", "slack", "signal")]
policies = st.builds(Policies, channels=st.dictionaries(st.sampled_from(CHANNELS), accesses))


@st.composite
def less_of(draw: st.DrawFn, access: ChannelAccess) -> ChannelAccess:
    """An access from which something was taken: the owner, guests, command rights, or nothing."""
    return replace(
        access,
        owner=draw(st.sampled_from([access.owner, None])),
        allowed=frozenset(draw(st.sets(st.sampled_from(sorted(access.allowed)))))
        if access.allowed
        else frozenset(),
        command_allowlist=frozenset(),
    )


@st.composite
def policies_and_less(draw: st.DrawFn) -> tuple[Policies, Policies]:
    """Policies, and others from which entries, owners or whole channels were taken."""
    more = draw(policies)
    kept = draw(st.sets(st.sampled_from(sorted(more.channels)))) if more.channels else set()
    return more, Policies(channels={name: draw(less_of(more.channels[name])) for name in sorted(kept)})


EVERYTHING = [
    Capability(name=f"{risk}-{owner}", description="x", risk=risk, owner_data=owner)
    for risk in RiskClass
    for owner in (False, True)
]


@pytest.mark.requirement("ingress.authorise.taking_away_never_admits")
@given(
    both=policies_and_less(),
    channel=st.sampled_from([*CHANNELS, ChannelName("cli"), ChannelName("matrix")]),
    sender_ids=st.lists(user_ids, max_size=3),
)
def test_whatever_is_taken_away_nobody_is_let_in_or_trusted_or_shown_more(
    both: tuple[Policies, Policies], channel: ChannelName, sender_ids: list[UserId]
) -> None:
    more, less = both
    before, after = (trust_of(authorise(channel, sender_ids, each)) for each in (more, less))
    assert RANK[after] <= RANK[before]
    seen_before, seen_after = (
        set() if trust is None else {c.name for c in Scope(trust=trust).visible(EVERYTHING)}
        for trust in (before, after)
    )
    assert seen_after <= seen_before
