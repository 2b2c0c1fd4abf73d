"""What goes wrong around Fermix: a broken file, a home that cannot be used, a model that is not there."""

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Drop, Hang, Refuse
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import API_KEY, FermixHome, open_home, until
from tests.e2e.harness.people import People
from tests.needs import NOBODY, Unprivileged


@pytest.mark.parametrize("command", [("run",), ("ask", "hello")])
@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[fermix_core.agent]\nname = 'x'\nmax_iteration = 3\n", 3, "max_iterations"),
        ("[fermix_core.agent]\nmax_iterations = 'many'\n", 2, "max_iterations"),
        ("[fermix_core.agent\n", 1, "config.toml"),
    ],
    ids=["an unknown key", "a wrong value", "no TOML"],
)
def test_a_broken_configuration_exits_7_and_names_file_and_line(
    home: FermixHome, command: tuple[str, ...], text: str, line: int, word: str
) -> None:
    home.configure(text)
    run = home.fermix(*command)
    assert run.code == 7, run
    assert f"config.toml:{line}" in run.err
    assert word in run.err
    assert run.out == ""
    assert "Traceback" not in run.err


def test_a_provider_without_a_key_is_told_once_with_where_it_goes(home: FermixHome) -> None:
    home.configure("[fermix_core.providers.openai]\nprimary = true\n")
    run = home.fermix("ask", "hello")
    assert (run.code, run.out) == (4, ""), run
    assert run.err.count("fermix: ") == 1
    assert "OPENAI_API_KEY" in run.err


@pytest.mark.parametrize("command", [("run",), ("ask", "hello"), ("chat",), ("doctor",)])
@pytest.mark.parametrize(
    "text",
    [
        'bot_token = "123456:PASTED-SECRET"\npath = "C:\\Users\\new"\n',
        '\n[fermix_channels.telegram\nbot_token = "123456:PASTED-SECRET"\n',
    ],
    ids=["a path in double quotes", "a bracket that is missing"],
)
def test_a_file_that_was_pasted_wrong_stops_every_command_and_stays_as_it_is(
    home: FermixHome, command: tuple[str, ...], text: str
) -> None:
    home.configure(text)
    run = home.fermix(*command, stdin=b"hello\n")
    assert run.code == (1 if command == ("doctor",) else 7), run
    assert "config.toml:2: is not valid TOML" in run.out + run.err
    assert "PASTED" not in run.out + run.err
    assert "Traceback" not in run.err
    assert (home.path / "config.toml").read_text() == text


