"""`fermix ask` without a daemon: the same gateway inside the command, and how it gives way."""

import signal

import pytest

from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.people import People

SLOW = Say(text="slow and steady wins", piece=1, pause=0.05)


@pytest.mark.requirement("channel.cli.same_gateway")
def test_an_ask_without_a_daemon_is_answered_and_leaves_nothing_running(
    home: FermixHome, model: StrictServer
) -> None:
    first = home.fermix("ask", "hello")
    assert (first.code, first.out, first.err) == (0, "You said: hello\n", "")
    second = home.fermix("ask", "again")
    assert second.out == "You said: again\n"
    said = [message["content"] for message in model.requests[-1].body["messages"]][1:]
    assert said == ["hello", "You said: hello", "again"]
    assert not home.told()
    assert home.fermix("status").code == 3


def test_a_second_ask_joins_the_first_and_is_answered_by_it(home: FermixHome, model: StrictServer) -> None:
    model.will(SLOW)
    first = home.start("ask", "--session", "one", "slow")
    until(lambda: model.requests, what="the model's turn")
    epoch = home.told()["epoch"]
    second = home.fermix("ask", "--session", "two", "quick")
    assert (second.code, second.out) == (0, "You said: quick\n")
    assert first.end().out == f"{SLOW.text}\n"
    assert home.rows("SELECT epoch FROM runtime") == [(epoch,)]


def test_the_first_ask_answers_the_second_before_it_leaves(home: FermixHome, model: StrictServer) -> None:
    model.will(Say(text="first", piece=1, pause=0.1), SLOW)
    first = home.start("ask", "--session", "one", "first")
    until(lambda: model.requests, what="the model's turn")
    second = home.fermix("ask", "--session", "two", "slow")
    assert (second.code, second.out) == (0, f"{SLOW.text}\n")
    assert first.end().out == "first\n"


def test_a_daemon_takes_over_after_a_running_ask(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(SLOW)
    asked = home.start("ask", "slow")
    until(lambda: model.requests, what="the model's turn")
    daemon = home.daemon(far=people)
    ended = asked.end()
    assert (ended.code, ended.out) == (0, f"{SLOW.text}\n"), ended
    daemon.ready()
    people.write("red", "hello")
    assert people.answer("red") == ["You said: hello"]
    assert home.fermix("status").code == 0


def test_an_ask_alone_leaves_the_rows_of_channels_to_the_daemon(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    daemon = home.daemon(far=people, kill="before:claim:1").ready()
    people.write("red", "for the daemon")
    daemon.died()
    assert home.fermix("ask", "hello").out == "You said: hello\n"
    assert home.rows("SELECT state FROM turns ORDER BY turn") == [("queued",), ("settled",)]
    assert people.seen() == []
    home.daemon(far=people).ready()
    assert people.answer("red") == ["You said: for the daemon"]


@pytest.mark.parametrize("with_daemon", [True, False], ids=["daemon", "alone"])
def test_an_interrupt_at_the_terminal_exits_130_and_cancels_the_turn(
    home: FermixHome, model: StrictServer, with_daemon: bool
) -> None:
    if with_daemon:
        home.daemon().ready()
    model.left.clear()
    model.will(Hang(stage="middle"))
    asked = home.start("ask", "hang")
    until(lambda: model.requests, what="the model's turn")
    asked.process.send_signal(signal.SIGINT)
    ended = asked.end()
    assert ended.code == 130, ended
    assert "Traceback" not in ended.err
    assert model.left.wait(10)
    until(lambda: home.rows("SELECT outcome FROM turns") == [("interrupted",)], what="the turn's end")


def test_an_ask_alone_that_is_killed_is_never_run_again(home: FermixHome, model: StrictServer) -> None:
    model.will(Hang(stage="middle"))
    asked = home.start("ask", "hang")
    until(lambda: model.requests, what="the model's turn")
    asked.process.kill()
    asked.end()
    assert home.fermix("ask", "next").code == 0
    assert len(model.requests) == 2
    assert home.rows("SELECT outcome FROM turns ORDER BY turn") == [("interrupted",), ("completed",)]


def test_a_client_that_is_killed_cancels_its_turn_in_the_daemon(
    home: FermixHome, model: StrictServer
) -> None:
    home.daemon().ready()
    model.left.clear()
    model.will(Hang(stage="middle"))
    asked = home.start("ask", "hang")
    until(lambda: model.requests, what="the model's turn")
    asked.process.kill()
    asked.end()
    assert model.left.wait(10), "the model is not waited for any longer"
    until(lambda: home.rows("SELECT outcome FROM turns") == [("interrupted",)], what="the turn's end")
    assert home.fermix("ask", "next").out.endswith("next\n")


def test_an_ask_whose_reader_leaves_cancels_its_turn(home: FermixHome, model: StrictServer) -> None:
    home.daemon().ready()
    model.left.clear()
    model.will(Hang(stage="middle"))
    asked = home.start("ask", "hang")
    until(lambda: model.requests, what="the model's turn")
    assert asked.process.stdout is not None
    asked.process.stdout.close()
    assert asked.process.wait(timeout=10) == 141
    assert model.left.wait(10), "the model is not waited for any longer"
