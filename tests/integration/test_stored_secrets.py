"""The secrets of a home: the system's keychain first, else a private file, else the environment."""

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from fermix.application.ports.secrets import SecretsRefused, SecretsUnavailable
from fermix.entrypoints.preparation import secrets_of
from fermix.entrypoints.stored_secrets import StoredSecrets, StoresOf, Unread
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.stored import KEYCHAIN, PRIVATE_FILE
from tests.integration.cli.command_line import Done, fermix
from tests.system_keychain import NEEDS, SystemKeychain

API_KEY = ("fermix_core", "providers", "openai", "api_key")
BOT_TOKEN = ("fermix_channels", "telegram", "bot_token")
NAME = "fermix_core.providers.openai.api_key"
SECRET = "sk-planted-in-a-store"
NO_KEYCHAIN = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def variables(keychain: SystemKeychain) -> dict[str, str]:
    return {"PYTHON_KEYRING_BACKEND": "", **keychain.environ}


def run(home: Path, *arguments: str, environ: Mapping[str, str], text: bytes | None = None) -> Done:
    return fermix(home, *arguments, text=text, cwd=None, **environ)


def pointing(home: Path, sentinel: str = KEYCHAIN) -> Path:
    path = home / "config.toml"
    path.write_text(f"[fermix_core.providers.openai]\nprimary = true\napi_key = '{sentinel}' # mine\n")
    path.chmod(0o600)
    return path


def key_in_force(home: Path, environ: dict[str, str]) -> str | None:
    loaded = load_settings(home, environ, stores=StoresOf(home, environ))
    key = loaded.settings.core.providers["openai"].api_key
    return None if key is None else key.get_secret_value()


@pytest.mark.requirement("secrets.keychain_first")
@pytest.mark.needs(*NEEDS)
def test_a_secret_is_in_the_keychain_else_in_the_file_else_in_the_environment(
    home: Path, keychain: SystemKeychain
) -> None:
    with_keychain = dict(keychain.environ)
    kept = StoredSecrets(home, with_keychain).keep(API_KEY, SECRET)
    pointing(home, kept.sentinel)
    assert (kept.sentinel, kept.instead, list(home.glob("secrets/*"))) == (KEYCHAIN, None, [])
    assert key_in_force(home, with_keychain) == SECRET

    alone = {"HOME": str(home), **NO_KEYCHAIN}
    assert key_in_force(home, alone) is None
    kept = StoredSecrets(home, alone).keep(API_KEY, "sk-planted-in-the-file")
    assert (kept.sentinel, kept.place) == (PRIVATE_FILE, str(home / "secrets" / "secrets.json"))
    assert "no keychain of the system" in (kept.instead or "")
    pointing(home, kept.sentinel)
    assert key_in_force(home, alone) == "sk-planted-in-the-file"

    StoredSecrets(home, alone, keychain=False).forget(API_KEY)
    assert key_in_force(home, alone) is None
    assert key_in_force(home, {**alone, "OPENAI_API_KEY": "sk-from-the-environment"}) == (
        "sk-from-the-environment"
    )


@pytest.mark.needs(*NEEDS)
def test_a_secret_that_moves_to_the_keychain_leaves_the_file(home: Path, keychain: SystemKeychain) -> None:
    StoredSecrets(home, keychain.environ, keychain=False).keep(API_KEY, "sk-planted-before")
    stores = StoredSecrets(home, keychain.environ)
    stores.keep(API_KEY, SECRET)
    assert "planted" not in (home / "secrets" / "secrets.json").read_text()
    assert stores.read([API_KEY, BOT_TOKEN]) == {
        API_KEY: SECRET,
        BOT_TOKEN: Unread("there is no such entry; set it again with `fermix setup`"),
    }
    stores.forget(API_KEY)
    assert isinstance(stores.read([API_KEY])[API_KEY], Unread)


@pytest.mark.needs(*NEEDS)
def test_homes_and_profiles_of_one_keychain_share_no_secret(tmp_path: Path, keychain: SystemKeychain) -> None:
    default = Path(keychain.environ["HOME"]) / ".fermix"
    places = [
        (folder, profile)
        for folder in (default, tmp_path / "one", tmp_path / "two")
        for profile in ("general", "work")
    ]
    stores = [StoredSecrets(folder, keychain.environ, profile=profile) for folder, profile in places]
    for number, store in enumerate(stores):
        store.keep(BOT_TOKEN, f"{number}:planted")
    assert [store.read([BOT_TOKEN])[BOT_TOKEN] for store in stores] == [
        f"{number}:planted" for number in range(len(places))
    ]


def test_the_file_is_closed_to_others_and_read_without_a_process(home: Path, tmp_path: Path) -> None:
    stores = StoredSecrets(home, {"HOME": str(tmp_path)}, keychain=False)
    stores.keep(API_KEY, SECRET)
    assert stores.values({API_KEY: PRIVATE_FILE}) == {API_KEY: SECRET}
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in [home / "secrets", *home.glob("secrets/*")]
    }
    assert modes == {"secrets": 0o700, "secrets.json": 0o600, "lock": 0o600}