@contextmanager
def _held_by_a_silent_daemon(home: FermixHome) -> Iterator[None]:
    """The home's lock is taken, as by a daemon that hangs."""
    holder = {"pid": os.getpid(), "kind": "daemon", "since": "2026-03-01T12:00:00+00:00"}
    with (home.path / "home.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(json.dumps(holder))
        lock.flush()
        yield


def test_a_home_whose_owner_does_not_answer_is_said_to_be_busy(home: FermixHome) -> None:
    with _held_by_a_silent_daemon(home):
        started = home.start("ask", "hello")
        run = home.fermix("run")
        assert run.code == 1
        assert f"The home {home.path} is in use by a daemon (process {os.getpid()}" in run.err
        asked = started.end(seconds=30)
    assert asked.code == 1
    assert "in use" in asked.err
    assert "Traceback" not in run.err + asked.err


def test_the_time_limit_of_an_ask_holds_for_a_busy_home_too(home: FermixHome) -> None:
    with _held_by_a_silent_daemon(home):
        asked = home.fermix("ask", "--timeout", "1", "hello", seconds=9)
    assert asked.code == 8


@pytest.mark.parametrize("command", [("ask", "hello"), ("run",)])
def test_a_home_that_this_user_may_not_read_is_named(
    as_nobody: Unprivileged, command: tuple[str, ...]
) -> None:
    path = as_nobody.home / "fermix"
    path.mkdir(mode=0o000)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    run = as_nobody.python("-m", "fermix.entrypoints.cli.main", *command, env={"FERMIX_HOME": str(path)})
    assert run.returncode == (5 if command[0] == "ask" else 1), run
    assert str(path) in run.stderr
    assert "may not" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("command", [("ask", "hello"), ("run",)])
def test_a_home_that_is_a_file_is_named_with_a_remedy(home: FermixHome, command: tuple[str, ...]) -> None:
    file = home.path / "file"
    file.write_text("")
    home.environ["FERMIX_HOME"] = str(file)
    run = home.fermix(*command)
    assert run.code == 1
    assert str(file) in run.err
    assert "not a folder" in run.err
    assert "Traceback" not in run.err


def test_a_damaged_ledger_is_named_and_left_alone(home: FermixHome) -> None:
    ledger = home.path / "ledger.db"
    ledger.write_bytes(b"this is no database, and it is long enough to look at" * 100)
    before = ledger.read_bytes()
    for command in (("ask", "hello"), ("run",)):
        run = home.fermix(*command)
        assert run.code == 1, run
        assert str(ledger) in run.err
        assert "Traceback" not in run.err
    assert ledger.read_bytes() == before


@pytest.fixture
def small_disk(tmp_path: Path, model: StrictServer) -> Iterator[FermixHome]:
    """A home on a disk of its own, of a few megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    with open_home(tmp_path) as opened:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", opened.path], check=True, timeout=10
        )
        try:
            opened.use(model.base_url)
            yield opened
        finally:
            for process in opened.started:
                process.kill()
                process.wait(timeout=10)
            subprocess.run(["umount", opened.path], check=True, timeout=10)


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return filler
    raise AssertionError("the disk has no end")


@pytest.mark.needs("program:mount")
@pytest.mark.requirement("disk_full.no_acknowledgement", "disk_full.degraded_until_space_returns")
def test_on_a_full_disk_nothing_is_acknowledged_until_space_returns(
    small_disk: FermixHome, people: People
) -> None:
    home = small_disk
    home.daemon(far=people).ready()
    people.write("red", "before")
    assert people.answer("red") == ["You said: before"]
    people.acknowledged(offset=1)

    def health() -> str:
        found: str = home.fermix("status", "--json").document["status"]["health"]["status"]
        return found

    assert health() == "ready"
    filler = _fill(home.path)
    people.write("red", "during " + "x" * 20_000)
    until(lambda: people.offers().count(2) > 1, what="the second offer")
    assert people.acknowledged() == 1
    assert health() == "degraded"
    filler.unlink()
    people.acknowledged(offset=2)
    assert people.answer("red", count=2)[1].startswith("You said: during")
    until(lambda: health() == "ready", what="readiness")
    assert people.in_chat("red")[2:] == []


@pytest.mark.requirement("io_error.ends_the_process")
def test_a_disk_that_fails_under_a_commit_ends_the_daemon_and_the_next_one_reads_the_truth(
    home: FermixHome, people: People, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    daemon = home.daemon(far=people, broken=broken).ready()
    people.acknowledged(offset=people.write("red", "before"))
    assert people.answer("red") == ["You said: before"]
    broken.touch()
    people.write("red", "during")
    assert daemon.process.wait(timeout=20) == 1
    assert "The ledger failed, so this process must end" in daemon.printed()
    assert "Traceback" not in home.log() + daemon.printed()
    assert people.acknowledged() == 1
    broken.unlink()
    home.daemon(far=people).ready()
    people.acknowledged(offset=2)
    assert people.answer("red", count=2) == ["You said: before", "You said: during"]
    assert home.fermix("status", "--json").document["status"]["open_parts"] == 0


def test_a_model_file_that_has_vanished_exits_6_and_names_the_file(home: FermixHome) -> None:
    home.configure('[fermix_core.providers.local]\nmodel_path = "models/gone.gguf"\n')
    run = home.fermix("ask", "hello")
    assert run.code == 6, run
    assert "gone.gguf named by `model_path` does not exist" in run.err
    assert "Traceback" not in run.err


@pytest.mark.requirement("turn.bounds.time", "settle.failure_is_told")
def test_a_provider_that_hangs_ends_the_turn_at_its_limit(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.agent]\nturn_timeout_seconds = 3")
    home.daemon(far=people).ready()
    model.will(Hang(stage="middle"))
    run = home.fermix("ask", "hang")
    assert run.code == 8, run
    assert "took too long" in run.err
    model.will(Hang(stage="headers"))
    people.write_all([("red", "hang"), ("red", "and now?")])
    told, answer = people.answer("red", count=2)
    assert "took too long" in told
    assert answer.endswith("and now?")


@pytest.mark.parametrize("with_daemon", [True, False], ids=["daemon", "alone"])
def test_the_time_limit_of_an_ask_cancels_its_turn(
    home: FermixHome, model: StrictServer, with_daemon: bool
) -> None:
    if with_daemon:
        home.daemon().ready()
    assert home.fermix("ask", "warm up").code == 0
    model.left.clear()
    model.will(Hang(stage="middle"))
    run = home.fermix("ask", "--new", "--timeout", "3" if with_daemon else "6", "hang")
    assert run.code == 8, run
    assert run.out == ""
    assert model.left.wait(10), "the model is not waited for any longer"
    until(
        lambda: home.rows("SELECT outcome FROM turns ORDER BY turn")[1:] == [("interrupted",)],
        what="the turn's end",
    )


def test_a_key_that_was_pasted_with_its_line_break_is_used_without_it(
    home: FermixHome, model: StrictServer
) -> None:
    home.configure(
        f'[fermix_core.providers.openai]\nbase_url = "{model.base_url}"\ndefault_model = "strict-1"\n'
    )
    home.environ["OPENAI_API_KEY"] = f"{API_KEY}\r\n"
    assert home.fermix("ask", "hello").out == "You said: hello\n"


@pytest.mark.parametrize("command", [("run",), ("ask", "hello"), ("doctor",), ("config", "show")])
def test_a_key_with_a_line_break_inside_is_named_and_shown_nowhere(
    home: FermixHome, command: tuple[str, ...]
) -> None:
    home.environ["OPENAI_API_KEY"] = "sk-PASTED\n-SECRET"
    run = home.fermix(*command)
    assert run.code == (1 if command == ("doctor",) else 7), run
    assert "OPENAI_API_KEY: has a line break" in run.out + run.err
    assert "PASTED" not in run.out + run.err
    assert "SECRET" not in run.out + run.err


@pytest.mark.requirement("secrets.redacted_in_logs", "secrets.redacted_in_errors_and_chat")
def test_a_refused_key_exits_4_and_is_shown_nowhere(home: FermixHome, model: StrictServer) -> None:
    message = {"error": {"message": f"Incorrect API key provided: {API_KEY}.", "code": "invalid_api_key"}}
    model.will(Refuse(status=401, body=message), Refuse(status=401, body=message))
    home.configure((home.path / "config.toml").read_text() + '[fermix_core.telemetry]\nlog_level = "debug"\n')
    daemon = home.daemon().ready()
    shown = [home.fermix("ask", "-v", "hello"), home.fermix("ask", "--json", "hello")]
    assert daemon.terminate() == 0
    assert [run.code for run in shown] == [4, 4]
    assert "refused the API key" in shown[0].err
    everything = home.log() + daemon.printed() + "".join(run.out + run.err for run in shown)
    assert API_KEY not in everything
    assert API_KEY.encode() not in b"".join(file.read_bytes() for file in home.path.glob("ledger.db*"))


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            Refuse(status=404, body={"error": {"message": "no", "code": "model_not_found"}}),
            6,
            "does not know",
        ),
        (
            Refuse(status=429, body={"error": {"message": "slow"}}, headers={"retry-after": "7"}),
            6,
            "7 seconds",
        ),
        (
            Refuse(status=400, body={"error": {"message": "long", "code": "context_length_exceeded"}}),
            1,
            "/new",
        ),
        (Refuse(status=500, body="oops"), 6, "failed to answer"),
        (Drop(), 6, "strict"),
    ],
    ids=["unknown model", "rate limit", "too long", "server error", "broken line"],
)
def test_a_failure_of_the_provider_is_one_sentence_and_an_exit_code(
    home: FermixHome, model: StrictServer, answer: Refuse | Drop, code: int, words: str
) -> None:
    model.will(answer, answer)
    run = home.fermix("ask", "hello")
    assert run.code == code, run
    assert words in run.err
    assert run.out == ""
    assert run.err.count("\n") == 1
    assert len(model.requests) == 1
