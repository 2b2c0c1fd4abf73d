"""What providers send wrong, seen from the terminal's end: through the whole gateway, over a real connection."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fermix.application.operations.control import Operations
from fermix.application.ports.control import AskEnd
from fermix.domain.failure import FailureKind
from fermix.testing.servers.openai_strict.script import Answer, Call, Frames, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.integration.entrypoints.test_container import asked, owned, write_config

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answering(
    tmp_path: Path, *answers: Answer
) -> AsyncGenerator[tuple[Operations, StrictServer, Path]]:
    with strict_server(*answers) as server:
        home = tmp_path / "home"
        write_config(home, server, name="Fermix")
        async with owned(home) as operations:
            workspace = home / "workspace"
            workspace.mkdir(exist_ok=True)
            for name in ("a", "b"):
                (workspace / name).write_text(f"this is {name}")
            yield operations, server, workspace


def frames(*chunks: object) -> tuple[str, ...]:
    return tuple(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def delta(**content: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": content}]}


FINISHED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS_FINISHED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def messages(server: StrictServer, request: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = server.requests[request].body["messages"]
    return found


async def test_chunks_without_choices_do_not_hide_the_answer(tmp_path: Path) -> None:
    stream = Frames(
        frames=frames(
            {"choices": []},
            delta(role="assistant", content=None),
            delta(content="Hi"),
            FINISHED,
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
        )
    )
    async with answering(tmp_path, stream) as (operations, _, _):
        ended = await asked(operations, "hello", "r1")
    assert (ended.end, ended.text) == (AskEnd.ANSWERED, "Hi")


@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["one index for all", "no index"])
async def test_calls_that_a_server_glues_together_run_one_by_one(
    tmp_path: Path, index: dict[str, int]
) -> None:
    def call(call_id: str, path: str) -> dict[str, object]:
        made = {"name": "file_read", "arguments": json.dumps({"path": path})}
        return delta(tool_calls=[{**index, "id": call_id, "type": "function", "function": made}])

    stream = Frames(frames=frames(call("call_a", "a"), call("call_b", "b"), CALLS_FINISHED))
    async with answering(tmp_path, stream, Say(text="read")) as (operations, server, _):
        ended = await asked(operations, "read both", "r1")
        assert ended.text == "read"
        results = [message for message in messages(server, 1) if message["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == ["call_a", "call_b"]
    assert "this is a" in str(results[0]["content"])
    assert "this is b" in str(results[1]["content"])


@pytest.mark.parametrize("error", [(), ({"error": {"message": "overloaded", "code": 503}},)])
async def test_half_an_answer_is_never_kept_as_a_whole_one(
    tmp_path: Path, error: tuple[dict[str, object], ...]
) -> None:
    stream = Frames(frames=frames(delta(content="The answer is"), *error), end="close")
    async with answering(tmp_path, stream, Say(text="42")) as (operations, server, _):
        ended = await asked(operations, "hello", "r1")
        assert ended.end is AskEnd.FAILED
        assert ended.text == ""
        assert (await asked(operations, "again", "r2")).text == "42"
        assert "The answer is" not in json.dumps(messages(server, 1))


async def test_broken_arguments_are_explained_to_the_model_and_never_sent_back(tmp_path: Path) -> None:
    broken = Call(id="c1", name="file_read", arguments='{"path": "notes.txt",')
    whole = Call(id="c2", name="file_read", arguments='{"path": "a"}')
    async with answering(tmp_path, Say(calls=(broken, whole)), Say(text="ok")) as (operations, server, _):
        assert (await asked(operations, "read", "r1")).text == "ok"
        said, first, second = messages(server, 1)[-3:]
    assert '"arguments": "{}"' in json.dumps(said)
    assert "not valid JSON" in str(first["content"])
    assert "this is a" in str(second["content"])


async def test_the_same_broken_arguments_again_and_again_end_the_turn(tmp_path: Path) -> None:
    broken = Call(id="c1", name="file_read", arguments='{"path": "notes.txt",')
    whole = Call(id="c2", name="file_read", arguments='{"path": "a"}')
    endless = [Say(calls=(broken, whole))] * 30
    async with answering(tmp_path, *endless) as (operations, server, _):
        ended = await asked(operations, "read", "r1")
        assert ended.end is AskEnd.FAILED
        assert ended.failure is not None
        assert ended.failure.kind is FailureKind.LOOPING
        assert len(server.requests) == 5
        server.script.clear()
        assert (await asked(operations, "still there?", "r2")).text.endswith("still there?")


async def test_thoughts_go_back_to_their_provider_and_to_nobody_else(tmp_path: Path) -> None:
    thinking = Say(
        reasoning="need the file", calls=(Call(id="c1", name="file_read", arguments='{"path": "a"}'),)
    )
    async with answering(tmp_path, thinking, Say(text="read")) as (operations, server, _):
        ended = await asked(operations, "read", "r1")
        assert ended.text == "read"
        assert "need the file" in json.dumps(messages(server, 1))
    assert "need the file" not in str(ended)


@pytest.mark.parametrize(
    "error",
    [
        {
            "message": "This model's maximum context length is 8192 tokens. However, you requested 0 output "
            "tokens and your prompt contains at least 8193 input tokens"
        },
        {"code": "context_length_exceeded", "message": "too long"},
    ],
)
async def test_a_conversation_that_is_too_long_is_told_and_can_be_left_behind(
    tmp_path: Path, error: dict[str, str]
) -> None:
    refused = Refuse(status=400, body={"error": error})
    async with answering(tmp_path, Say(text="short"), refused, refused) as (operations, server, _):
        assert (await asked(operations, "hello", "r1")).text == "short"
        for request in ("r2", "r3"):
            ended = await asked(operations, "more", request)
            assert ended.end is AskEnd.FAILED
            assert ended.failure is not None
            assert ended.failure.kind is FailureKind.CONTEXT_TOO_LONG
            assert "/new" in str(ended.notice)
        assert len(server.requests) == 3
        assert (await asked(operations, "/new", "r4")).end is AskEnd.ANSWERED
        assert (await asked(operations, "fresh", "r5")).text == "You said: fresh"
        assert [message["role"] for message in messages(server, 3)] == ["system", "user"]
