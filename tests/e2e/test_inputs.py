"""Odd texts, by the terminal and by the channel: each reaches the model as text, or is refused in words."""

import json

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.people import People

MILLION = 1_000_000


def _asked(model: StrictServer) -> str:
    content: str = model.requests[-1].body["messages"][-1]["content"]
    return content


def test_nul_bytes_on_standard_input_are_shown_and_noted(home: FermixHome, model: StrictServer) -> None:
    run = home.fermix("ask", stdin=b"before\0after")
    assert run.code == 0, run
    assert _asked(model) == "before\ufffdafter"
    assert "NUL" in run.err


def test_invalid_utf8_on_standard_input_is_shown_and_noted(home: FermixHome, model: StrictServer) -> None:
    run = home.fermix("ask", "-", stdin=b"caf\xe9?")
    assert run.code == 0, run
    assert _asked(model) == "caf\ufffd?"
    assert "UTF-8" in run.err


def test_a_million_characters_by_pipe_reach_the_model_and_come_back(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(Say(text="x" * MILLION, piece=65536))
    home.daemon(far=people).ready()
    text = "é" * MILLION
    run = home.fermix("ask", stdin=text.encode())
    assert run.code == 0, run.err
    assert _asked(model) == text
    assert run.out == "x" * MILLION + "\n"


def test_more_than_a_million_characters_are_refused_with_the_limit(
    home: FermixHome, model: StrictServer
) -> None:
    run = home.fermix("ask", stdin=b"x" * (MILLION + 1))
    assert run.code == 2
    assert "1,000,000" in run.err
    assert not model.requests


@pytest.mark.parametrize(
    "text",
    ["a\0b", "x" * MILLION, "\ud800 half a pair", "\u202eright to left"],
    ids=["nul", "long", "half", "bidi"],
)
def test_odd_texts_on_the_channel_are_answered(
    home: FermixHome, people: People, model: StrictServer, text: str
) -> None:
    model.will(Say(text="heard"))
    home.daemon(far=people).ready()
    people.acknowledged(offset=people.write("red", text))
    assert people.answer("red") == ["heard"]
    json.dumps(_asked(model)).encode()
    people.write("red", "next")
    assert people.answer("red", count=2)[1].endswith("next")


def test_a_pipe_is_the_context_of_an_argument(home: FermixHome, model: StrictServer) -> None:
    run = home.fermix("ask", "what is this?", stdin=b"some text\n")
    assert run.code == 0, run
    asked = _asked(model)
    assert asked.startswith("what is this?")
    assert "some text" in asked


@pytest.mark.requirement("channel.cli.whole_answer", "streaming.piped_ask_does_not_stream")
def test_two_prompts_give_two_answers_each_whole(home: FermixHome, model: StrictServer) -> None:
    home.daemon().ready()
    model.will(Say(text="one\n\n```\nwhole\n```", piece=2))
    assert home.fermix("ask", "first").out == "one\n\n```\nwhole\n```\n"
    assert home.fermix("ask", "second").out == "You said: second\n"


def test_json_is_exactly_one_document_also_for_errors(home: FermixHome, model: StrictServer) -> None:
    answered = home.fermix("ask", "--json", "hello")
    assert answered.document["ok"] is True
    assert answered.document["text"] == "You said: hello"
    assert answered.document["model"] == "strict-1"
    failed = home.fermix("ask", "--json", "--model", "strict/other", "hello")
    assert failed.code == 6
    assert failed.document["ok"] is False
    assert failed.document["error"]["code"] == "unknown_model"


@pytest.mark.requirement("turn.blank_completion")
def test_a_blank_answer_is_told_and_leaves_no_history(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(Say(text=" \n"))
    home.daemon(far=people).ready()
    people.write("red", "say nothing")
    assert people.answer("red") == ["No answer came this time. Please try again."]
    people.write("red", "say something")
    assert people.answer("red", count=2)[1] == "You said: say something"
    assert [message["role"] for message in model.requests[-1].body["messages"]] == ["system", "user"]
