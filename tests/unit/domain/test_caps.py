"""The table of caps says what the channels' description says, and exactly at a cap is allowed."""

from dataclasses import replace

import pytest

from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import ChannelFeatures, ChannelRejected
from fermix.domain.blob import BlobRef
from fermix.domain.caps import CAPS, MIB, SLACK_REACTIONS, TELEGRAM_REACTIONS
from fermix.domain.delivery import MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.ids import ChannelName, PlatformMessageId
from fermix.domain.reactions import ANY_EMOJI, NO_REACTIONS, allows, is_one_emoji
from fermix.domain.splitting import TextUnit
from fermix.infrastructure.channels.telegram import wire_out

KINDS = ("image", "document", "audio", "voice", "video")

DESCRIBED_OUT: dict[str, dict[str, int]] = {
    "telegram": {"image": 10, "document": 50, "audio": 50, "video": 50, "voice": 1},
    "whatsapp": {"image": 5, "audio": 16, "video": 16, "voice": 16, "document": 100},
    "slack": dict.fromkeys(KINDS, 100),
    "discord": dict.fromkeys(KINDS, 10),
    "signal": dict.fromkeys(KINDS, 100),
    "cli": dict.fromkeys(KINDS, 100),
}
"""MB by kind, as the description of the channels has them. It names none for the terminal: these are ours."""

DESCRIBED_TEXT = {"telegram": 4096, "whatsapp": 4096, "slack": 40_000, "discord": 2000}
DESCRIBED_IN = {"telegram": 20, "whatsapp": 25}


@pytest.mark.requirement("outbound_media.caps")
def test_the_table_has_the_described_caps_of_files_that_go_out() -> None:
    table = {
        name: {kind.value: cap.max_bytes // MIB for kind, cap in caps.media_out.items()}
        for name, caps in CAPS.items()
    }
    assert table == DESCRIBED_OUT
    assert all(cap.max_bytes % MIB == 0 for caps in CAPS.values() for cap in caps.media_out.values())


def test_the_table_has_the_described_lengths_of_text() -> None:
    assert {name: caps.max_text for name, caps in CAPS.items() if caps.max_text} == DESCRIBED_TEXT
    assert {name for name, caps in CAPS.items() if caps.text_unit is TextUnit.UTF16} == {"telegram"}


def test_the_table_has_the_described_caps_of_files_that_come_in() -> None:
    table = {name: caps.media_in for name, caps in CAPS.items()}
    assert {name: (table[ChannelName(name)] or 0) // MIB for name in DESCRIBED_IN} == DESCRIBED_IN
    assert table[ChannelName("cli")] == 100 * MIB


def test_the_table_has_the_described_reactions() -> None:
    table = {name: caps.reactions for name, caps in CAPS.items()}
    assert table == {
        "telegram": TELEGRAM_REACTIONS,
        "slack": SLACK_REACTIONS,
        **dict.fromkeys(("whatsapp", "discord", "signal"), ANY_EMOJI),
        "cli": NO_REACTIONS,
    }
    assert len(set(TELEGRAM_REACTIONS.names)) == 24
    assert len(set(SLACK_REACTIONS.names)) == 20
    assert all(is_one_emoji(name) for name in TELEGRAM_REACTIONS.names)
    assert all(name.isascii() and ":" not in name for name in SLACK_REACTIONS.names)


def test_telegrams_adapter_counts_by_the_table() -> None:
    caps = CAPS[ChannelName("telegram")]
    assert caps.max_text == wire_out.MAX_TEXT
    assert {cap.max_caption for cap in caps.media_out.values()} == {wire_out.MAX_CAPTION}


def a_file(kind: MediaKind, size: int, caption: str = "") -> MediaPart:
    blob = BlobRef(digest="a" * 64, size_bytes=size)
    return MediaPart(kind=kind, blob=blob, file_name="x", caption=caption)


@pytest.mark.requirement("outbound_media.caps")
@pytest.mark.parametrize("channel", DESCRIBED_OUT)
@pytest.mark.parametrize("kind", MediaKind)
def test_a_channel_takes_a_file_at_its_cap_and_none_over_it(channel: str, kind: MediaKind) -> None:
    features = ChannelFeatures.within(CAPS[ChannelName(channel)])
    cap = DESCRIBED_OUT[channel].get(kind.value)
    if cap is None:
        with pytest.raises(ChannelRejected, match="no files of the kind"):
            must_carry(features, a_file(kind, 1))
        return
    must_carry(features, a_file(kind, cap * MIB))
    with pytest.raises(ChannelRejected, match="bytes"):
        must_carry(features, a_file(kind, cap * MIB + 1))


@pytest.mark.parametrize("kind", MediaKind)
def test_a_caption_is_taken_at_its_cap_in_the_channels_own_unit(kind: MediaKind) -> None:
    features = ChannelFeatures.within(CAPS[ChannelName("telegram")])
    must_carry(features, a_file(kind, 1, "\U0001f389" * 512))
    with pytest.raises(ChannelRejected, match="caption"):
        must_carry(features, a_file(kind, 1, "\U0001f389" * 512 + "x"))


def test_a_kind_without_captions_takes_none() -> None:
    features = ChannelFeatures.within(CAPS[ChannelName("whatsapp")])
    must_carry(features, a_file(MediaKind.VOICE, 1))
    with pytest.raises(ChannelRejected, match="caption"):
        must_carry(features, a_file(MediaKind.VOICE, 1, "x"))


def test_text_is_for_the_channel_to_judge() -> None:
    must_carry(ChannelFeatures(max_text=1), TextPart(text="long"))


@pytest.mark.parametrize(
    ("channel", "taken", "refused"),
    [
        ("telegram", "👍", ["❤", "❤️", "🎂", "thumbsup", "👍👍", ""]),
        ("slack", "thumbsup", ["👍", ":thumbsup:", "party_parrot", ""]),
        ("discord", "❤️", ["heart", "👍👍", "a", ""]),
        ("whatsapp", "👨‍👩‍👧", ["ok", "👍 ", ""]),
        ("signal", "🇩🇪", ["DE", "🇩", ""]),
        ("cli", None, ["👍", "thumbsup"]),
    ],
)
def test_a_channel_takes_the_reactions_of_its_table(
    channel: str, taken: str | None, refused: list[str]
) -> None:
    features = ChannelFeatures.within(CAPS[ChannelName(channel)])
    reaction = ReactionPart(message=PlatformMessageId("1"), emoji=taken or "")
    if taken is not None:
        must_carry(features, reaction)
    for emoji in refused:
        with pytest.raises(ChannelRejected):
            must_carry(features, replace(reaction, emoji=emoji))


@pytest.mark.parametrize("text", ["👍", "👍🏽", "❤", "❤️", "1️⃣", "#️⃣", "🇫🇷", "👩🏽‍🚀", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏳️‍🌈", "©️", "🫡"])
def test_one_emoji_is_one_however_it_is_put_together(text: str) -> None:
    assert is_one_emoji(text)
    assert allows(ANY_EMOJI, text)


@pytest.mark.parametrize(
    "text", ["", " ", "1", "#", "a", "👍👍", "👍a", "👍\n", "\ufe0f", "\u200d", "👍\u200d", "🇫", "\ud83d"]
)
def test_what_is_not_one_emoji_is_none(text: str) -> None:
    assert not is_one_emoji(text)
