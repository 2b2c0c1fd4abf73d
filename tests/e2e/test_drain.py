"""Told to stop, a daemon finishes what runs, keeps what waits, and leaves nobody without an answer."""

from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.people import People

SLOW = Say(text="slow and steady wins", piece=1, pause=0.04)


def _children(pid: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.add(int(status.parent.name))
    return found


@pytest.mark.requirement("drain.running_turns_finish", "drain.exits_0", "drain.stops_accepting")
def test_a_running_turn_finishes_and_what_waits_behind_it_is_answered_after_the_restart(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(SLOW)
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=people.write_all([("red", "running"), ("red", "waiting")]))
    until(lambda: model.requests, what="the model's turn")
    assert daemon.terminate() == 0
    assert people.in_chat("red") == [SLOW.text]
    people.write("red", "late")
    assert people.acknowledged() == 2
    home.daemon(far=people).ready()
    assert people.answer("red", count=3)[1:] == ["You said: waiting", "You said: late"]
    assert len(model.requests) == 3
    assert "Traceback" not in home.log() + daemon.printed()


@pytest.mark.requirement("drain.rest_goes_back")
def test_a_turn_that_outlasts_the_grace_period_goes_back_with_its_attempt(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.queue]\ndrain_seconds = 0.2")
    model.will(Hang(stage="middle"))
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=people.write_all([("red", "running"), ("red", "waiting")]))
    until(lambda: model.requests, what="the model's turn")
    assert daemon.terminate() == 0
    assert home.rows("SELECT state, attempts FROM turns ORDER BY turn") == [("queued", 0), ("queued", 0)]
    assert people.in_chat("red") == []
    home.daemon(far=people).ready()
    assert people.answer("red", count=2) == ["You said: running", "You said: waiting"]
    assert len(people.seen()) == 2
    assert "Traceback" not in home.log() + daemon.printed()


@pytest.mark.requirement("drain.effects_and_awaited_are_interrupted")
def test_an_ask_that_outlasts_the_grace_period_is_told_and_never_run_again(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.queue]\ndrain_seconds = 0.2")
    model.will(Hang(stage="middle"))
    daemon = home.daemon(far=people).ready()
    asked = home.start("ask", "hang")
    until(lambda: model.requests, what="the model's turn")
    assert daemon.terminate() == 0
    ended = asked.end()
    assert ended.code == 1
    assert ended.out == ""
    assert "interrupted" in ended.err or "stopped" in ended.err
    assert home.rows("SELECT outcome FROM turns") == [("interrupted",)]
    home.daemon(far=people).ready()
    assert home.fermix("ask", "next").code == 0
    assert len(model.requests) == 2


def test_a_kill_in_the_middle_of_the_drain_loses_and_repeats_nothing(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(Hang(stage="middle"), Hang(stage="middle"))
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=people.write_all([("red", "running"), ("red", "waiting")]))
    until(lambda: model.requests, what="the model's turn")
    asked = home.start("ask", "hello")
    until(lambda: len(model.requests) == 2, what="the turn of the terminal")
    daemon.process.terminate()
    until(lambda: "gateway.draining running=2" in home.log(), what="the drain")
    daemon.kill()
    told = asked.end()
    assert (told.code, told.out) == (1, "")
    assert told.err
    home.daemon(far=people).ready()
    assert people.answer("red", count=2) == ["You said: running", "You said: waiting"]
    assert home.rows("SELECT state, outcome FROM turns ORDER BY turn") == [
        ("settled", "completed"),
        ("settled", "completed"),
        ("settled", "interrupted"),
    ]
    assert [request.body["messages"][-1]["content"] for request in model.requests].count("hello") == 1


@pytest.mark.requirement("restart.local_request_is_told")
def test_an_ask_that_comes_during_the_drain_is_told_and_answered_by_the_next_owner(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.queue]\ndrain_seconds = 3")
    model.will(Hang(stage="middle"))
    daemon = home.daemon(far=people).ready()
    people.write("red", "running")
    until(lambda: model.requests, what="the model's turn")
    daemon.process.terminate()
    until(lambda: "gateway.draining" in home.log(), what="the drain")
    assert home.fermix("status", "--json").document["status"]["draining"] is True
    asked = home.fermix("ask", "may I?")
    assert (asked.code, asked.out) == (0, "You said: may I?\n")
    assert "is just ending here" in asked.err
    assert len(model.requests) == 2


@pytest.mark.needs("local-model")
def test_the_process_of_the_local_model_goes_with_its_daemon(
    home: FermixHome, local_model_file: Path
) -> None:
    home.configure(
        f'[fermix_core.providers.local]\nmodel_path = "{local_model_file}"\n[fermix_web]\nport = 0\n'
    )
    daemon = home.daemon().ready()
    asked = home.fermix("ask", "Say hello.")
    assert asked.code == 0, asked
    assert asked.out.strip()
    children = _children(daemon.pid)
    assert children, "the model runs in a process of its own"
    assert daemon.terminate() == 0
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), what="the child's end")
    assert "Traceback" not in home.log() + daemon.printed()
