"""What is valid and probably not meant."""

from pathlib import Path

import pytest

from fermix.infrastructure.settings.advice import nobody_may_write, odd_ids, provider_trouble
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.stoppers import start_stopper


def settings_of(home: Path, text: str, **environ: str) -> Settings:
    (home / "config.toml").write_text(text)
    return load_settings(home, {"HOME": "/people/ada", **environ}).settings


def test_entries_that_match_nobody_are_named(tmp_path: Path) -> None:
    keys = 'allowed_user_ids = [2002, " 3003 ", "", "4004,5005"]\nowner_user_id = 1001\n'
    channel = settings_of(tmp_path, f"[fermix_channels.telegram]\n{keys}").channels.telegram
    assert list(odd_ids("telegram", channel)) == [
        'fermix_channels.telegram: "", "4004,5005" can match nobody'
    ]


def test_long_and_many_odd_entries_are_cut(tmp_path: Path) -> None:
    text = f"[fermix_channels.telegram]\nallowed_user_ids = {['x' * 90] * 30}\n"
    (line,) = odd_ids("telegram", settings_of(tmp_path, text).channels.telegram)
    assert "and 20 more" in line
    assert "x" * 41 not in line


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("enabled = true", True),
        ("enabled = true\nowner_user_id = 'U1'", False),
        ("enabled = true\nallowed_user_ids = ['U1']", False),
        ("enabled = true\nallowed_user_ids = ['a b']", True),
        ("enabled = false", False),
        ("", False),
    ],
)
def test_an_enabled_channel_that_lets_nobody_in_is_named(tmp_path: Path, keys: str, said: bool) -> None:
    channel = settings_of(tmp_path, f"[fermix_channels.slack]\n{keys}\n").channels.slack
    assert bool(list(nobody_may_write("slack", channel))) == said


def test_telegram_by_default_is_no_wish(tmp_path: Path) -> None:
    assert not list(nobody_may_write("telegram", settings_of(tmp_path, "").channels.telegram))


def test_only_what_stops_a_start_is_a_stopper(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert start_stopper(settings_of(tmp_path, ""), path) is None
    no_key = settings_of(tmp_path, "[fermix_core.providers.openai]\nprimary = true\n")
    assert start_stopper(no_key, path) is None
    assert "has no key" in next(provider_trouble(no_key))


ANTHROPIC = "[fermix_core.providers.anthropic]\napi_key = 'sk-aaaaaa'\n"
SERVER = "[fermix_core.providers.openai]\nbase_url = 'http://127.0.0.1:9/v1'\n"


@pytest.mark.parametrize(
    ("document", "environ", "place"),
    [
        (f"{ANTHROPIC}primary = true\n", {}, ":3: fermix_core.providers.anthropic.primary: "),
        (
            f"{ANTHROPIC}[fermix_core.agent]\nprovider = 'anthropic'\n",
            {},
            ":4: fermix_core.agent.provider: ",
        ),
        (SERVER, {}, ":1: fermix_core.providers.openai: "),
        (ANTHROPIC, {"FERMIX_PROVIDER": "anthropic"}, "environment: FERMIX_PROVIDER: "),
        ("", {"FERMIX_PROVIDER": "anthropic"}, "environment: FERMIX_PROVIDER: "),
    ],
)
def test_a_stopper_has_the_place_where_the_choice_was_made(
    tmp_path: Path, document: str, environ: dict[str, str], place: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(document)
    path.chmod(0o600)
    stopper = str(start_stopper(load_settings(tmp_path, environ).settings, path))
    assert stopper.startswith(place if place.startswith("environment") else f"{path}{place}")
    assert "the provider " in stopper
