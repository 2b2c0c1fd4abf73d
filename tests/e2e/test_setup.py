"""What `fermix setup` writes is enough: an answer from a provider, and one in a messenger by a daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TOKEN, telegram_server
from tests.e2e.harness.homes import API_KEY, FermixHome, Run, open_home

OWNER = 1001


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[FermixHome]:
    """A home without any configuration, away from the keychain of whoever runs the tests."""
    variables = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    with open_home(tmp_path, variables=variables) as opened:
        yield opened


def set_up(home: FermixHome, model: StrictServer) -> Run:
    told = ("--provider", "mine", "--base-url", model.base_url, "--default-model", "strict-1")
    return home.fermix("setup", *told, "--api-key", "-", stdin=API_KEY.encode())


def test_a_provider_that_is_set_up_by_flags_answers(fresh: FermixHome, model: StrictServer) -> None:
    model.will(Say(text="OK"), Say(text="Mittens."))
    done = set_up(fresh, model)
    assert (done.code, "[ OK ] provider mine" in done.out) == (0, True)
    asked = fresh.fermix("ask", "What is a good name for a cat?")
    assert (asked.code, asked.out) == (0, "Mittens.\n")
    assert model.requests[-1].headers["authorization"] == f"Bearer {API_KEY}"
    assert API_KEY not in (fresh.path / "config.toml").read_text()


def test_a_messenger_that_is_set_up_is_answered_by_the_daemon(fresh: FermixHome, model: StrictServer) -> None:
    model.will(Say(text="OK"), Say(text="Hello Olga"))
    with telegram_server(token=TOKEN) as server:
        fresh.configure(
            f'[fermix_channels.telegram]\napi_base_url = "{server.api_base_url}"\n[fermix_web]\nport = 0\n'
        )
        assert set_up(fresh, model).code == 0
        told = ("--telegram-bot-token", "-", "--telegram-owner-user-id", str(OWNER))
        done = fresh.fermix("setup", *told, stdin=TOKEN.encode())
        assert (done.code, "[ OK ] channel telegram" in done.out) == (0, True)
        daemon = fresh.daemon().ready()
        server.user_writes(OWNER, "hi")
        (reply,) = server.sent(1)
        assert reply.text == "Hello Olga"
        later = fresh.fermix("setup", "--telegram-owner-user-id", "2002", "--skip-probe", "--json")
        assert later.document["applies"] == "within_seconds"
        later = fresh.fermix("setup", "--provider", "mine", "--default-model", "other", "--skip-probe")
        assert "restart it to apply this" in later.out
        assert TOKEN.partition(":")[2] not in fresh.log() + daemon.printed()
