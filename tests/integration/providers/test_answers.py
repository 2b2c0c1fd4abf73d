"""Both wires against a server that refuses every field it does not know."""

from contextlib import AbstractAsyncContextManager

import pytest

from fermix.application.ports.model import ModelAnswer, ToolCall, Usage
from fermix.domain.history import AssistantEntry, CallRecord, MarkerEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.endpoint import Endpoint, fixed_endpoint
from fermix.infrastructure.providers.openai.factory import Wire
from fermix.testing.servers.openai_strict.script import Call, Frames, Refuse, Say
from fermix.testing.servers.openai_strict.server import strict_server
from tests.integration.providers.asking import ask, failure, model_at

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("wire", list(Wire))


def as_history(answer: ModelAnswer, provider: str = "strict") -> list[AssistantEntry | ToolEntry]:
    """An answer as the loop keeps it, each call with a result."""
    calls = tuple(
        CallRecord(call_id=call.call_id, name=call.name, arguments=call.arguments)
        for call in answer.tool_calls
    )
    said = AssistantEntry(
        text=answer.text, calls=calls, provider=provider, provider_state=answer.provider_state
    )
    return [said, *(ToolEntry(call_id=call.call_id, name=call.name, text="found") for call in calls)]


@BOTH
async def test_an_answer_is_streamed_and_counted(wire: Wire) -> None:
    shown: list[str] = []
    with strict_server(Say(text="Grüße 🎉 to you", piece=3, usage=(12, 5))) as server:
        async with model_at(server.base_url, wire) as model:
            answer = await ask(model, shown=shown)

    assert answer == ModelAnswer(text="Grüße 🎉 to you", usage=Usage(prompt_tokens=12, completion_tokens=5))
    assert len(shown) > 3


@BOTH
async def test_two_prompts_get_two_answers_and_an_unencrypted_line_is_never_used_twice(wire: Wire) -> None:
    with strict_server() as server:
        async with model_at(server.base_url, wire) as model:
            answers = [(await ask(model, text=text)).text for text in ("one", "two")]

    assert answers == ["You said: one", "You said: two"]
    assert server.connections == 2
    assert server.requests[0].headers["connection"] == "close"


@BOTH
async def test_a_whole_tool_round_is_taken_back(wire: Wire) -> None:
    calls = (
        Call(id="call_a", name="look", arguments='{"path":"a"}'),
        Call(id="call_b", name="look", arguments="{}"),
    )
    with strict_server(Say(text="Looking.", calls=calls), Say(text="Done.")) as server:
        async with model_at(server.base_url, wire) as model:
            first = await ask(model)
            second = await ask(
                model, UserEntry(text="Hello?"), *as_history(first), MarkerEntry(text="stopped")
            )

    assert first.tool_calls == tuple(
        ToolCall(call_id=call.id, name=call.name, arguments=call.arguments) for call in calls
    )
    assert second.text == "Done."


@BOTH
async def test_thoughts_go_back_to_their_maker_and_to_nobody_else(wire: Wire) -> None:
    call = Call(id="call_a", name="look", arguments="{}")
    with strict_server(
        Say(reasoning="need the file", calls=(call,)), Say(text="Done."), Say(text="Other.")
    ) as server:
        async with model_at(server.base_url, wire, reasoning_effort="low") as model:
            first = await ask(model)
            assert first.text == ""
            await ask(model, UserEntry(text="Hello?"), *as_history(first))
        server.reasoned.clear()
        async with model_at(server.base_url, wire, provider="another") as model:
            await ask(model, UserEntry(text="Hello?"), *as_history(first))

    same, other = (str(request.body) for request in server.requests[1:])
    assert "need the file" in same
    assert "need the file" not in other


async def test_what_a_strict_server_cannot_read_is_not_sent_back_to_it() -> None:
    half = r'{"index":0,"id":"call \ud83d","function":{"name":"look","arguments":"{}"}}'
    frames = (
        'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + half + "]}}]}\n\n",
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n',
    )
    with strict_server(Frames(frames=frames), Say(text="Done.")) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            first = await ask(model)
            assert (await ask(model, UserEntry(text="Hello?"), *as_history(first))).text == "Done."

    said, result = server.requests[1].body["messages"][2:4]
    assert said["tool_calls"][0]["id"] == result["tool_call_id"] == "call \ufffd"


async def test_without_an_effort_no_reasoning_is_asked_for_or_sent_back() -> None:
    with strict_server(Say(reasoning="hm", text="Yes."), Say(text="Still.")) as server:
        async with model_at(server.base_url, Wire.RESPONSES) as model:
            first = await ask(model)
            await ask(model, UserEntry(text="Hello?"), *as_history(first))

    assert first.provider_state is None
    assert "include" not in server.requests[0].body


