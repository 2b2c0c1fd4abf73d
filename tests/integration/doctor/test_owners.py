"""Doctor beside a daemon, a command at work, and a process that hangs."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fermix.application.ports.control import OwnerKind, RefusedSender
from fermix.domain.ids import ChannelName, UserId
from fermix.infrastructure.system.lock import Holder, hold_home
from tests.integration.cli.command_line import LIMIT_SECONDS, environment, fermix
from tests.integration.doctor.ledgers import a_ledger
from tests.integration.doctor.looking import doctor, trace_of
from tests.integration.local_socket.scripted_control import ScriptedControl, served


def test_a_degraded_daemon_fails_with_its_reasons(home: Path) -> None:
    a_ledger(home / "ledger.db")
    with served(home / "daemon.sock", ScriptedControl()):
        seen = doctor(home)
    assert (seen.status, seen.status_of("daemon")) == (1, "fail")
    assert "failing: telegram" in seen.words_of("daemon")
    assert "in use" in seen.words_of("database")


@pytest.mark.requirement("ingress.authorise.doctor_shows_refused")
def test_a_new_owner_finds_the_id_that_was_refused(home: Path) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    turned_away = tuple(
        RefusedSender(
            at=noon, channel=ChannelName("telegram"), sender_ids=(UserId(one),), reason="not allowed"
        )
        for one in ("99\n99", "1001")
    )
    with served(home / "daemon.sock", ScriptedControl(turned_away=turned_away)):
        seen = doctor(home)
        table = fermix(home, "doctor", text=None, cwd=None).out
    assert seen.status_of("refused") == "ok"
    assert seen.rows["refused"]["details"] == [
        "telegram: '99\\n99', once, last 2026-05-01 12:00 UTC (not allowed)",
        "telegram: '1001', once, last 2026-05-01 12:00 UTC (not allowed)",
    ]
    assert "- telegram: '1001', once" in table


def test_without_a_daemon_the_row_says_that_nobody_knows(home: Path) -> None:
    seen = doctor(home)
    assert seen.status_of("refused") == "skip"
    assert "is not running" in seen.words_of("refused")
    with served(home / "daemon.sock", ScriptedControl(kind=OwnerKind.IN_PROCESS)):
        assert doctor(home).status_of("refused") == "skip"


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
    assert seen.words_of("refused").startswith("nobody since the daemon runs")
    assert "for its owner alone" in seen.words_of("control socket")
    assert "planted" not in seen.text
