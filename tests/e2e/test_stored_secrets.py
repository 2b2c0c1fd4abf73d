"""Secrets in the system's keychain, from setting up to an answer; and homes without it, or with a locked one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TOKEN, telegram_server
from tests.e2e.harness.homes import API_KEY, FermixHome, open_home, until
from tests.system_keychain import NEEDS, SystemKeychain

OWNER = 1001
KEY = "fermix_core.providers.mine.api_key"


@pytest.fixture
def home(tmp_path: Path, keychain: SystemKeychain) -> Iterator[FermixHome]:
    """A new home of somebody who has a keychain, and no credential in the environment."""
    with open_home(tmp_path, variables={"PYTHON_KEYRING_BACKEND": "", **keychain.environ}) as opened:
        yield opened


@pytest.fixture
def without_keychain(tmp_path: Path) -> Iterator[FermixHome]:
    variables = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    with open_home(tmp_path, variables=variables) as opened:
        yield opened


def provider_of(model: StrictServer, key: str) -> str:
    return (
        "[fermix_web]\nport = 0\n[fermix_core.providers.openai]\nprimary = true\n"
        f'base_url = "{model.base_url}"\nwire = "chat_completions"\n'
        f'default_model = "strict-1"\napi_key = "{key}"\n'
    )


def set_up(home: FermixHome, model: StrictServer) -> None:
    told = ("--provider", "mine", "--base-url", model.base_url, "--default-model", "strict-1")
    done = home.fermix("setup", *told, "--api-key", "-", "--skip-probe", stdin=API_KEY.encode())
    assert done.code == 0, done.err


@pytest.mark.requirement("config.keychain")
@pytest.mark.needs(*NEEDS)
def test_credentials_that_were_set_up_lie_in_the_keychain_and_are_found_there(
    home: FermixHome, model: StrictServer
) -> None:
    model.will(Say(text="Mittens."), Say(text="Hello Olga"))
    set_up(home, model)
    asked = home.fermix("ask", "What is a good name for a cat?")
    assert (asked.code, asked.out) == (0, "Mittens.\n")
    with telegram_server(token=TOKEN) as server:
        told = ("--telegram-bot-token", "-", "--telegram-owner-user-id", str(OWNER), "--skip-probe")
        assert home.fermix("setup", *told, stdin=TOKEN.encode()).code == 0
        config = home.path / "config.toml"
        config.write_text(
            config.read_text().replace(
                "[fermix_channels.telegram]",
                f'[fermix_web]\nport = 0\n[fermix_channels.telegram]\napi_base_url = "{server.api_base_url}"',
            )
        )
        written = config.read_text()
        assert written.count('"@keyring"') == 2
        assert not (home.path / "secrets").exists()
        daemon = home.daemon().ready()
        server.user_writes(OWNER, "hi")
        (reply,) = server.sent(1)
        assert reply.text == "Hello Olga"
        seen = {row["name"]: row for row in home.fermix("doctor", "--json").document["rows"]}
        assert (seen["secrets"]["status"], "2 in the system's keychain" in seen["secrets"]["sentence"]) == (
            "ok",
            True,
        )
        assert TOKEN.partition(":")[2] not in written + home.log() + daemon.printed()


@pytest.mark.needs(*NEEDS)
def test_a_locked_keychain_does_not_stop_a_start_and_is_told_everywhere(
    home: FermixHome, keychain: SystemKeychain, model: StrictServer
) -> None:
    set_up(home, model)
    keychain.lock()
    daemon = home.daemon().ready()
    told = f"{KEY} is kept in the system's keychain: the keychain is locked; unlock it"
    assert told in daemon.printed()
    assert home.fermix("ask", "hi").code != 0
    done = home.fermix("doctor", "--json")
    rows = {row["name"]: row for row in done.document["rows"]}
    assert any(told in detail for detail in rows["secrets"]["details"])
    assert rows["secrets"]["status"] == "warn"
    saved = home.fermix("config", "set", "fermix_core.agent.name", "bob")
    assert (saved.code, '"@keyring"' in (home.path / "config.toml").read_text()) == (0, True)
    assert home.fermix("config", "set", KEY, "-", stdin=b"sk-another-0123456789").code == 1


@pytest.mark.needs(*NEEDS)
def test_edits_while_the_keychain_is_locked_keep_the_secrets_of_the_start(
    home: FermixHome, keychain: SystemKeychain, model: StrictServer
) -> None:
    model.will(Say(text="Still here."))
    set_up(home, model)
    config = home.path / "config.toml"
    config.write_text(config.read_text() + "[fermix_web]\nport = 0\n")
    home.daemon().ready()
    keychain.lock()
    done = home.fermix("config", "set", "fermix_channels.telegram.owner_user_id", "77")
    assert (done.code, "within seconds" in done.out) == (0, True)
    until(lambda: "settings.policies_replaced" in home.log(), what="the edit")
    asked = home.fermix("ask", "hi")
    assert (asked.code, asked.out) == (0, "Still here.\n")
    assert "restart_to_apply" not in home.log()


def test_credentials_in_the_environment_need_no_keychain(
    without_keychain: FermixHome, model: StrictServer
) -> None:
    home = without_keychain
    home.environ["OPENAI_API_KEY"] = API_KEY
    model.will(Say(text="Mittens."), Say(text="Tom."))
    home.configure(provider_of(model, "@keyring"))
    alone = home.fermix("ask", "What is a good name for a cat?")
    assert (alone.code, alone.out, "keychain" in alone.err) == (0, "Mittens.\n", False)
    daemon = home.daemon().ready()
    asked = home.fermix("ask", "And another?")
    assert (asked.code, asked.out, "keychain" in daemon.printed()) == (0, "Tom.\n", False)


def test_without_a_keychain_setting_up_keeps_secrets_in_a_private_file(
    without_keychain: FermixHome, model: StrictServer
) -> None:
    home = without_keychain
    model.will(Say(text="Mittens."))
    set_up(home, model)
    file = home.path / "secrets" / "secrets.json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert '"@file"' in (home.path / "config.toml").read_text()
    asked = home.fermix("ask", "What is a good name for a cat?")
    assert (asked.code, asked.out) == (0, "Mittens.\n")


def test_without_a_keychain_doctor_says_what_to_do(without_keychain: FermixHome, model: StrictServer) -> None:
    home = without_keychain
    home.configure(provider_of(model, "@keyring"))
    done = home.fermix("doctor")
    assert "Traceback" not in done.out + done.err
    assert "no keychain of the system" in done.out
    assert "`fermix setup`, which then keeps it in a private file" in done.out
