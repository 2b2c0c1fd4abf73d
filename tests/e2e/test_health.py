"""Health over HTTP, as a monitor on this machine sees it."""

import socket

import httpx
import pytest

from tests.e2e.harness.homes import Daemon, FermixHome
from tests.servers.openai_strict.server import StrictServer


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
