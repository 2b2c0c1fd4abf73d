"""`fermix status` and `fermix stop`, with a daemon, without one, and with another command in its place."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.control import ChannelHealth, ChannelStatus, OwnerKind
from fermix.entrypoints.cli.status_command import status_text
from tests.integration.cli.command_line import LIMIT_SECONDS, environment, fermix
from tests.integration.local_socket.scripted_control import ScriptedControl, served

REPOSITORY = Path(__file__).parents[3]


def test_status_is_a_table_for_people(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "status")
    assert (done.status, done.err) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert ["daemon", "running, version 0.1.0"] in rows
    assert ["since", "2026-05-01 12:00:00 UTC"] in rows
    assert ["http", "http://127.0.0.1:4030"] in rows
    assert ["health", "degraded"] in rows
    assert ["failing", "telegram"] in rows
    assert ["provider", "openai (gpt-test): ready"] in rows
    assert ["channel", "telegram: setup_required (No owner is set.)"] in rows
    assert ["turns", "1 running, 2 waiting, 0 paused"] in rows
    assert ["replies", "3 to be delivered"] in rows


def test_status_is_a_document_for_programs(home: Path, daemon: ScriptedControl) -> None:
    document = fermix(home, "status", "--json").document
    assert document["ok"] is True
    assert document["status"]["identity"]["epoch"] == 4
    assert document["status"]["waiting"] == 2


def test_what_a_channel_could_not_read_is_shown_once_there_is_something() -> None:
    channel = ChannelHealth(name="telegram", status=ChannelStatus.READY)
    told = anyio.run(ScriptedControl().status)
    lines = {
        count: status_text(
            replace(told, health=replace(told.health, channels=(replace(channel, unreadable=count),)))
        )
        for count in (0, 2)
    }
    assert "telegram: ready\n" in lines[0]
    assert "telegram: ready, 2 unreadable\n" in lines[2]


@pytest.mark.parametrize("command", ["status", "stop"])
def test_without_a_daemon_the_status_is_3(home: Path, command: str) -> None:
    assert fermix(home, command) == (3, "", "fermix: The daemon is not running.\n")


def test_without_a_daemon_there_is_a_document_too(home: Path) -> None:
    document = fermix(home, "status", "--json").document
    assert document["error"]["code"] == "not_running"
    assert document["exit_code"] == 3


@pytest.mark.parametrize("command", ["status", "stop"])
def test_a_command_that_answers_by_itself_is_no_daemon(home: Path, command: str) -> None:
    control = ScriptedControl(kind=OwnerKind.IN_PROCESS)
    with served(home / "daemon.sock", control):
        done = fermix(home, command)
    assert (done.status, done.out) == (3, "")
    assert "fermix ask" in done.err
    assert not control.stopped.is_set()


def test_stop_returns_when_the_process_has_gone(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.integration.cli.stoppable_daemon", str(home)],
        env=environment(home),
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            done = fermix(home, "stop")
            assert process.wait(LIMIT_SECONDS) == 0
        finally:
            process.kill()
    assert done == (0, f"The daemon (process {process.pid}) has stopped.\n", "")
    assert fermix(home, "stop").status == 3
