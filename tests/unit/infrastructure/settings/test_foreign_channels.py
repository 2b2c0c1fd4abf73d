"""Channels of other packages: found by name, loaded where enabled, and no trouble of theirs stops anything."""

import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Self

import pytest
from pydantic import model_validator

from fermix.entrypoints.preparation import secrets_of
from fermix.infrastructure.settings.channel_plugin import ChannelPlugin
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.entry_points import PackageUnusable
from fermix.infrastructure.settings.foreign_sections import (
    CHANNEL_GROUP,
    RESERVED_NAMES,
    InstalledChannels,
    UnreadChannel,
    is_free,
)
from fermix.infrastructure.settings.key_names import UnknownKey, ValueKind, find_key
from fermix.infrastructure.settings.section import Credential
from tests.unit.infrastructure.settings.conftest import Brought, Load, Problems, never_built


class CarrierSettings(ChannelSettings):
    token: Credential | None = None


class ThrowingSettings(ChannelSettings):
    @model_validator(mode="after")
    def _fails(self) -> Self:
        raise LookupError(f"no {self.bot_name}")


CARRIER = ChannelPlugin(settings=CarrierSettings, build=never_built)
NOT_A_PLUGIN = "not a plugin"
THIS = __name__


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=CHANNEL_GROUP)


def installed(*points: EntryPoint) -> InstalledChannels:
    def find(group: str) -> Iterable[EntryPoint]:
        return [point for point in points if point.group == group]

    return InstalledChannels(find)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "carrier_for_tests", sys.modules[THIS])


GOOD = entry("carrier", "carrier_for_tests:CARRIER")


def test_a_channel_that_is_enabled_is_loaded_and_its_section_is_read(load: Load) -> None:
    text = "[fermix_channels.carrier]\nenabled = true\ntoken = 'coo-coo'\nowner_user_id = 1\n"
    loaded = load(text, plugins=installed(GOOD))
    channel = loaded.settings.channels.by_name()["carrier"]
    assert isinstance(channel, CarrierSettings)
    assert channel.owner == "1"
    assert loaded.plugins == {"carrier": CARRIER}
    assert loaded.warnings == ()


def test_a_channel_that_is_not_enabled_is_not_loaded_and_not_checked(load: Load) -> None:
    brought = Brought({"carrier": CarrierSettings})
    loaded = load("[fermix_channels.carrier]\nwings = 2\n", plugins=brought)
    channel = loaded.settings.channels.by_name()["carrier"]
    assert isinstance(channel, UnreadChannel)
    assert (channel.enabled, channel.has_access, channel.trouble) == (False, False, None)
    assert (brought.loaded, dict(loaded.plugins), loaded.warnings) == ([], {}, ())


def test_nobody_looks_at_packages_for_a_file_that_names_none(load: Load) -> None:
    def find(group: str) -> Iterable[EntryPoint]:
        raise AssertionError("looked")

    assert not load("[fermix_channels.slack]\nenabled = true\n", plugins=InstalledChannels(find)).plugins


def test_a_secret_of_a_channel_of_another_package_is_known_as_one(load: Load) -> None:
    text = "[fermix_channels.carrier]\nenabled = true\ntoken = 'coo-coo-1234'\n"
    assert "coo-coo-1234" in secrets_of(load(text, plugins=installed(GOOD)).settings)


def test_a_wrong_key_is_told_with_file_line_key_and_the_nearest_name(problems: Problems) -> None:
    text = "[fermix_channels.carrier]\nenabled = true\ntokn = 'coo'\n"
    assert problems(text, plugins=installed(GOOD)) == [
        'config.toml:3: fermix_channels.carrier.tokn: is not a known key; did you mean "token"?'
    ]