def test_a_keychain_that_must_be_used_and_is_not_there_is_an_error(home: Path) -> None:
    with pytest.raises(SecretsUnavailable):
        StoredSecrets(home, NO_KEYCHAIN, keychain=True).keep(API_KEY, SECRET)
    assert not (home / "secrets").exists()


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "x" * 20_000])
def test_what_is_no_secret_is_kept_nowhere(text: str, home: Path) -> None:
    with pytest.raises(SecretsRefused, match=NAME):
        StoredSecrets(home, NO_KEYCHAIN).keep(API_KEY, text)


def test_forgetting_what_is_only_in_the_file_needs_no_keychain(home: Path) -> None:
    stores = StoredSecrets(home, NO_KEYCHAIN)
    stores.keep(API_KEY, SECRET)
    stores.forget(API_KEY)
    with pytest.raises(SecretsUnavailable):
        stores.forget(API_KEY)


def test_stored_secrets_are_among_those_that_are_redacted(home: Path) -> None:
    StoredSecrets(home, NO_KEYCHAIN).keep(API_KEY, SECRET)
    pointing(home, PRIVATE_FILE)
    assert secrets_of(load_settings(home, NO_KEYCHAIN, stores=StoresOf(home, NO_KEYCHAIN)).settings) == {
        SECRET
    }


def test_a_damaged_file_of_secrets_is_told(home: Path) -> None:
    (home / "secrets").mkdir(mode=0o700)
    (home / "secrets" / "secrets.json").write_text("{")
    found = StoredSecrets(home, NO_KEYCHAIN).values({API_KEY: PRIVATE_FILE})[API_KEY]
    assert isinstance(found, Unread)
    assert "damaged" in found.why


@pytest.mark.needs(*NEEDS)
def test_a_new_value_goes_where_the_old_one_is_kept(home: Path, keychain: SystemKeychain) -> None:
    environ = variables(keychain)
    StoredSecrets(home, keychain.environ).keep(API_KEY, "sk-planted-before")
    path = pointing(home)
    before = path.read_text()
    done = run(home, "config", "set", NAME, "-", text=f"{SECRET}\n".encode(), environ=environ)
    assert (done.status, done.out, done.err) == (0, f"{path}: {NAME} is set, in the system's keychain\n", "")
    assert (path.read_text(), (home / "secrets").exists()) == (before, False)
    assert StoredSecrets(home, keychain.environ).read([API_KEY]) == {API_KEY: SECRET}
    got = run(home, "config", "get", NAME, environ=environ)
    assert (got.out, "kept in the system's keychain" in got.err) == ("********\n", True)
    document = run(home, "config", "get", NAME, "--json", environ=environ).document
    assert (document["value"], document["kept_in"]) == ("********", "the system's keychain")
    unset = run(home, "config", "set", NAME, "--unset", environ=environ)
    assert (unset.status, "@keyring" in path.read_text()) == (0, False)
    assert isinstance(StoredSecrets(home, keychain.environ).read([API_KEY])[API_KEY], Unread)


def test_a_new_value_of_a_secret_in_the_file_goes_there(home: Path) -> None:
    StoredSecrets(home, NO_KEYCHAIN).keep(API_KEY, "sk-planted-before")
    path = pointing(home, PRIVATE_FILE)
    done = run(home, "config", "set", NAME, "-", "--json", text=SECRET.encode(), environ=NO_KEYCHAIN)
    assert done.document["kept_in"] == str(home / "secrets" / "secrets.json")
    assert "@file" in path.read_text()
    assert key_in_force(home, NO_KEYCHAIN) == SECRET


def test_a_value_that_a_start_would_refuse_is_not_put_into_a_store(home: Path) -> None:
    StoredSecrets(home, NO_KEYCHAIN).keep(API_KEY, SECRET)
    pointing(home, PRIVATE_FILE)
    done = run(home, "config", "set", NAME, "-", text=b"sk-\x07-bell", environ=NO_KEYCHAIN)
    assert (done.status, "bell" in done.err) == (7, False)
    assert key_in_force(home, NO_KEYCHAIN) == SECRET


def test_a_store_that_does_not_answer_fails_the_change_and_nothing_else(home: Path) -> None:
    path = pointing(home)
    before = path.read_text()
    done = run(home, "config", "set", NAME, "-", text=SECRET.encode(), environ=NO_KEYCHAIN)
    assert (done.status, path.read_text()) == (1, before)
    assert "no keychain of the system" in done.err
    assert "planted" not in done.err
    other = run(home, "config", "set", "fermix_core.agent.name", "bob", environ=NO_KEYCHAIN)
    assert (other.status, "api_key = '@keyring' # mine" in path.read_text()) == (0, True)


def test_a_plain_value_can_take_the_place_of_another_by_pointing_elsewhere(home: Path) -> None:
    path = pointing(home)
    assert run(home, "config", "set", NAME, "@file", environ=NO_KEYCHAIN).status == 0
    assert '"@file" # mine' in path.read_text()


def test_an_unreadable_secret_is_told_by_every_look_at_the_settings(home: Path) -> None:
    pointing(home)
    shown = run(home, "config", "show", environ=NO_KEYCHAIN)
    assert "# api_key is unset (file, line 3: the system's keychain)" in shown.out
    for done in (
        shown,
        run(home, "config", "get", NAME, environ=NO_KEYCHAIN),
        run(home, "config", "validate", environ=NO_KEYCHAIN),
    ):
        assert done.status == 0
        assert f"{NAME} is kept in the system's keychain" in done.err
        assert "`fermix setup`" in done.err