async def test_glued_tool_calls_come_out_as_two() -> None:
    def glued(letter: str) -> str:
        function = '{"name":"look","arguments":"{\\"path\\":\\"' + letter + '\\"}"}'
        return (
            'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_'
            f'{letter}","function":{function}}}]}}}}]}}\n\n'
        )

    with strict_server(Frames(frames=(glued("a"), glued("b")))) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            answer = await ask(model)

    assert [(call.call_id, call.arguments) for call in answer.tool_calls] == [
        ("call_a", '{"path":"a"}'),
        ("call_b", '{"path":"b"}'),
    ]


@BOTH
async def test_a_limit_reached_with_text_is_an_answer(wire: Wire) -> None:
    finish = "length" if wire is Wire.CHAT_COMPLETIONS else "max_output_tokens"
    with strict_server(Say(text="Once upon", finish=finish)) as server:
        async with model_at(server.base_url, wire) as model:
            assert (await ask(model)).text == "Once upon"


async def test_a_server_that_refuses_stream_options_is_asked_without_them_from_then_on() -> None:
    refusal = Refuse(status=400, body={"error": {"message": "Unknown field: stream_options"}})
    with strict_server(refusal, Say(text="Hi"), Say(text="again")) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            assert [(await ask(model)).text for _ in range(2)] == ["Hi", "again"]

    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_an_answer_that_is_whole_survives_a_broken_line() -> None:
    frames = ('data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',)
    with strict_server(Frames(frames=frames, end="cut")) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            assert (await ask(model)).text == "Hi"


async def test_a_server_that_lingers_after_the_end_mark_does_not_hold_the_answer() -> None:
    frames = (
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
        "data: [DONE]\n\n",
    )
    with strict_server(Frames(frames=frames, end="hang")) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS, timeout_seconds=60) as model:
            assert (await ask(model)).text == "Hi"


@BOTH
async def test_a_keyless_server_sees_no_authorization(wire: Wire) -> None:
    with strict_server(key=None) as server:
        async with model_at(server.base_url, wire, key=None) as model:
            await ask(model)

    assert "authorization" not in server.requests[0].headers


async def test_user_and_password_of_an_address_become_basic_authorization() -> None:
    with strict_server(key=None) as server:
        address = server.base_url.replace("http://", "http://me:s%40crt@")
        async with model_at(address, Wire.CHAT_COMPLETIONS, key=None) as model:
            await failure(model)

        assert server.requests[0].headers["authorization"] == "Basic bWU6c0BjcnQ="


@BOTH
async def test_only_headers_of_our_own_leave(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Odd: of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/of-the-environment")
    with strict_server() as server:
        async with model_at(server.base_url, wire) as model:
            await ask(model)

    headers = server.requests[0].headers
    assert "of-the-environment" not in str(headers)
    assert not [name for name in headers if name.startswith("x-")]


@BOTH
async def test_a_loopback_server_is_reached_past_any_proxy(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with strict_server() as server:
        async with model_at(server.base_url, wire) as model:
            await ask(model)


@BOTH
async def test_an_endpoint_may_move_between_two_requests(wire: Wire) -> None:
    with strict_server(key="key-one") as one, strict_server(key="key-two") as two:
        sources = [
            fixed_endpoint("strict", base_url=one.base_url, api_key="key-one"),
            fixed_endpoint("strict", base_url=two.base_url, api_key="key-two"),
        ]

        def moving() -> AbstractAsyncContextManager[Endpoint]:
            return sources.pop(0)()

        async with model_at(None, wire, endpoint=moving) as model:
            await ask(model)
            await ask(model)

    assert len(one.requests) == len(two.requests) == 1


@BOTH
async def test_a_model_can_be_used_again_after_it_was_closed(wire: Wire) -> None:
    with strict_server() as server:
        async with model_at(server.base_url, wire) as model:
            await ask(model)
            await model.aclose()
            await ask(model)

    assert server.connections == 2


@BOTH
async def test_extra_fields_reach_the_server(wire: Wire) -> None:
    extra = {"top_p": 0.9} if wire is Wire.CHAT_COMPLETIONS else {"parallel_tool_calls": False}
    with strict_server() as server:
        async with model_at(server.base_url, wire, extra_body=extra) as model:
            await ask(model)

    assert extra.items() <= server.requests[0].body.items()


@BOTH
async def test_the_strict_server_refuses_a_field_it_does_not_know(wire: Wire) -> None:
    with strict_server() as server:
        async with model_at(server.base_url, wire, extra_body={"surprise": 1}) as model:
            failed = await failure(model)

    assert failed.detail == "HTTP 400: body.surprise: is not a known field"
