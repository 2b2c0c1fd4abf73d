import re
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator, Field

from fermix.infrastructure.settings.channels import RESERVED_CHANNEL_KEYS, ChannelSettings, TelegramSettings
from fermix.infrastructure.settings.section import Credential, Identifiers, refused
from tests.unit.infrastructure.settings.conftest import Brought, Load, Problems

BUILT_IN = ["telegram", "whatsapp", "slack", "discord", "signal"]


def _fails_loudly(value: Any) -> Any:
    raise ValueError(f"cannot use {value}")


def _refuses(value: Any) -> Any:
    raise refused("must be a room")


class MatrixSettings(ChannelSettings):
    """A channel of another package."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(r"@[^\s:]+:[^\s:]+")

    allowlist: Identifiers = Field(default=(), alias="allowed_users")
    access_token: Credential | None = None
    homeserver: str = "https://matrix.example"
    room: Annotated[str, BeforeValidator(_refuses)] | None = None
    careless: Annotated[str, BeforeValidator(_fails_loudly)] | None = None


MATRIX = Brought({"matrix": MatrixSettings})


def test_ids_may_be_numbers_or_texts_and_odd_entries_match_nobody(load: Load) -> None:
    text = (
        "[fermix_channels.telegram]\nowner_user_id = 1001\n"
        'allowed_user_ids = [2002, " 3003 ", "", "4004,5005"]\n'
    )
    channel = load(text).settings.channels.telegram
    assert channel.owner == "1001"
    assert channel.allowed_ids == {"2002", "3003"}
    assert channel.odd_entries == ("", "4004,5005")
    assert channel.has_access


@pytest.mark.parametrize("name", BUILT_IN)
def test_allow_from_is_another_name_of_every_channels_allowlist(load: Load, name: str) -> None:
    channel = load(f"[fermix_channels.{name}]\nallow_from = [2002]\n").settings.channels.by_name()[name]
    assert channel.allowed_ids == {"2002"}


@pytest.mark.requirement("config.allowlist_keys")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("telegram", "allowed_user_ids"),
        ("discord", "allowed_user_ids"),
        ("slack", "allowed_user_ids"),
        ("whatsapp", "allowed_sender_ids"),
        ("signal", "allowed_sender_ids"),
    ],
)
def test_every_channel_has_its_own_allowlist_key(load: Load, problems: Problems, name: str, key: str) -> None:
    channel = load(f"[fermix_channels.{name}]\n{key} = ['2002']\n").settings.channels.by_name()[name]
    assert channel.allowlist == ("2002",)
    channel_key = f"fermix_channels.{name}"
    assert problems(f"[{channel_key}]\n{key} = [1]\nallow_from = [2]\n") == [
        f"config.toml:3: {channel_key}.allow_from: is another name for {key}, which is there too; keep one"
    ]


@pytest.mark.parametrize(
    ("name", "entry", "odd"),
    [
        ("telegram", "-100123", False),
        ("telegram", "@ada", True),
        ("telegram", "123|ada", True),
        ("telegram", "*", True),
        ("telegram", "٣", True),
        ("discord", "123456789012345678", False),
        ("discord", "-1", True),
        ("slack", "U012AB3CD", False),
        ("slack", "U1;U2", True),
        ("slack", "U1 U2", True),
        ("slack", "*", True),
        ("whatsapp", "+49 (170) 123-45.67", False),
        ("whatsapp", "ada", True),
        ("whatsapp", "US.13491208655302741918", False),
        ("whatsapp", "US.ENT.11815799212886844830", False),
        ("signal", "+491701234567", False),
        ("signal", "2f1c6f0e-7d1a-4c1b-9d43-0a1b2c3d4e5f", False),
        ("signal", "+49170,+49171", True),
    ],
)
def test_an_entry_is_odd_when_nobody_on_that_platform_can_have_it(
    load: Load, name: str, entry: str, odd: bool
) -> None:
    ids = f"owner_user_id = '{entry}'\nallow_from = ['{entry}']\ncommand_allowlist = ['{entry}']"
    text = f"[fermix_channels.{name}]\n{ids}\n"
    channel = load(text).settings.channels.by_name()[name]
    assert channel.odd_entries == ((entry,) * 3 if odd else ())
    assert channel.owner == (None if odd else channel.canonical(entry))
    assert channel.allowed_ids == channel.command_ids == (frozenset() if odd else {channel.canonical(entry)})
    assert channel.has_access is not odd


@given(st.lists(st.text(max_size=8) | st.integers()))
def test_every_entry_is_either_odd_or_can_match_and_is_trimmed(entries: list[str | int]) -> None:
    channel = TelegramSettings.model_validate({"allowed_user_ids": entries})
    assert channel.allowed_ids | set(channel.odd_entries) == {str(entry).strip() for entry in entries}
    assert not channel.allowed_ids & set(channel.odd_entries)
    assert all(entry.removeprefix("-").isdigit() for entry in channel.allowed_ids)


@pytest.mark.parametrize("key", sorted(RESERVED_CHANNEL_KEYS))
@pytest.mark.parametrize("value", ["1", "[]", "{}", "{ a = 1 }"])
def test_keys_of_the_policy_to_come_are_not_yet_supported(problems: Problems, key: str, value: str) -> None:
    for name in ("slack", "matrix"):
        line = f"config.toml:3: fermix_channels.{name}.{key}: is not yet supported"
        assert problems(f"[fermix_channels.{name}]\nenabled = true\n{key} = {value}\n", plugins=MATRIX) == [
            line
        ]


def test_defaults_of_all_channels_are_not_yet_supported(problems: Problems) -> None:
    assert problems("[fermix_channels.defaults]\ndm_policy = 'open'") == [
        "config.toml:1: fermix_channels.defaults: is not yet supported"
    ]


def test_a_left_over_webhook_mode_of_telegram_is_polling_with_a_warning(load: Load) -> None:
    loaded = load("\n[fermix_channels.telegram]\nmode = 'webhook'\n")
    assert loaded.settings.channels.telegram.mode == "polling"
    (warning,) = loaded.warnings
    assert "config.toml:3: fermix_channels.telegram.mode: webhooks are not supported" in warning


@pytest.mark.requirement("streaming.off_by_default")
@pytest.mark.parametrize(
    ("value", "streaming"),
    [("false", "off"), ("'off'", "off"), ("'draft'", "draft"), ("'block'", "block"), ("''", "off")],
)
def test_streaming_is_off_draft_or_block(load: Load, value: str, streaming: str) -> None:
    assert (
        load(f"[fermix_channels.slack]\nstreaming = {value}").settings.channels.slack.streaming == streaming
    )


@pytest.mark.parametrize("value", [0, -1, -5, 3000])
def test_the_wait_for_an_album_may_be_off(load: Load, value: int) -> None:
    text = f"[fermix_channels.whatsapp]\nalbum_debounce_ms = {value}"
    assert load(text).settings.channels.whatsapp.album_debounce_ms == value


def test_a_channel_of_another_package_has_its_own_class_and_allowlist_key(load: Load) -> None:
    text = (
        "[fermix_channels.matrix]\nenabled = true\nallow_from = ['@ada:example', 'ada']\n"
        "access_token = 'hush'\nowner_user_id = '@bert:example'\n"
    )
    loaded = load(text, plugins=MATRIX)
    channel = loaded.settings.channels.by_name()["matrix"]
    assert isinstance(channel, MatrixSettings)
    assert channel.owner == "@bert:example"
    assert channel.allowed_ids == {"@ada:example"}
    assert channel.odd_entries == ("ada",)
    assert channel.homeserver == "https://matrix.example"
    assert list(loaded.settings.channels.by_name()) == [*BUILT_IN, "matrix"]
    assert "hush" not in repr(loaded)


def test_a_channel_of_another_package_that_is_not_installed_is_unknown(problems: Problems) -> None:
    (line,) = problems("[fermix_channels.matrix]\n")
    assert line.startswith("config.toml:1: fermix_channels.matrix: is not a known channel")


def test_a_channel_of_another_package_is_checked_like_the_others(problems: Problems) -> None:
    text = (
        "[fermix_channels.matrix]\nenabled = true\nacces_token = 'hush'\nallowed_users = [true]\nstreaming = 'x'\n"
        "room = 'hush'\ncareless = 'hush'\n"
    )
    assert problems(text, plugins=MATRIX) == [
        'config.toml:3: fermix_channels.matrix.acces_token: is not a known key; did you mean "access_token"?',
        "config.toml:4: fermix_channels.matrix.allowed_users[0]: must be an id: a number or a text in quotes",
        'config.toml:5: fermix_channels.matrix.streaming: must be one of "off", "draft", "block"',
        "config.toml:6: fermix_channels.matrix.room: must be a room",
        "config.toml:7: fermix_channels.matrix.careless: is not valid",
    ]
    assert problems("fermix_channels.matrix = 1", plugins=MATRIX) == [
        "config.toml:1: fermix_channels.matrix: must be a table"
    ]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([None, *BUILT_IN]))
def test_the_other_channels_keep_their_defaults(load: Load, name: str | None) -> None:
    text = "" if name is None else f"[fermix_channels.{name}]\nenabled = true\n"
    for other, channel in load(text, plugins=MATRIX).settings.channels.by_name().items():
        assert channel.enabled is (other in {"telegram", name})
        assert not channel.has_access


@pytest.mark.requirement("config.album_debounce")
@pytest.mark.parametrize("name", ["telegram", "whatsapp"])
def test_albums_are_waited_for_three_seconds_unless_the_file_says_otherwise(load: Load, name: str) -> None:
    assert load("").settings.channels.by_name()[name].model_dump()["album_debounce_ms"] == 3000
    own = load(f"[fermix_channels.{name}]\nalbum_debounce_ms = 0\n").settings.channels.by_name()[name]
    assert own.model_dump()["album_debounce_ms"] == 0


@pytest.mark.requirement("config.compaction_defaults")
def test_compaction_is_on_at_85_percent_unless_the_file_says_otherwise(load: Load) -> None:
    compaction = load("").settings.core.compaction
    assert (compaction.enabled, compaction.threshold) == (True, 0.85)
    edited = load("[fermix_core.compaction]\nenabled = false\nthreshold = 0.5\n").settings.core.compaction
    assert (edited.enabled, edited.threshold) == (False, 0.5)


@pytest.mark.requirement("streaming.off_by_default")
def test_no_channel_streams_unless_the_file_says_so(load: Load) -> None:
    assert {channel.streaming for channel in load("").settings.channels.by_name().values()} == {"off"}
