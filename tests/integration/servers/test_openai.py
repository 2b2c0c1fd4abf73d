"""The strict model server refuses every field it does not know; asked by the plainest client."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fermix.testing.servers.openai_strict.script import Call, Drop, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.integration.servers.plain import Answer, ask

HELLO = {"role": "user", "content": "hello"}
CHAT: dict[str, Any] = {"model": "strict-1", "stream": True, "messages": [HELLO]}
RESPONSES: dict[str, Any] = {
    "model": "strict-1",
    "stream": True,
    "store": False,
    "input": [{"type": "message", **HELLO}],
}
WIRES = (("chat/completions", CHAT), ("responses", RESPONSES))


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as opened:
        yield opened


def complete(server: StrictServer, path: str, body: Any, *, key: str = "test-key") -> Answer:
    return ask(f"{server.base_url}/{path}", json_body=body, headers={"Authorization": f"Bearer {key}"})


@pytest.mark.parametrize(("path", "body"), WIRES)
def test_a_right_request_is_answered_in_events(server: StrictServer, path: str, body: dict[str, Any]) -> None:
    answer = complete(server, path, body)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    events = [line.removeprefix(b"data: ") for line in answer.body.splitlines() if line.startswith(b"data: ")]
    texts = [json.loads(event) for event in events if event != b"[DONE]"]
    pieces = [each["choices"][0]["delta"].get("content") for each in texts if each.get("choices")] or [
        each.get("delta") for each in texts
    ]
    assert "".join(piece for piece in pieces if piece) == "You said: hello"


@pytest.mark.parametrize(("path", "body"), WIRES)
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"colour": "red"}, "body.colour: is not a known field"),
        ({"stream": False}, "body.stream"),
        ({"model": " "}, "body.model"),
    ],
)
def test_a_wrong_field_is_named(
    server: StrictServer, path: str, body: dict[str, Any], change: dict[str, Any], field: str
) -> None:
    refused = complete(server, path, {**body, **change})
    assert refused.status == 400
    assert field in refused.json["error"]["message"]


@pytest.mark.parametrize(("path", "body"), WIRES)
def test_keys_models_addresses_and_bodies_are_checked(
    server: StrictServer, path: str, body: dict[str, Any]
) -> None:
    assert complete(server, path, body, key="another").json["error"]["code"] == "invalid_api_key"
    unknown = complete(server, path, {**body, "model": "strict-2"})
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "model_not_found")
    assert complete(server, "letters", body).status == 404
    assert ask(f"{server.base_url}/{path}", data=b"{").status == 400


def test_the_result_of_a_call_must_follow_it(server: StrictServer) -> None:
    server.will(Say(calls=(Call(id="c1", name="look", arguments="{}"),)))
    assert complete(server, "chat/completions", CHAT).status == 200
    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = {"role": "assistant", "tool_calls": [asked]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "nothing"}
    right = {**CHAT, "messages": [HELLO, called, result]}
    for wrong in (
        [HELLO, called],
        [HELLO, called, HELLO],
        [HELLO, result],
        [HELLO, called, {**result, "tool_call_id": "c2"}],
    ):
        assert complete(server, "chat/completions", {**CHAT, "messages": wrong}).status == 400
    assert complete(server, "chat/completions", right).status == 200


def test_refusals_and_broken_lines_come_as_the_script_says(server: StrictServer) -> None:
    server.will(Refuse(status=429, body={"error": {"message": "slow"}}, headers={"Retry-After": "2"}), Drop())
    limited = complete(server, "responses", RESPONSES)
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    with pytest.raises(ConnectionError):
        complete(server, "responses", RESPONSES)
    assert complete(server, "responses", RESPONSES).status == 200
    assert len(server.requests) == 3
