"""What a whole daemon tells of its work: traces, metrics and log lines of one turn, and no secret in them."""

import json
import stat
from typing import Any

import httpx
import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import API_KEY, Daemon, FermixHome


def traces(home: FermixHome) -> list[dict[str, Any]]:
    files = sorted((home.path / "traces").rglob("*.jsonl"))
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def metrics(daemon: Daemon) -> list[str]:
    answer = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/metrics", timeout=10)
    assert answer.status_code == 200
    return answer.text.splitlines()


def test_a_turn_is_found_under_one_id_in_traces_and_log_and_counted_in_the_metrics(
    home: FermixHome, model: StrictServer
) -> None:
    home.use(model.base_url, more='[fermix_core.telemetry]\nlog_level = "debug"\n')
    daemon = home.daemon().ready()
    assert home.fermix("ask", "the colour of my front door?").code == 0
    assert home.fermix("ask", "/whoami").code == 0

    shown = metrics(daemon)
    assert 'fermix_command_received_total{channel="cli",command="whoami"} 1.0' in shown
    assert [line for line in shown if line.startswith("fermix_provider_call_duration_seconds_count")]
    assert "fermix_queue_waiting 0.0" in shown
    assert 'fermix_health{status="ready"} 1.0' in shown
    assert any(line.startswith("process_resident_memory_bytes") for line in shown)
    assert daemon.terminate() == 0

    seen = traces(home)
    (turn,) = {trace["session_id"] for trace in seen if trace["event"] == "fermix.provider.call"}
    of_the_turn = {trace["event"] for trace in seen if trace.get("session_id") == turn}
    assert of_the_turn >= {
        "fermix.channel.message",
        "fermix.gateway.queue.request_start",
        "fermix.agent.history",
        "fermix.gateway.queue.settle",
        "fermix.gateway.queue.request_complete",
        "fermix.channel.reply",
    }
    number = turn.removeprefix("main-")
    told = [line for line in home.log().splitlines() if f" turn={number}" in line]
    assert {event for event in of_the_turn if any(event in line for line in told)} == of_the_turn
    assert any("turn.settled" in line for line in told)
    assert "front door" not in json.dumps(seen)
    assert API_KEY not in json.dumps(seen)


@pytest.mark.requirement("secrets.redacted_in_traces")
def test_a_key_that_stands_where_a_model_should_is_in_no_trace(home: FermixHome, model: StrictServer) -> None:
    password = "hunter-planted-2c91d0"
    planted = f'[fermix_core.providers.other]\nbase_url = "{model.base_url}"\napi_key = "{password}"\n'
    home.use(model.base_url, model=password, more=planted)
    home.fermix("ask", "hello")
    seen = traces(home)
    called = [trace["model"] for trace in seen if trace["event"] == "fermix.provider.call"]
    assert called == ["[REDACTED:secret]"]
    assert password not in json.dumps(seen)
