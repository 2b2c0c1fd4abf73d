"""Secrets that the file only points at: who is asked for them, and what happens when they cannot be read."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fermix.infrastructure.settings.effective import effective_settings
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.problems import ConfigError, KeyPath
from fermix.infrastructure.settings.stored import (
    KEYCHAIN,
    PRIVATE_FILE,
    AsBefore,
    Found,
    Unread,
    sentinel_in,
)
from fermix.infrastructure.settings.stored_names import keychain_service, secret_name
from fermix.infrastructure.settings.toml_view import toml_view

API_KEY = ("fermix_core", "providers", "openai", "api_key")
BOT_TOKEN = ("fermix_channels", "telegram", "bot_token")
SECRET = "sk-planted-in-a-store"


class Stores:
    """Gives what it was told to, and remembers what it was asked."""

    def __init__(self, found: Mapping[KeyPath, Found] | None = None) -> None:
        self._found = found or {}
        self.asked: list[tuple[dict[KeyPath, str], str]] = []

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:
        self.asked.append((dict(wanted), profile))
        return self._found


def load(home: Path, text: str, stores: Stores, **environ: str) -> LoadedSettings:
    (home / "config.toml").write_text(text)
    return load_settings(home, {"HOME": "/people/ada", **environ}, stores=stores)


BOTH = (
    '[fermix_core]\nprofile = "work"\n[fermix_core.providers.openai]\napi_key = " @keyring "\n'
    '[fermix_channels.telegram]\nbot_token = "@file"\n'
)


def test_a_file_without_sentinels_asks_nobody(tmp_path: Path) -> None:
    stores = Stores()
    load(tmp_path, '[fermix_core.providers.openai]\napi_key = "sk-plain-0123456789"\n', stores)
    load(tmp_path, "", stores, OPENAI_API_KEY="sk-plain-0123456789")
    assert stores.asked == []


def test_all_secrets_are_asked_for_once_with_their_places_and_the_profile(tmp_path: Path) -> None:
    stores = Stores({API_KEY: SECRET, BOT_TOKEN: "123:planted"})
    loaded = load(tmp_path, BOTH, stores)
    assert stores.asked == [({API_KEY: KEYCHAIN, BOT_TOKEN: PRIVATE_FILE}, "work")]
    key, token = loaded.settings.core.providers["openai"].api_key, loaded.settings.channels.telegram.bot_token
    assert key is not None
    assert token is not None
    assert (key.get_secret_value(), token.get_secret_value()) == (SECRET, "123:planted")
    assert (loaded.warnings, dict(loaded.unread)) == ((), {})
    assert "planted" not in repr(loaded)


def test_what_the_environment_gives_is_not_looked_for(tmp_path: Path) -> None:
    stores = Stores({API_KEY: SECRET})
    loaded = load(tmp_path, BOTH, stores, OPENAI_API_KEY="sk-from-the-environment")
    assert stores.asked == [({BOT_TOKEN: PRIVATE_FILE}, "work")]
    key = loaded.settings.core.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "sk-from-the-environment"
    assert list(loaded.unread) == ["fermix_channels.telegram.bot_token"]
    stores.asked.clear()
    load(tmp_path, '[fermix_core.providers.openai]\napi_key = "@keyring"\n', stores, OPENAI_API_KEY="sk-x-1")
    assert stores.asked == []


def test_one_that_cannot_be_read_is_unset_and_told_with_its_remedy(tmp_path: Path) -> None:
    stores = Stores({API_KEY: Unread("the keychain is locked; unlock it"), BOT_TOKEN: "123:planted"})
    loaded = load(tmp_path, BOTH, stores)
    assert loaded.settings.core.providers["openai"].api_key is None
    assert loaded.settings.channels.telegram.bot_token is not None
    told = "is kept in the system's keychain: the keychain is locked; unlock it"
    place = f"{tmp_path / 'config.toml'}: fermix_core.providers.openai.api_key"
    assert loaded.warnings == (f"{place} {told}",)


def test_secrets_of_a_table_of_free_names_are_found(tmp_path: Path) -> None:
    key = ("mcp", "servers", "files", "env", "TOKEN")
    text = '[mcp.servers.files]\ncommand = "serve"\nenv = { TOKEN = "@keyring", OTHER = "plain" }\n'
    loaded = load(tmp_path, text, Stores({key: SECRET}))
    env = loaded.settings.mcp.servers["files"].env
    assert {name: each.get_secret_value() for name, each in env.items()} == {
        "TOKEN": SECRET,
        "OTHER": "plain",
    }


def test_a_broken_file_asks_nobody(tmp_path: Path) -> None:
    stores = Stores()
    with pytest.raises(ConfigError):
        load(tmp_path, f"{BOTH}prot = 1\n", stores)
    assert stores.asked == []


def test_a_stored_secret_that_no_key_takes_is_a_problem_that_does_not_show_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, BOTH, Stores({API_KEY: "sk-planted \x07 bell"}))
    assert "config.toml:4: fermix_core.providers.openai.api_key" in str(caught.value)
    assert "planted" not in str(caught.value)


def test_an_edit_of_the_file_gets_what_the_start_found(tmp_path: Path) -> None:
    before = load(tmp_path, BOTH, Stores({API_KEY: SECRET, BOT_TOKEN: Unread("it is not there")}))
    after = load_settings(tmp_path, {"HOME": "/people/ada"}, stores=AsBefore(before.stored))
    assert after.settings == before.settings
    assert after.warnings == before.warnings
    (tmp_path / "config.toml").write_text(BOTH.replace(" @keyring ", "@file"))
    moved = load_settings(tmp_path, {"HOME": "/people/ada"}, stores=AsBefore(before.stored))
    assert moved.settings.core.providers["openai"].api_key is None


def test_what_is_in_force_is_masked_and_says_where_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(BOTH)
    stores = Stores({API_KEY: SECRET, BOT_TOKEN: Unread("it is not there")})
    effective = effective_settings(tmp_path, {"HOME": "/people/ada"}, stores=stores)
    view = toml_view(effective, defaults=False, origins=False)
    assert 'api_key = "********"  # in the system\'s keychain' in view
    assert "# bot_token is unset (file, line 6: the private file of secrets)" in view
    assert "planted" not in view


@pytest.mark.parametrize("value", ["@keyrings", "keyring", "", " ", 1, None, ["@file"], "@File"])
def test_only_the_two_words_are_sentinels(value: object) -> None:
    assert sentinel_in(value) is None


HOME = Path("/people/ada/.fermix")


@pytest.mark.parametrize(
    ("key", "home", "profile", "service"),
    [
        (API_KEY, HOME, "general", "fermix:OPENAI_API_KEY"),
        (API_KEY, HOME, "work", "fermix:work:OPENAI_API_KEY"),
        (BOT_TOKEN, HOME, "general", "fermix:TELEGRAM_BOT_TOKEN"),
        (BOT_TOKEN, Path("/srv/agent"), "general", "fermix:general@/srv/agent:TELEGRAM_BOT_TOKEN"),
        (BOT_TOKEN, Path("/srv/agent"), "work", "fermix:work@/srv/agent:TELEGRAM_BOT_TOKEN"),
        (
            ("fermix_channels", "slack", "app_token"),
            HOME,
            "general",
            "fermix:fermix_channels.slack.app_token",
        ),
    ],
)
def test_an_entry_is_named_for_profile_home_and_key(
    key: KeyPath, home: Path, profile: str, service: str
) -> None:
    assert keychain_service(key, home=home, default_home=HOME, profile=profile) == service


def test_a_home_has_the_same_entries_by_whatever_link_it_is_reached(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    (tmp_path / "default").symlink_to(place)
    named = [
        keychain_service(API_KEY, home=home, default_home=tmp_path / "default", profile="general")
        for home in (place, tmp_path / "default")
    ]
    assert named == ["fermix:OPENAI_API_KEY"] * 2


def test_a_key_that_no_store_takes_has_no_name() -> None:
    assert secret_name(("fermix_core", "providers", "my server", "api_key")) is None
    named = secret_name(API_KEY)
    assert named is not None
    assert named.text == "fermix_core.providers.openai.api_key"
