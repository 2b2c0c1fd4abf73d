"""The local model answers over HTTP, one request at a time, and nobody else may ask it."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import pytest

from fermix.application.ports.model import ModelError
from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.local.runtime import LocalRuntime
from tests.integration.local_model.processes import ends_within
from tests.integration.local_model.runtimes import AnyFile, client_for, runtime_for

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.needs("local-model", "package:xllamacpp"),
]

QUESTION = {"model": "tested", "messages": [{"role": "user", "content": "Hi there!"}], "max_tokens": 24}
REFUSED_WITHOUT_KEY = [
    ("GET", "/v1/models"),
    ("GET", "/models"),
    ("GET", "/props"),
    ("POST", "/props"),
    ("GET", "/slots"),
    ("POST", "/slots/0?action=save"),
    ("GET", "/metrics"),
    ("GET", "/lora-adapters"),
    ("POST", "/lora-adapters"),
    ("GET", "/tools"),
    ("GET", "/cors-proxy?url=http://127.0.0.1/"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/chat/completions"),
    ("POST", "/completion"),
    ("POST", "/v1/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/embeddings"),
    ("POST", "/infill"),
    ("POST", "/tokenize"),
    ("POST", "/detokenize"),
    ("POST", "/apply-template"),
]
OFF_EVEN_WITH_KEY = [("GET", "/slots"), ("POST", "/props"), ("GET", "/metrics"), ("GET", "/tools")]


async def test_an_answer_streams_to_whoever_holds_the_key(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with (
            runtime_for(AnyFile(path=local_model_file)) as runtime,
            runtime.lease() as endpoint,
            client_for(endpoint) as client,
            client.stream("POST", "/chat/completions", json={**QUESTION, "stream": True}) as response,
        ):
            lines = [line async for line in response.aiter_lines() if line]

    assert urlsplit(endpoint.base_url).hostname == "127.0.0.1"
    assert len(lines) > 3
    assert lines[-1] == "data: [DONE]"


async def test_two_questions_get_two_answers(local_model_file: Path) -> None:
    answers = []
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            for text in ("What is the capital of France?", "Name three colours."):
                async with runtime.lease() as endpoint, client_for(endpoint) as client:
                    body = {**QUESTION, "messages": [{"role": "user", "content": text}], "temperature": 0}
                    response = await client.post("/chat/completions", json=body)
                    answers.append(response.json()["choices"][0]["message"]["content"])

    assert all(answers)
    assert answers[0] != answers[1]


async def test_without_the_key_nothing_but_health_answers_and_no_page_may_read_it(
    local_model_file: Path,
) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime, runtime.lease() as endpoint:
            root = endpoint.base_url.removesuffix("/v1")
            async with httpx.AsyncClient(base_url=root, timeout=30, trust_env=False) as client:
                for key in (None, "wrong", endpoint.api_key[:-1]):
                    headers = {"Origin": "http://evil.example"}
                    if key is not None:
                        headers["Authorization"] = f"Bearer {key}"
                    for method, path in REFUSED_WITHOUT_KEY:
                        body = QUESTION if method == "POST" else None
                        refused = await client.request(method, path, headers=headers, json=body)
                        assert refused.status_code == 401, (key, method, path)
                        assert refused.headers["Access-Control-Allow-Origin"] == "http://fermix.invalid"
                health = await client.get("/health", headers={"Origin": "http://evil.example"})
                page = await client.get("/")
                preflight = await client.options(
                    "/v1/chat/completions", headers={"Origin": "http://evil.example"}
                )
            async with client_for(endpoint) as owner:
                off = {
                    (method, path): (await owner.request(method, f"{root}{path}", json={})).status_code
                    for method, path in OFF_EVEN_WITH_KEY
                }

    assert health.json() == {"status": "ok"}
    assert health.headers["Access-Control-Allow-Origin"] == "http://fermix.invalid"
    assert page.status_code == 404
    assert preflight.headers["Access-Control-Allow-Origin"] == "http://fermix.invalid"
    assert preflight.headers["Access-Control-Allow-Methods"] == ""
    assert set(off.values()) <= {403, 501}


async def test_each_start_has_its_own_key(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file), idle=0.0) as runtime:
            async with runtime.lease() as first:
                pid = runtime.pid
            assert pid is not None
            assert await anyio.to_thread.run_sync(ends_within, pid, 5.0)
            async with runtime.lease() as second:
                pass

    assert first.api_key != second.api_key
    assert first.api_key not in repr(first)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's environment as a file")
async def test_the_key_is_neither_in_the_arguments_nor_in_the_environment(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime, runtime.lease() as endpoint:
            environment = await anyio.Path(f"/proc/{runtime.pid}/environ").read_bytes()
            arguments = await anyio.Path(f"/proc/{runtime.pid}/cmdline").read_bytes()

    assert endpoint.api_key.encode() not in environment + arguments
    assert {entry.split(b"=")[0] for entry in environment.split(b"\0") if entry} == {b"PYTHONPATH"}


async def test_nothing_starts_before_the_first_use(local_model_file: Path) -> None:
    with anyio.fail_after(10):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            await anyio.lowlevel.checkpoint()
            assert runtime.pid is None


async def test_one_process_serves_request_after_request(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            async with runtime.lease():
                first = runtime.pid
            async with runtime.lease():
                assert runtime.pid == first


async def test_the_second_request_waits_for_the_first_but_not_for_ever(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file), wait=0.05) as runtime:
            async with runtime.lease():
                with pytest.raises(ModelError) as caught:
                    async with runtime.lease():
                        pytest.fail("two requests at once")
            async with runtime.lease():
                pass

    assert caught.value.kind is FailureKind.TIMED_OUT
    assert "one request at a time" in (caught.value.failure.detail or "")


async def test_requests_are_served_in_the_order_they_came(local_model_file: Path) -> None:
    order: list[int] = []

    async def ask(runtime: LocalRuntime, number: int) -> None:
        async with runtime.lease():
            order.append(number)

    with anyio.fail_after(30):
        async with (
            runtime_for(AnyFile(path=local_model_file)) as runtime,
            anyio.create_task_group() as group,
            runtime.lease(),
        ):
            for number in range(4):
                group.start_soon(ask, runtime, number)
                await anyio.wait_all_tasks_blocked()

    assert order == [0, 1, 2, 3]


async def test_an_idle_model_is_unloaded_and_comes_back_when_asked(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file), idle=0.05) as runtime:
            async with runtime.lease():
                first = runtime.pid
            assert first is not None
            assert await anyio.to_thread.run_sync(ends_within, first, 5.0)
            async with runtime.lease() as endpoint, client_for(endpoint) as client:
                assert runtime.pid != first
                assert (await client.post("/chat/completions", json=QUESTION)).status_code == 200
            assert runtime.failure_cause() is None


async def test_a_model_in_use_is_not_idle(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with (
            runtime_for(AnyFile(path=local_model_file), idle=0.0) as runtime,
            runtime.lease() as endpoint,
            client_for(endpoint) as client,
        ):
            for _ in range(3):
                assert (await client.post("/chat/completions", json=QUESTION)).status_code == 200


async def test_a_request_given_up_leaves_the_model_free_for_the_next(local_model_file: Path) -> None:
    endless = {**QUESTION, "max_tokens": 900, "ignore_eos": True, "stream": True}
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            async with (
                runtime.lease() as endpoint,
                client_for(endpoint) as client,
                client.stream("POST", "/chat/completions", json=endless) as response,
            ):
                await anext(response.aiter_lines())
            first = runtime.pid
            with anyio.fail_after(5):
                async with runtime.lease() as endpoint, client_for(endpoint) as client:
                    assert (await client.post("/chat/completions", json=QUESTION)).status_code == 200
            assert runtime.pid == first


async def test_closing_leaves_no_process(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime, runtime.lease():
            pid = runtime.pid
        assert pid is not None
        assert ends_within(pid, 0)


async def test_a_closed_runtime_lends_nothing(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            pass
        with pytest.raises(ModelError, match="provider_failed"):
            async with runtime.lease():
                pytest.fail("a closed runtime lent a model")
