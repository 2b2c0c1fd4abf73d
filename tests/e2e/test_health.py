"""Health over HTTP, as a monitor on this machine sees it."""

import socket

import httpx
import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.slack_api.server import TOKEN as SLACK_TOKEN
from fermix.testing.servers.slack_api.server import slack_server
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until

TOKEN = "999001:AAtesttokentesttokentesttoken00001"


def _get(daemon: Daemon, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{daemon.http_port()}{path}", timeout=10)


@pytest.mark.requirement("config.telegram_enabled_by_default")
def test_a_healthy_daemon_is_live_and_ready(home: FermixHome) -> None:
    daemon = home.daemon().ready()
    live, ready, alias = (_get(daemon, path) for path in ("/health/live", "/health/ready", "/health"))
    assert (live.status_code, live.json()["status"]) == (200, "ok")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert alias.json()["status"] == "ready"
    channels = {channel["name"]: channel["status"] for channel in ready.json()["channels"]}
    assert channels["telegram"] == "setup_required"
    assert {channels[name] for name in ("whatsapp", "slack", "discord", "signal")} == {"disabled"}
    assert [provider["status"] for provider in ready.json()["providers"]] == ["ready"]


@pytest.mark.requirement("health.ready.reports_each_channel")
def test_the_payload_says_of_each_channel_whether_it_is_enabled_and_whether_what_listens_lives(
    home: FermixHome, model: StrictServer
) -> None:
    with telegram_server(token=TOKEN) as telegram, slack_server() as slack:
        home.use(
            model.base_url,
            more=(
                f'[fermix_channels.telegram]\nbot_token = "{TOKEN}"\nowner_user_id = 1001\n'
                f'api_base_url = "{telegram.api_base_url}"\n'
                f'[fermix_channels.slack]\nenabled = true\nbot_token = "{SLACK_TOKEN}"\n'
                f'signing_secret = "planted"\napi_base_url = "{slack.root}"\n'
                "[fermix_channels.signal]\nenabled = true\n"
            ),
        )
        daemon = home.daemon().ready()
        until(lambda: "telegram.listens" in home.log() and "slack.listens" in home.log(), what="both")
        body = _get(daemon, "/health/ready").json()
        assert body["status"] == "setup_required"
        assert body["failures"] == [{"component": "channel:slack"}, {"component": "channel:signal"}]
        told = {
            one["name"]: (one["status"], one["enabled"], one["mode"], one["process_alive"])
            for one in body["channels"]
        }
        assert told == {
            "telegram": ("ready", True, "polling", True),
            "whatsapp": ("disabled", False, "webhook", None),
            "slack": ("setup_required", True, "webhook", None),
            "discord": ("disabled", False, "gateway", None),
            "signal": ("setup_required", True, "subprocess", None),
            "cli": ("ready", True, None, None),
        }
        assert body["config_path"] == body["config"]["path"] == str(home.path / "config.toml")
        assert body["config"]["home"] == str(home.path)
        assert body["config"]["workspace"] == str(home.path / "workspace")
        (provider,) = body["providers"]
        assert (provider["name"], provider["status"]) == ("strict", "ready")
        assert (provider["auth_mode"], provider["primary"]) == ("api_key", False)


def test_webhooks_of_channels_that_are_off_answer_200_and_read_nothing(home: FermixHome) -> None:
    daemon = home.daemon().ready()
    for path in ("/webhook/slack", "/webhook/whatsapp"):
        url = f"http://127.0.0.1:{daemon.http_port()}{path}"
        answer = httpx.post(url, content=b"{ not JSON", timeout=10)
        assert (answer.status_code, answer.content) == (200, b"")
    assert home.rows("SELECT count(*) FROM messages") == [(0,)]
    assert "JSON" not in home.log()


@pytest.mark.requirement("health.ready.reports_each_channel")
def test_a_channel_enabled_in_the_file_without_credential_makes_set_up_required(
    home: FermixHome, model: StrictServer
) -> None:
    home.use(model.base_url, more="[fermix_channels.telegram]\nenabled = true\nowner_user_id = 1001\n")
    daemon = home.daemon().ready()
    ready = _get(daemon, "/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (503, "setup_required")
    assert {"component": "channel:telegram"} in ready.json()["failures"]
    assert _get(daemon, "/health/live").status_code == 200
    assert home.fermix("ask", "still there?").out == "You said: still there?\n"


def test_a_daemon_without_any_model_starts_and_says_that_set_up_is_required(home: FermixHome) -> None:
    home.configure("[fermix_web]\nport = 0\n")
    daemon = home.daemon().ready()
    ready = _get(daemon, "/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (503, "setup_required")
    asked = home.fermix("ask", "who answers?")
    assert asked.code == 6
    assert "fermix model install" in asked.err


def test_a_taken_http_port_is_a_warning_and_the_rest_runs(home: FermixHome, model: StrictServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home.configure(
            f'[fermix_core.providers.strict]\nbase_url = "{model.base_url}"\n'
            f'api_key = "{model.key}"\ndefault_model = "strict-1"\n[fermix_web]\nport = {port}\n'
        )
        home.daemon().ready()
        assert home.fermix("ask", "and now?").out == "You said: and now?\n"
        status = home.fermix("status", "--json").document["status"]
    assert status["health"]["status"] == "degraded"
    assert status["http_port"] is None
    assert any("http" in failure for failure in status["health"]["failures"])
    assert str(port) in home.log()
    assert "warning" in next(line for line in home.log().splitlines() if "http.not_served" in line)


def test_a_foreign_host_is_refused(home: FermixHome) -> None:
    daemon = home.daemon().ready()
    address = f"http://127.0.0.1:{daemon.http_port()}/health/ready"
    assert httpx.get(address, headers={"Host": "evil.example"}, timeout=10).status_code == 403
