"""What the owner's lists hold is compared as it is written: an entry that only resembles an id is odd."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Authorization, Policies, authorise
from fermix.domain.ids import ChannelName, UserId
from fermix.infrastructure.settings.channels import ChannelSettings, DiscordSettings, TelegramSettings
from fermix.infrastructure.settings.policies import access_of

CHANNEL = ChannelName("telegram")


@pytest.mark.parametrize("settings", [TelegramSettings, DiscordSettings])
@pytest.mark.parametrize(
    "entry",
    [
        "０1001",
        "１００１",
        "١٠٠١",
        "¹⁰⁰¹",
        "₁₀₀₁",
        "01001",
        "0",
        "+1001",
        "1001.0",
        "0x3e9",
        "1_001",
        "@ann",
        "ann",
        "1 001",
    ],
)
def test_what_only_resembles_a_number_is_odd(settings: type[ChannelSettings], entry: str) -> None:
    made = settings.model_validate({"owner_user_id": entry, "allowed_user_ids": [entry]})
    assert (made.owner, made.allowed_ids, made.has_access) == (None, frozenset(), False)
    assert made.odd_entries == (entry, entry)


@given(
    owner=st.none() | st.integers(min_value=1, max_value=9) | st.text(max_size=3),
    allowed=st.lists(st.integers(min_value=1, max_value=9) | st.text(max_size=3), max_size=4),
    data=st.data(),
)
def test_a_line_taken_out_of_the_file_lets_nobody_in(
    owner: str | int | None, allowed: list[str | int], data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.sampled_from(allowed), unique_by=str)) if allowed else []
    more = TelegramSettings.model_validate({"owner_user_id": owner, "allowed_user_ids": allowed})
    less = [
        TelegramSettings.model_validate({"owner_user_id": owner, "allowed_user_ids": kept}),
        TelegramSettings.model_validate({"allowed_user_ids": kept}),
        TelegramSettings.model_validate({"enabled": False}),
    ]
    for sender in [str(number) for number in range(1, 10)]:
        before = admitted(more, sender)
        for fewer in less:
            after = admitted(fewer, sender)
            assert after is None or before in {after, "operator"}


def admitted(settings: ChannelSettings, sender: str) -> str | None:
    decision = authorise(CHANNEL, [UserId(sender)], Policies(channels={CHANNEL: access_of(settings)}))
    return str(decision.trust) if isinstance(decision, Authorization) else None
