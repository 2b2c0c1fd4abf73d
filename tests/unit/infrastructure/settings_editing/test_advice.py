"""What is valid and probably not meant."""

from pathlib import Path

import pytest

from fermix.infrastructure.settings.advice import nobody_may_write, odd_ids, provider_trouble, start_stopper
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.model import Settings


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
    assert start_stopper(settings_of(tmp_path, "")) is None
    no_key = settings_of(tmp_path, "[fermix_core.providers.openai]\nprimary = true\n")
    assert start_stopper(no_key) is None
    assert "has no key" in next(provider_trouble(no_key))
    cannot = settings_of(
        tmp_path, "[fermix_core.providers.anthropic]\nprimary = true\napi_key = 'sk-aaaaaa'\n"
    )
    assert "protocol" in str(start_stopper(cannot))
