"""Providers that answer oddly: what they did elsewhere, done to the whole program."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from fermix.testing.servers.openai_strict.script import Call, Frames, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome

LOOK = "glob_search"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def streamed(*events: dict[str, Any], end: str = "done") -> Frames:
    frames = tuple(f"data: {json.dumps(event)}\n\n" for event in events)
    return Frames(frames=frames, end=end)  # type: ignore[arg-type]  # one of its words


def fragment(call_id: str, arguments: str, **more: Any) -> dict[str, Any]:
    return chunk(
        {"tool_calls": [{"id": call_id, "function": {"name": LOOK, "arguments": arguments}, **more}]}
    )


def messages(model: StrictServer, request: int = -1) -> list[dict[str, Any]]:
    """What a request told after its system prompt."""
    found: list[dict[str, Any]] = model.requests[request].body["messages"][1:]
    return found


def paired(told: Sequence[dict[str, Any]]) -> bool:
    """Whether each call is followed by its result, and each result stands behind its call."""
    waiting: list[str] = []
    for message in told:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
        elif waiting:
            return False
        waiting += [call["id"] for call in message.get("tool_calls", ())]
    return not waiting


def test_a_history_cut_to_a_small_window_never_parts_a_call_from_its_result(
    home: FermixHome, model: StrictServer
) -> None:
    config = home.path / "config.toml"
    config.write_text(config.read_text().replace("default_model", "context_window = 6000\ndefault_model"))
    home.daemon().ready()
    looks = tuple(Call(id=f"c{n}", name=LOOK, arguments='{"pattern": "*"}') for n in (1, 2))
    lengths = set()
    for number in range(12):
        model.will(Say(calls=looks), Say(text="Seen. " * 50 * (number % 3)) if number % 3 else Say(text="ok"))
        run = home.fermix("ask", f"question {number} " + "and so on " * 100)
        assert run.code == 0, run
        told = messages(model)
        assert paired(told)
        assert told[0]["role"] == "user"
        lengths.add(len(told))
    assert "question 0 " not in json.dumps(messages(model)), "the beginning did not fit any more"
    assert len(lengths) > 2


def test_chunks_without_choices_cost_nothing(home: FermixHome, model: StrictServer) -> None:
    counts = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}
    start = chunk({"role": "assistant", "content": None})
    model.will(streamed({"choices": []}, start, chunk({"content": "Hi"}), chunk({}, "stop"), counts))
    run = home.fermix("ask", "hello")
    assert (run.code, run.out) == (0, "Hi\n")


@pytest.mark.parametrize("place", [{"index": 0}, {}], ids=["one index", "no index"])
def test_calls_that_were_glued_together_are_two_with_their_ids(
    home: FermixHome, model: StrictServer, place: dict[str, Any]
) -> None:
    first, second = '{"pattern":"a"}', '{"pattern":"b"}'
    glued = streamed(
        fragment("call_a", first, **place), fragment("call_b", second, **place), chunk({}, "tool_calls")
    )
    model.will(glued, Say(text="seen"))
    assert home.fermix("ask", "look").out == "seen\n"
    _, said, *results = messages(model)
    assert [(call["id"], call["function"]["arguments"]) for call in said["tool_calls"]] == [
        ("call_a", first),
        ("call_b", second),
    ]
    assert [result["tool_call_id"] for result in results] == ["call_a", "call_b"]


@pytest.mark.parametrize(
    "frames",
    [
        streamed(chunk({"content": "The answer is"}), end="cut"),
        streamed(chunk({"content": "The answer is"}), end="close"),
        streamed(
            chunk({"content": "The answer is"}),
            {"error": {"message": "overloaded", "code": 503}},
            end="close",
        ),
    ],
    ids=["cut", "closed", "error"],
)
def test_a_fragment_of_an_answer_is_neither_printed_nor_remembered(
    home: FermixHome, model: StrictServer, frames: Frames
) -> None:
    model.will(frames)
    run = home.fermix("ask", "hello")
    assert (run.code, run.out) == (6, "")
    assert len(model.requests) == 1
    assert home.fermix("ask", "and now?").code == 0
    assert "The answer is" not in json.dumps(messages(model))


def test_a_call_in_a_stream_that_was_cut_is_not_run(home: FermixHome, model: StrictServer) -> None:
    model.will(streamed(fragment("call_a", '{"pattern":"a"}', index=0), end="cut"))
    run = home.fermix("ask", "-v", "look")
    assert (run.code, run.out) == (6, "")
    assert LOOK not in run.err
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "broken",
    ['{"pattern": "notes.txt",', "[1]", '{"pattern": NaN}', '{"pattern": 1e999}', r'{"pattern": "\ud83d"}'],
)
def test_a_broken_call_is_told_its_neighbour_runs_and_nothing_unreadable_is_sent_back(
    home: FermixHome, model: StrictServer, broken: str
) -> None:
    both = chunk(
        {
            "tool_calls": [
                {"index": index, "id": f"c{index}", "function": {"name": LOOK, "arguments": arguments}}
                for index, arguments in enumerate((broken, '{"pattern": "*"}'))
            ]
        }
    )
    model.will(streamed(both, chunk({}, "tool_calls")), Say(text="seen"))
    run = home.fermix("ask", "look")
    assert (run.code, run.out) == (0, "seen\n"), run
    _, said, first, second = messages(model)
    assert [call["function"]["arguments"] for call in said["tool_calls"]] == ["{}", '{"pattern": "*"}']
    assert "JSON" in first["content"]
    assert "JSON" not in second["content"]


def test_thoughts_go_back_unchanged_to_the_model_that_had_them_and_are_no_answer(
    home: FermixHome, model: StrictServer
) -> None:
    home.daemon().ready()
    thinks = Call(id="c1", name=LOOK, arguments='{"pattern": "*"}')
    model.will(Say(reasoning="need the file", calls=(thinks,)), Say(reasoning="now I know", text="seen"))
    run = home.fermix("ask", "look")
    assert (run.code, run.out) == (0, "seen\n")
    assert messages(model)[1]["reasoning_content"] == "need the file"
    home.fermix("ask", "and now?")
    assert [said.get("reasoning_content") for said in messages(model) if said["role"] == "assistant"] == [
        "need the file",
        "now I know",
    ]
    home.fermix("ask", "--model", "strict/strict-2", "and you?")
    assert "need the file" not in json.dumps(messages(model))


OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, you requested 0 output tokens and your prompt"
    " contains at least 8193 input tokens"
)


@pytest.mark.parametrize(
    "error", [{"message": OVERFLOW}, {"code": "context_length_exceeded", "message": "too long"}]
)
def test_a_conversation_too_long_for_its_model_is_told_once_and_can_go_on(
    home: FermixHome, model: StrictServer, error: dict[str, str]
) -> None:
    home.daemon().ready()
    assert home.fermix("ask", "remember").code == 0
    model.will(Refuse(status=400, body={"error": error}))
    run = home.fermix("ask", "and this?")
    assert (run.code, run.out) == (1, "")
    assert "too long" in run.err
    assert "/new" in run.err
    assert len(model.requests) == 2, "nothing is asked again"
    assert home.fermix("ask", "still there?").code == 0
    assert messages(model)[0]["content"] == "remember"
    assert home.fermix("ask", "/new").code == 0
    assert home.fermix("ask", "afresh").code == 0
    assert [said["content"] for said in messages(model)] == ["afresh"]
