"""A home that cannot be written to, a ledger that somebody else holds, and a clock that is set back."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, open_home, until
from tests.e2e.harness.people import People
from tests.e2e.harness.shifted_clock import set_clock
from tests.needs import NOBODY, Unprivileged


def _health(home: FermixHome) -> str:
    found: str = home.fermix("status", "--json").document["status"]["health"]["status"]
    return found


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Another program writes into the ledger and does not finish."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.requirement("ingress.admit.synced_before_acknowledge")
def test_while_somebody_else_holds_the_ledger_nothing_is_acknowledged_and_afterwards_all_is_answered(
    home: FermixHome, people: People
) -> None:
    daemon = home.daemon(far=people).ready()
    people.write("red", "before")
    assert people.answer("red") == ["You said: before"]
    people.acknowledged(offset=1)
    with _locked(home.path / "ledger.db"):
        people.write_all([("red", "during"), ("blue", "/whoami")])
        until(lambda: _health(home) == "degraded", what="trouble to be told")
        assert people.acknowledged() == 1
    people.acknowledged(offset=3)
    assert people.answer("red", count=2)[1].endswith("during")
    assert len(people.answer("blue")) == 1
    until(lambda: _health(home) == "ready", what="readiness")
    assert daemon.terminate() == 0
    assert "Traceback" not in home.log() + daemon.printed()


def test_an_answer_that_cannot_be_taken_down_is_held_until_it_can(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=people.write("red", "hello"))
    assert people.answer("red") == ["You said: hello"]
    with _locked(home.path / "ledger.db"):
        people.write("red", "again")
        until(lambda: _health(home) == "degraded", what="trouble to be told")
    assert people.answer("red", count=2)[1].endswith("again")
    assert len(model.requests) == 2
    assert daemon.terminate() == 0


@pytest.mark.parametrize("command", [("ask", "hello"), ("run",)])
def test_a_home_that_cannot_be_written_to_is_named_with_its_cause(
    as_nobody: Unprivileged, command: tuple[str, ...]
) -> None:
    path = as_nobody.home / "fermix"
    path.mkdir(mode=0o500)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    run = as_nobody.python("-m", "fermix.entrypoints.cli.main", *command, env={"FERMIX_HOME": str(path)})
    assert run.returncode == (5 if command[0] == "ask" else 1), run
    assert str(path) in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "command", [("ask", "hello"), ("sessions",), ("queue", "list"), ("model", "list"), ("status",)]
)
def test_a_home_that_its_owner_may_not_enter_is_named_and_not_its_socket(
    as_nobody: Unprivileged, command: tuple[str, ...]
) -> None:
    path = as_nobody.home / "fermix"
    path.mkdir()
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    path.chmod(0)
    run = as_nobody.python("-m", "fermix.entrypoints.cli.main", *command, env={"FERMIX_HOME": str(path)})
    assert run.returncode in {1, 5}, run
    assert str(path) in run.stderr
    assert "permissions" in run.stderr
    assert "control socket" not in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("name", "is_folder"),
    [("logs", False), ("daemon.json", True), ("ledger.db", True), ("ledger.db", False), ("home.lock", True)],
)
@pytest.mark.parametrize("command", [("ask", "hello"), ("run",)])
def test_what_stands_in_a_files_place_is_named(
    home: FermixHome, command: tuple[str, ...], name: str, is_folder: bool
) -> None:
    path = home.path / name
    if is_folder:
        path.mkdir()
    else:
        path.write_text("somebody's notes, of some length\n" * 100)
    run = home.fermix(*command)
    assert run.code == 1, run
    assert str(path) in run.err
    for noise in ("Traceback", "unexpectedly", "Errno", "must end", "cannot use it"):
        assert noise not in run.err


@pytest.fixture
def own_disk(tmp_path: Path, model: StrictServer) -> Iterator[FermixHome]:
    """A home on a disk of its own, which can be made read-only while it is in use."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    with open_home(tmp_path) as opened:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", opened.path], check=True, timeout=10
        )
        try:
            opened.use(model.base_url)
            yield opened
        finally:
            for process in opened.started:
                process.kill()
                process.wait(timeout=10)
            subprocess.run(["umount", opened.path], check=True, timeout=10)


@pytest.mark.needs("program:mount")
def test_a_disk_that_is_read_only_at_the_start_is_named_and_nothing_is_lost(
    own_disk: FermixHome, people: People
) -> None:
    home = own_disk
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=people.write("red", "before"))
    assert people.answer("red") == ["You said: before"]
    assert daemon.terminate() == 0
    subprocess.run(["mount", "-o", "remount,ro", home.path], check=True, timeout=10)
    people.write("red", "during")
    refused = home.daemon(far=people)
    assert refused.process.wait(timeout=20) != 0
    assert str(home.path) in refused.printed()
    assert "Traceback" not in refused.printed()
    subprocess.run(["mount", "-o", "remount,rw", home.path], check=True, timeout=10)
    home.daemon(far=people).ready()
    assert people.answer("red", count=2)[1].endswith("during")


@pytest.mark.needs("program:mount")
@pytest.mark.parametrize("free_kib", [0, 4, 16, 40])
def test_a_disk_with_no_room_for_the_ledger_is_said_to_be_full(own_disk: FermixHome, free_kib: int) -> None:
    home = own_disk
    subprocess.run(["mount", "-o", "remount,size=1m", home.path], check=True, timeout=10)
    free = os.statvfs(home.path)
    filler = home.path / "filler"
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize - free_kib * 1024))
    for command in (("ask", "hello"), ("run",)):
        refused = home.fermix(*command)
        assert refused.code == 1, refused
        assert "no space left" in refused.err
        assert "Traceback" not in refused.err
    filler.unlink()
    assert home.fermix("ask", "hello").out == "You said: hello\n"


def test_a_clock_that_is_set_back_while_it_runs_and_between_two_starts_holds_nothing_up(
    home: FermixHome, people: People, tmp_path: Path
) -> None:
    clock = tmp_path / "clock"
    set_clock(clock, 3600)
    daemon = home.daemon(far=people, clock=clock).ready()
    people.write("red", "in the future")
    assert people.answer("red") == ["You said: in the future"]
    set_clock(clock, 0)
    people.write("red", "now")
    assert people.answer("red", count=2)[1].endswith("now")
    assert daemon.terminate() == 0
    set_clock(clock, -7200)
    dying = home.daemon(far=people, clock=clock, kill="before:done:1")
    people.write("red", "in the past")
    dying.died()
    set_clock(clock, -14400)
    home.daemon(far=people, clock=clock).ready()
    texts = people.answer("red", count=4)
    assert texts[2].endswith("in the past")
    assert texts[3] == f"(possibly sent before)\n{texts[2]}"
    people.write("blue", "hello")
    assert people.answer("blue") == ["You said: hello"]
