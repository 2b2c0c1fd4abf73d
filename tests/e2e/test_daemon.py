"""One daemon per home: starting, being asked how it stands, stopping, and what a dead one leaves behind."""

import signal
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, open_home, until


@pytest.mark.requirement("recovery.one_owner_per_home")
def test_a_second_daemon_names_the_holder_and_exits_1(home: FermixHome) -> None:
    first = home.daemon().ready()
    second = home.fermix("run")
    assert second.code == 1
    assert f"process {first.pid}" in second.err
    assert "Traceback" not in second.err
    assert home.fermix("status").code == 0


def test_what_a_killed_daemon_left_hinders_nobody(home: FermixHome) -> None:
    home.daemon().ready().kill()
    assert (home.path / "daemon.sock").exists()
    assert home.fermix("status").code == 3
    assert home.fermix("ask", "alone?").out == "You said: alone?\n"
    second = home.daemon().ready()
    assert home.fermix("ask", "together?").out == "You said: together?\n"
    assert second.terminate() == 0


def test_status_tells_how_the_daemon_stands(home: FermixHome) -> None:
    daemon = home.daemon().ready()
    port = daemon.http_port()
    document = home.fermix("status", "--json").document
    assert document["ok"] is True
    status = document["status"]
    assert status["identity"]["pid"] == daemon.pid
    assert status["identity"]["home"] == str(home.path)
    assert status["http_port"] == port
    assert (status["waiting"], status["running"], status["open_parts"]) == (0, 0, 0)
    shown = home.fermix("status")
    assert shown.code == 0
    assert str(daemon.pid) in shown.out
    assert shown.err == ""


def test_stop_ends_the_daemon_and_returns_when_it_has_gone(home: FermixHome) -> None:
    daemon = home.daemon().ready()
    stopped = home.fermix("stop")
    assert (stopped.code, stopped.err) == (0, "")
    assert str(daemon.pid) in stopped.out
    assert daemon.process.wait(timeout=1) == 0
    assert not home.told()
    assert not (home.path / "daemon.sock").exists()
    assert "Traceback" not in daemon.printed()


@pytest.mark.parametrize("command", ["status", "stop"])
def test_without_a_daemon_a_command_for_it_exits_3(home: FermixHome, command: str) -> None:
    run = home.fermix(command)
    assert run.code == 3
    assert "not running" in run.err
    assert run.out == ""


@pytest.mark.requirement("drain.exits_0")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_daemon_in_order(home: FermixHome, number: signal.Signals) -> None:
    daemon = home.daemon().ready()
    daemon.process.send_signal(number)
    assert daemon.process.wait(timeout=10) == 0
    assert "gateway.ended" in home.log()
    assert "Traceback" not in daemon.printed()


@pytest.mark.requirement("home.modes")
def test_a_home_and_its_files_are_the_owners_alone(home: FermixHome) -> None:
    home.path.chmod(0o755)
    home.daemon().ready()
    assert home.fermix("ask", "hello").code == 0
    until((home.path / "http_token").exists, what="the token")
    modes = {
        path.name: path.stat().st_mode & 0o777 for path in home.path.rglob("*") if path.name != "config.toml"
    }
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert {name for name, mode in modes.items() if mode & 0o077} == set(), modes


def test_an_argument_is_a_usage_error(home: FermixHome) -> None:
    run = home.fermix("run", "--port", "1")
    assert run.code == 2
    assert "Traceback" not in run.err


def test_a_home_with_a_very_long_path_is_served_all_the_same(tmp_path: Path, model: StrictServer) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with open_home(folder) as home:
        home.use(model.base_url)
        assert home.fermix("ask", "alone?").out == "You said: alone?\n"
        daemon = home.daemon().ready()
        assert home.fermix("ask", "together?").out == "You said: together?\n"
        socket = Path(home.told()["socket"])
        assert not socket.is_relative_to(home.path)
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        daemon.kill()
        assert home.fermix("ask", "after?").out == "You said: after?\n"


def test_two_homes_are_two_fermixes(home: FermixHome, tmp_path: Path, model: StrictServer) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    with open_home(folder) as other:
        other.use(model.base_url)
        daemons = [home.daemon().ready(), other.daemon().ready()]
        assert home.fermix("ask", "first home").code == 0
        assert other.fermix("ask", "second home").code == 0
        assert [message["role"] for message in model.requests[-1].body["messages"]] == ["system", "user"]
        assert daemons[0].terminate() == 0
        assert other.fermix("status").code == 0
