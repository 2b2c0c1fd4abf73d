"""`fermix chat` with nothing scripted but the model: the real gateway, in the chat itself and in a daemon."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Call, Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.e2e.harness.homes import API_KEY, FermixHome, open_home, until
from tests.integration.cli.pseudo_terminal import OnTerminal, on_terminal

CTRL_C, CTRL_D = "\x03", "\x04"
SLOW = Say(text="slow and steady wins", piece=1, pause=0.05)


@pytest.fixture(scope="module")
def shared_model() -> Iterator[StrictServer]:
    with strict_server(key=API_KEY) as server:
        yield server


@pytest.fixture
def model(shared_model: StrictServer) -> StrictServer:
    shared_model.script.clear()
    shared_model.requests.clear()
    shared_model.left.clear()
    return shared_model


@pytest.fixture
def opened(tmp_path: Path, model: StrictServer) -> Iterator[FermixHome]:
    with open_home(tmp_path) as home:
        home.use(model.base_url)
        yield home


@contextmanager
def chatting(home: FermixHome, *arguments: str) -> Iterator[OnTerminal]:
    with on_terminal({**home.environ, "TERM": "xterm-256color"}, "chat", *arguments) as terminal:
        yield terminal
        assert API_KEY not in terminal.raw


def outcomes(home: FermixHome) -> list[str]:
    return [outcome for (outcome,) in home.rows("SELECT outcome FROM turns ORDER BY turn")]


def test_a_chat_goes_on_where_it_and_ask_left_off(opened: FermixHome, model: StrictServer) -> None:
    opened.daemon().ready()
    opened.fermix("ask", "first")
    with chatting(opened) as chat:
        chat.say("second")
        chat.wait_for("> second\nYou said: second\n>")
        chat.say("/help")
        chat.wait_for("/new")
        chat.wait_for_prompt()
        chat.press(CTRL_D)
        assert chat.end() == 0
    said = [message["content"] for message in model.requests[-1].body["messages"]][1:]
    assert said == ["first", "You said: first", "second"]


@pytest.mark.requirement("channel.cli.same_gateway")
def test_without_a_daemon_it_owns_the_home_for_its_whole_length_and_others_may_join(
    opened: FermixHome, model: StrictServer
) -> None:
    with chatting(opened) as chat:
        chat.say("one")
        chat.wait_for("You said: one\n>")
        (first,) = opened.rows("SELECT epoch FROM runtime")
        assert opened.fermix("ask", "--session", "other", "two").out == "You said: two\n"
        chat.say("three")
        chat.wait_for("You said: three\n>")
        assert opened.rows("SELECT epoch FROM runtime") == [first]
        chat.press(CTRL_D)
        assert chat.end() == 0
    assert not opened.told()
    assert opened.fermix("status").code == 3


def test_an_interrupt_ends_the_turn_as_interrupted(opened: FermixHome, model: StrictServer) -> None:
    opened.daemon().ready()
    model.will(Hang(stage="middle"))
    with chatting(opened) as chat:
        chat.say("hang")
        until(lambda: model.requests, what="the model's turn")
        chat.press(CTRL_C)
        chat.wait_for("fermix: Stopped.")
        assert model.left.wait(10)
        until(lambda: outcomes(opened) == ["interrupted"], what="the turn's end")
        chat.say("next")
        chat.wait_for_last("next\n>")
    assert outcomes(opened) == ["interrupted", "completed"]


def test_a_daemon_that_starts_takes_over_a_chat_that_answers_by_itself(
    opened: FermixHome, model: StrictServer
) -> None:
    with chatting(opened) as chat:
        chat.say("one")
        chat.wait_for("You said: one\n>")
        daemon = opened.daemon().ready()
        chat.say("two")
        chat.wait_for(
            "> two\nfermix: A daemon has started and has taken over; the chat goes on through it.\n"
        )
        chat.wait_for("You said: two\n>")
        assert daemon.terminate() == 0
        chat.say("three")
        chat.wait_for("fermix: Nobody else answers for this home any more;")
        chat.wait_for("You said: three\n>")
        chat.press(CTRL_D)
        assert chat.end() == 0
    said = [message["content"] for message in model.requests[-1].body["messages"]][1:]
    assert said == ["one", "You said: one", "two", "You said: two", "three"]


def test_a_daemon_that_starts_while_the_chat_answers_waits_for_the_answer(
    opened: FermixHome, model: StrictServer
) -> None:
    model.will(SLOW)
    with chatting(opened) as chat:
        chat.say("slow")
        until(lambda: model.requests, what="the model's turn")
        daemon = opened.daemon()
        chat.wait_for(f"{SLOW.text}\n>")
        daemon.ready()
        chat.say("two")
        chat.wait_for("You said: two\n>")
    assert outcomes(opened) == ["completed", "completed"]


def test_a_daemon_that_is_killed_while_it_answers_is_told_and_the_chat_goes_on(
    opened: FermixHome, model: StrictServer
) -> None:
    daemon = opened.daemon().ready()
    model.will(Hang(stage="middle"))
    with chatting(opened) as chat:
        chat.say("hang")
        until(lambda: model.requests, what="the model's turn")
        daemon.kill()
        chat.wait_for("fermix: The daemon")
        chat.say("next")
        chat.wait_for_last("next\n>")
    assert outcomes(opened) == ["interrupted", "completed"]


def test_what_is_typed_while_an_answer_comes_is_the_next_message(
    opened: FermixHome, model: StrictServer
) -> None:
    opened.daemon().ready()
    model.will(SLOW)
    with chatting(opened) as chat:
        chat.say("slow")
        until(lambda: model.requests, what="the model's turn")
        chat.wait_for("slow and")
        chat.press("typed ahead\r")
        chat.wait_for(f"> slow\n{SLOW.text}\n> typed ahead\nYou said: typed ahead\n>")


def test_a_tool_that_runs_is_seen(opened: FermixHome, model: StrictServer) -> None:
    opened.daemon().ready()
    (opened.path.parent / "note.txt").write_text("seven")
    call = Call(
        id="c1", name="file_read", arguments=json.dumps({"path": str(opened.path.parent / "note.txt")})
    )
    model.will(Say(text="Let me look.", calls=(call,)), Say(text="It is *seven*."))
    with chatting(opened) as chat:
        chat.say("look")
        chat.wait_for("> look\nLet me look.\nused file_read")
        chat.wait_for("It is seven.\n>")


def test_lines_from_a_pipe_are_answered_by_the_gateway_itself(
    opened: FermixHome, model: StrictServer
) -> None:
    ended = opened.fermix("chat", "--session", "lines", stdin=b"one\ntwo\n")
    assert (ended.code, ended.out, ended.err) == (0, "You said: one\nYou said: two\n", "")


def test_stream_json_follows_a_real_turn(opened: FermixHome, model: StrictServer) -> None:
    opened.daemon().ready()
    ended = opened.fermix("ask", "--stream-json", "hello")
    assert (ended.code, ended.err) == (0, "")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [found[0]["type"], found[1]["type"], found[-1]["type"]] == ["accepted", "turn_started", "ended"]
    assert "".join(one["text"] for one in found if one["type"] == "delta") == "You said: hello"
    assert (found[-1]["ok"], found[-1]["text"]) == (True, "You said: hello")


def test_an_ask_while_a_daemon_starts_is_answered_by_it(opened: FermixHome, model: StrictServer) -> None:
    daemon = opened.daemon()
    lock = opened.path / "home.lock"
    until(lambda: lock.exists() and str(daemon.pid) in lock.read_text(), what="the daemon's lock")
    asked = [opened.start("ask", "--session", f"s{number}", f"{number}") for number in range(2)]
    ended = [one.end() for one in asked]
    assert [(one.code, one.out) for one in ended] == [(0, "You said: 0\n"), (0, "You said: 1\n")], ended
    assert opened.rows("SELECT epoch FROM runtime") == [(1,)]
