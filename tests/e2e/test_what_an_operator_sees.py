"""A channel that does not work is seen in health, in one line of the log and in doctor, each with what to do."""

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from fermix.testing.servers.discord_api.server import discord_server
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.signal_cli.server import signal_server
from fermix.testing.servers.slack_api.server import APP_TOKEN, signed, slack_server
from fermix.testing.servers.slack_api.server import TOKEN as SLACK_TOKEN
from fermix.testing.servers.telegram_api.server import telegram_server
from fermix.testing.servers.whatsapp_api.server import ACCESS_TOKEN, VERIFY_TOKEN, whatsapp_server
from tests.e2e import test_discord, test_signal, test_slack, test_telegram, test_whatsapp
from tests.e2e.harness.homes import Daemon, FermixHome, until


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A home whose one channel does not work.

    Attributes:
        name: the channel.
        said: what health, log and doctor say, the remedy included.
        heals: mends the far side; `None` where only a restart helps.
    """

    name: str
    said: tuple[str, ...]
    heals: Callable[[], None] | None


Breaks = Callable[[FermixHome, StrictServer], Any]


@contextmanager
def telegram(home: FermixHome, model: StrictServer, status: int, *said: str) -> Generator[Broken]:
    with telegram_server(token=test_telegram.TOKEN) as server:
        test_telegram.configure(home, model, server)
        server.fault("getMe" if status == 401 else "getUpdates", status=status, times=math.inf)
        yield Broken(name="telegram", said=said, heals=server.clear_faults)


def a_telegram_token_that_is_refused(home: FermixHome, model: StrictServer) -> Any:
    return telegram(home, model, 401, "refuses the bot token", "@BotFather")


def another_poller_on_telegram(home: FermixHome, model: StrictServer) -> Any:
    return telegram(home, model, 409, "another program reads this bot's messages", "stop it")


@contextmanager
def a_slack_token_that_is_refused(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with slack_server() as server:
        test_slack.configure(home, model, server)
        server.revoke_token()

        def heals() -> None:
            server.world.token = SLACK_TOKEN

        yield Broken(name="slack", said=("refuses the bot token", "OAuth & Permissions"), heals=heals)


@contextmanager
def a_line_to_slack_that_cannot_be_opened(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with slack_server() as server:
        more = f'mode = "socket"\napp_token = "{APP_TOKEN}"\n{test_slack.PEOPLE}'
        test_slack.configure(home, model, server, more)
        server.refuses_lines("internal_error")
        yield Broken(
            name="slack",
            said=("Slack has trouble of its own",),
            heals=lambda: server.refuses_lines(None),
        )


@contextmanager
def an_app_token_that_slack_refuses(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with slack_server() as server:
        more = f'mode = "socket"\napp_token = "{APP_TOKEN}"\n{test_slack.PEOPLE}'
        test_slack.configure(home, model, server, more)
        server.refuses_lines("invalid_auth")
        said = ("refuses the app-level token", "connections:write")
        yield Broken(name="slack", said=said, heals=lambda: server.refuses_lines(None))


@contextmanager
def a_whatsapp_token_that_is_refused(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with whatsapp_server() as server:
        test_whatsapp.configure(home, model, server)
        server.revoke_token()

        def heals() -> None:
            server.world.access_token = ACCESS_TOKEN

        yield Broken(name="whatsapp", said=("refuses the access token", "system user"), heals=heals)


@contextmanager
def a_discord_token_that_is_refused(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with discord_server(token=test_discord.TOKEN) as server:
        test_discord.configure(home, model, server)
        server.revoke_token()
        yield Broken(name="discord", said=("refuses the bot token", "developer portal"), heals=None)


@contextmanager
def an_intent_that_discord_refuses(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with discord_server(token=test_discord.TOKEN, allowed_intents=1 | 1 << 9 | 1 << 12) as server:
        test_discord.configure(home, model, server)
        yield Broken(name="discord", said=("Message Content Intent", "then restart"), heals=None)


@contextmanager
def a_discord_gateway_that_is_dead(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with discord_server(token=test_discord.TOKEN) as server:
        test_discord.configure(home, model, server)
        server.fault("GET bot", status=502, times=math.inf)
        yield Broken(name="discord", said=("Discord has trouble of its own",), heals=server.clear_faults)


@contextmanager
def signal_cli_that_dies_at_once(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with signal_server() as server:
        test_signal.configure(home, model, server)
        server.goes_away()
        yield Broken(name="signal", said=("signal-cli cannot reach Signal",), heals=server.comes_back)


@contextmanager
def an_account_that_signal_cli_does_not_know(home: FermixHome, model: StrictServer) -> Generator[Broken]:
    with signal_server() as server:
        test_signal.configure(home, model, server)
        server.is_registered = False

        def heals() -> None:
            server.is_registered = True

        yield Broken(name="signal", said=("does not know the account", "register or link it"), heals=heals)


CASES: tuple[Breaks, ...] = (
    a_telegram_token_that_is_refused,
    another_poller_on_telegram,
    a_slack_token_that_is_refused,
    a_line_to_slack_that_cannot_be_opened,
    an_app_token_that_slack_refuses,
    a_whatsapp_token_that_is_refused,
    a_discord_token_that_is_refused,
    an_intent_that_discord_refuses,
    a_discord_gateway_that_is_dead,
    signal_cli_that_dies_at_once,
    an_account_that_signal_cli_does_not_know,
)


def ready(daemon: Daemon) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5)


def told(daemon: Daemon, name: str) -> Mapping[str, Any]:
    """What the payload says of a channel."""
    return next(one for one in ready(daemon).json()["channels"] if one["name"] == name)


def row(home: FermixHome, name: str) -> tuple[str, str]:
    """Status and words of a channel's row in doctor."""
    rows = home.fermix("doctor", "--json").document["rows"]
    found = next(one for one in rows if one["name"] == f"channel {name}")
    return found["status"], " ".join([found["sentence"], *found["details"], found["remedy"] or ""])