def test_a_channel_whose_name_is_nearly_that_of_an_installed_one_is_told_which(problems: Problems) -> None:
    assert problems("[fermix_channels.carier]\n", plugins=installed(GOOD)) == [
        'config.toml:1: fermix_channels.carier: is not a known channel; did you mean "carrier"?'
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module_here:PLUGIN", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("carrier_for_tests:MISSING", "AttributeError: module"),
        ("carrier_for_tests:NOT_A_PLUGIN", "is a str and no ChannelPlugin"),
    ],
)
def test_a_package_that_cannot_be_used_is_named_in_one_line_and_stops_nothing(
    load: Load, tmp_path: Path, value: str, said: str
) -> None:
    text = "[fermix_channels.slack]\nenabled = true\n[fermix_channels.carrier]\nenabled = true\nwings = 2\n"
    loaded = load(text, plugins=installed(entry("carrier", value)))
    (warning,) = loaded.warnings
    assert warning.startswith(
        f"{tmp_path}/config.toml:3: fermix_channels.carrier: is not served: the package "
    )
    assert said in warning
    assert "\n" not in warning
    assert loaded.settings.channels.slack.enabled
    assert loaded.settings.channels.by_name()["carrier"].enabled
    assert not loaded.plugins or value.endswith("CARRIER")


def test_a_module_that_ends_the_process_while_it_is_imported_ends_nothing(load: Load, tmp_path: Path) -> None:
    (tmp_path / "carrier_that_leaves.py").write_text("import sys\nsys.exit('good\\nbye')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        loaded = load(
            "fermix_channels.carrier.enabled = true",
            plugins=installed(entry("carrier", "carrier_that_leaves:PLUGIN")),
        )
    finally:
        sys.path.remove(str(tmp_path))
    assert loaded.warnings[0].endswith("cannot be used: SystemExit: good bye")


def test_a_settings_class_that_fails_instead_of_refusing_says_where_and_never_with_what(load: Load) -> None:
    text = "[fermix_channels.carrier]\nenabled = true\nbot_name = 'hush-hush'\n"
    loaded = load(text, plugins=Brought({"carrier": ThrowingSettings}))
    (warning,) = loaded.warnings
    assert "LookupError at test_foreign_channels.py:" in warning
    assert "hush" not in warning


def test_two_packages_with_one_name_are_both_named_and_neither_is_loaded() -> None:
    twice = installed(GOOD, entry("carrier", "another_carrier:PLUGIN"))
    with pytest.raises(PackageUnusable, match="another_carrier and carrier_for_tests both bring carrier"):
        twice.load("carrier")


@pytest.mark.parametrize("name", ["cli", "daemon", "defaults", "telegram", "slack", "imessage"])
def test_a_name_of_ours_cannot_be_taken(problems: Problems, name: str) -> None:
    thief = installed(entry(name, "carrier_for_tests:CARRIER"))
    assert name in RESERVED_NAMES
    assert name not in thief.names()
    if name in {"cli", "daemon"}:
        (line,) = problems(f"[fermix_channels.{name}]\nenabled = true\n", plugins=thief)
        assert "is not a known channel" in line


@pytest.mark.parametrize("name", ["Carrier", "a:b", "a b", "", "x" * 33, "ünder", "9lives", "a/b"])
def test_a_name_that_cannot_stand_in_a_key_or_an_address_is_none(name: str) -> None:
    assert not is_free(name)


def test_the_section_names_the_class_that_reads_a_key_on_the_command_line() -> None:
    key = find_key(("fermix_channels", "carrier", "token"), plugins=installed(GOOD))
    assert key.kind is ValueKind.SECRET
    with pytest.raises(UnknownKey, match="cannot be used: ModuleNotFoundError"):
        find_key(
            ("fermix_channels", "carrier", "token"), plugins=installed(entry("carrier", "nowhere_at_all:X"))
        )
    with pytest.raises(UnknownKey, match="is not a known key"):
        find_key(("fermix_channels", "pigeon", "token"), plugins=installed(GOOD))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"settings": str}, "no subclass of ChannelSettings"),
        ({"requires": ("wings",)}, "requires names what CarrierSettings does not have: wings"),
        ({"build": None}, "build cannot be called"),
        ({"look": "out"}, "look cannot be called"),
    ],
)
def test_parts_that_do_not_fit_together_are_no_plugin(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        ChannelPlugin(**{"settings": CarrierSettings, "build": never_built, **parts})
