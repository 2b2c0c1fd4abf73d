"""`fermix ask` when the daemon that answers it is killed: told, never run again, and nothing settled is lost."""

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.people import People


def _asked(model: StrictServer, text: str) -> int:
    """How often the model was asked this."""
    return sum(request.body["messages"][-1]["content"].endswith(text) for request in model.requests)


@pytest.mark.requirement("recovery.awaited_is_interrupted", "recovery.awaited_client_exits_1")
@pytest.mark.parametrize("kill", ["after:admit:1", "before:claim:1", "after:claim:1", "before:settle:1"])
def test_an_ask_killed_before_its_settlement_is_interrupted_and_never_run_again(
    home: FermixHome, people: People, model: StrictServer, kill: str
) -> None:
    daemon = home.daemon(far=people, kill=kill).ready()
    asked = home.fermix("ask", "what is lost?")
    daemon.died()
    assert asked.code == 1, asked
    assert "interrupted" in asked.err
    assert asked.out == ""
    times = _asked(model, "what is lost?")
    assert times == (1 if kill == "before:settle:1" else 0)
    home.daemon(far=people).ready()
    later = home.fermix("ask", "anything else?")
    assert later.code == 0, later
    assert _asked(model, "what is lost?") == times
    assert home.rows("SELECT outcome FROM turns ORDER BY turn") == [("interrupted",), ("completed",)]


@pytest.mark.requirement("recovery.kill.settled_ask_is_in_history")
@pytest.mark.parametrize("kill", ["after:settle:1", "before:done:1", "after:done:1"])
def test_an_ask_killed_after_its_settlement_finds_its_answer_in_the_history(
    home: FermixHome, people: People, model: StrictServer, kill: str
) -> None:
    daemon = home.daemon(far=people, kill=kill).ready()
    asked = home.fermix("ask", "--session", "work", "what is kept?")
    daemon.died()
    if kill == "after:settle:1":
        assert asked.code == 1, asked
        assert "interrupted" in asked.err
        assert asked.out == ""
    home.daemon(far=people).ready()
    later = home.fermix("ask", "--session", "work", "and now?")
    assert later.out == "You said: and now?\n"
    said = [(message["role"], message["content"]) for message in model.requests[-1].body["messages"]]
    assert said[-3:] == [
        ("user", "what is kept?"),
        ("assistant", "You said: what is kept?"),
        ("user", "and now?"),
    ]
    assert _asked(model, "what is kept?") == 1


def test_an_ask_killed_before_its_admission_is_answered_once_or_said_to_be_interrupted(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    daemon = home.daemon(far=people, kill="before:admit:1").ready()
    asked = home.fermix("ask", "--json", "who takes it?")
    daemon.died()
    if asked.code == 0:
        assert asked.document["text"] == "You said: who takes it?"
    else:
        assert asked.code == 1
        assert asked.document["error"]["code"] in {"interrupted", "connection_lost"}
    times = _asked(model, "who takes it?")
    home.daemon(far=people).ready()
    assert home.fermix("ask", "and next?").code == 0
    assert _asked(model, "who takes it?") == times <= 1


def test_the_json_of_an_interrupted_ask_says_so(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    daemon = home.daemon(far=people, kill="after:claim:1").ready()
    asked = home.fermix("ask", "--json", "what is lost?")
    daemon.died()
    assert asked.code == 1
    assert asked.document["ok"] is False
    assert "interrupted" in asked.document["error"]["message"]