def lines(home: FermixHome, event: str, level: str) -> list[str]:
    """Lines of the log."""
    return [line for line in home.log().splitlines() if f" {event} " in line and f" {level} " in line]


def warnings(home: FermixHome, event: str) -> list[str]:
    """Lines of the log that an operator reads."""
    return lines(home, event, "warning")


@pytest.mark.parametrize("breaks", CASES, ids=lambda case: case.__name__)
def test_what_does_not_work_is_told_everywhere_once_with_the_remedy_and_heals(
    home: FermixHome, model: StrictServer, breaks: Breaks
) -> None:
    with breaks(home, model) as broken:
        daemon = home.daemon().ready()
        until(lambda: told(daemon, broken.name)["status"] == "degraded", what="a degraded channel")
        answer = ready(daemon)
        assert (answer.status_code, answer.json()["status"]) == (503, "degraded")
        assert {"component": f"channel:{broken.name}"} in answer.json()["failures"]
        health = told(daemon, broken.name)
        assert health["process_alive"] is (None if health["mode"] == "webhook" else False)
        if broken.heals is not None:
            until(lambda: lines(home, "channel.restarts", "debug"), what="another try")
        (line,) = warnings(home, "channel.restarts")
        status, words = row(home, broken.name)
        assert status == "fail"
        for said in broken.said:
            assert said in health["detail"]
            assert said in line
            assert said in words
        if broken.heals is None:
            return
        broken.heals()
        until(lambda: told(daemon, broken.name)["status"] == "ready", what="a healed channel", seconds=40)
        until(lambda: "channel.listens_again" in home.log(), what="its line in the log")
        assert row(home, broken.name)[0] == "ok"


def test_a_signal_account_that_another_process_holds_is_told(home: FermixHome, model: StrictServer) -> None:
    with signal_server() as server:
        test_signal.configure(home, model, server)
        server.is_locked = True
        daemon = home.daemon().ready()
        until(lambda: told(daemon, "signal")["status"] == "degraded", what="a degraded channel", seconds=40)
        assert "another signal-cli uses this account" in told(daemon, "signal")["detail"]
        assert "stop it, then this one goes on" in row(home, "signal")[1]
        server.lets_go()
        until(lambda: told(daemon, "signal")["status"] == "ready", what="a healed channel", seconds=40)


def test_a_verify_token_that_differs_is_told_until_meta_is_believed(
    home: FermixHome, model: StrictServer
) -> None:
    with whatsapp_server() as server:
        test_whatsapp.configure(home, model, server)
        daemon = home.daemon().ready()
        until(lambda: "whatsapp.listens" in home.log(), what="the channel")
        meta = test_whatsapp.Meta(daemon, server)
        asked = {"hub.mode": "subscribe", "hub.challenge": "42"}
        for _ in range(3):
            wrong = httpx.get(meta.url, params={**asked, "hub.verify_token": "another word"}, timeout=5)
            assert wrong.status_code == 401
        assert ready(daemon).status_code == 200
        assert "the word of whatsapp.verify_token" in str(told(daemon, "whatsapp")["remarks"])
        status, words = row(home, "whatsapp")
        assert (status, "the last 3 calls to set up the webhook" in words) == ("warn", True)
        assert len(warnings(home, "whatsapp.challenge_refused")) == 1
        right = {**asked, "hub.verify_token": VERIFY_TOKEN}
        assert httpx.get(meta.url, params=right, timeout=5).text == "42"
        assert "remarks" not in told(daemon, "whatsapp")
        assert row(home, "whatsapp")[0] == "ok"


def test_a_signing_secret_that_differs_is_told_until_slack_is_believed(
    home: FermixHome, model: StrictServer
) -> None:
    with slack_server() as server:
        test_slack.configure(home, model, server)
        daemon = home.daemon().ready()
        test_slack.listens(home)
        slack = test_slack.Caller(daemon, server)
        body = server.notification(server.event("hi"))
        for _ in range(2):
            unsigned = signed(body, at=test_slack.now(), secret="another secret")
            assert slack.post(body, unsigned).status_code == 401
        assert "not signed with slack.signing_secret: the last 2 calls" in str(
            told(daemon, "slack")["remarks"]
        )
        status, words = row(home, "slack")
        assert (status, "copy the Signing Secret again" in words) == ("warn", True)
        assert len(warnings(home, "slack.signature_refused")) == 1
        slack.writes("hi")
        assert "remarks" not in told(daemon, "slack")


def test_privacy_mode_is_named_in_health_and_doctor(home: FermixHome, model: StrictServer) -> None:
    with telegram_server(token=test_telegram.TOKEN) as server:
        test_telegram.configure(home, model, server)
        server.keeps_privacy()
        daemon = home.daemon().ready()
        until(lambda: "telegram.listens" in home.log(), what="the channel")
        assert ready(daemon).status_code == 200
        assert "/setprivacy" in str(told(daemon, "telegram")["remarks"])
        status, words = row(home, "telegram")
        assert (status, "/setprivacy" in words) == ("ok", True)
