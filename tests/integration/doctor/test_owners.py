"""Doctor beside a daemon, a command at work, and a process that hangs."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fermix.application.ports.control import OwnerKind
from fermix.infrastructure.system.lock import Holder, hold_home
from tests.integration.cli.command_line import LIMIT_SECONDS, environment
from tests.integration.doctor.ledgers import a_ledger
from tests.integration.doctor.looking import doctor, trace_of
from tests.integration.local_socket.scripted_control import ScriptedControl, served


def test_a_degraded_daemon_fails_with_its_reasons(home: Path) -> None:
    a_ledger(home / "ledger.db")
    with served(home / "daemon.sock", ScriptedControl()):
        seen = doctor(home)
    assert (seen.status, seen.status_of("daemon")) == (1, "fail")
    assert "telegram is failing" in seen.words_of("daemon")
    assert "in use" in seen.words_of("database")


def test_a_command_at_work_is_no_fault(home: Path) -> None:
    with served(home / "daemon.sock", ScriptedControl(kind=OwnerKind.IN_PROCESS)):
        seen = doctor(home)
    assert seen.status == 0
    assert "a `fermix ask`" in seen.words_of("daemon")
    assert "for its owner alone" in seen.words_of("control socket")


def test_a_held_home_without_a_listener_fails_and_names_the_process(home: Path) -> None:
    a_ledger(home / "ledger.db")
    holder = Holder(pid=1, kind=OwnerKind.DAEMON, since=datetime(2026, 5, 1, tzinfo=UTC))
    with hold_home(home / "home.lock", holder):
        before = trace_of(home)
        seen = doctor(home)
        assert trace_of(home) == before
    assert (seen.status, seen.status_of("daemon")) == (1, "fail")
    assert "process 1 holds the home but does not answer" in seen.words_of("daemon")
    assert "in use" in seen.words_of("database")
    assert seen.status_of("paused") == "skip"


@pytest.fixture
def daemon(home: Path) -> Iterator[Path]:
    (home / "config.toml").write_text("[fermix_web]\nport = 0\n")
    (home / "config.toml").chmod(0o600)
    with subprocess.Popen(
        [sys.executable, "-m", "fermix.entrypoints.daemon"],
        env=environment(home, OPENAI_API_KEY="sk-planted-key-1"),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "gateway.serving" in line or "http.serving" in line:
                    break
            yield home
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT_SECONDS)


def test_beside_a_running_daemon_all_is_well(daemon: Path) -> None:
    seen = doctor(daemon, OPENAI_API_KEY="sk-planted-key-1")
    assert seen.status == 0, seen.text
    assert seen.rows["daemon"]["sentence"].endswith("ready")
    assert seen.status_of("paused") == "ok"
    assert "for its owner alone" in seen.words_of("control socket")
    assert "planted" not in seen.text
