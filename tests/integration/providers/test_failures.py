"""Everything that can go wrong between a question and its answer, over real sockets."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from fermix.application.ports.model import ModelError
from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai.factory import Wire
from fermix.testing.servers.openai_strict.script import Drop, Frames, Hang, Refuse, Stage
from fermix.testing.servers.openai_strict.server import strict_server
from tests.integration.providers.asking import ask, failure, model_at

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("wire", list(Wire))

PARTIAL = {
    Wire.CHAT_COMPLETIONS: 'data: {"choices":[{"index":0,"delta":{"content":"The answer is"}}]}\n\n',
    Wire.RESPONSES: 'data: {"type":"response.output_text.delta","item_id":"m","delta":"The answer is"}\n\n',
}


@BOTH
@pytest.mark.requirement("turn.only_the_chain_asks_again")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Refuse(status=400, body={"error": {"message": "bad"}}), FailureKind.PROVIDER_FAILED),
        (
            Refuse(status=400, body={"error": {"code": "context_length_exceeded", "message": "x"}}),
            FailureKind.CONTEXT_TOO_LONG,
        ),
        (Refuse(status=401), FailureKind.CREDENTIAL_REFUSED),
        (Refuse(status=429), FailureKind.RATE_LIMITED),
        (Refuse(status=500, body="<html>"), FailureKind.PROVIDER_FAILED),
        (Refuse(status=503), FailureKind.PROVIDER_FAILED),
        (Drop(), FailureKind.UNREACHABLE),
    ],
)
async def test_a_refusal_has_its_kind_and_is_asked_once(
    wire: Wire, answer: Refuse | Drop, kind: FailureKind
) -> None:
    with strict_server(answer) as server:
        async with model_at(server.base_url, wire) as model:
            failed = await failure(model)

    assert (failed.kind, failed.provider, failed.model) == (kind, "strict", "strict-1")
    assert len(server.requests) == 1


async def test_the_cause_for_the_operator_is_what_happened_and_no_advertisement() -> None:
    with strict_server(Refuse(status=500, body={"error": {"message": "out of memory"}})) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            with pytest.raises(ModelError) as caught:
                await ask(model)
    cause = str(caught.value.__cause__)

    assert "out of memory" in cause
    assert f"for url '{server.base_url}/chat/completions'" in cause
    assert "developer.mozilla.org" not in cause


@BOTH
async def test_a_wrong_key_and_an_unknown_model_are_told_apart(wire: Wire) -> None:
    with strict_server() as server:
        async with model_at(server.base_url, wire, key="another") as model:
            assert (await failure(model)).kind is FailureKind.CREDENTIAL_REFUSED
        async with model_at(server.base_url, wire, model="missing") as model:
            assert (await failure(model)).kind is FailureKind.UNKNOWN_MODEL


@BOTH
async def test_a_missing_key_is_told_before_anything_is_sent(wire: Wire) -> None:
    async with model_at(None, wire, provider="openai", key=None) as model:
        assert (await failure(model)).kind is FailureKind.CREDENTIAL_MISSING


@BOTH
async def test_the_wait_of_a_rate_limit_is_kept(wire: Wire) -> None:
    with strict_server(Refuse(status=429, headers={"Retry-After": "42"})) as server:
        async with model_at(server.base_url, wire) as model:
            assert (await failure(model)).retry_after == timedelta(seconds=42)


@BOTH
@pytest.mark.parametrize("stage", ["headers", "body", "middle"])
async def test_a_server_that_hangs_is_left_at_every_stage(wire: Wire, stage: Stage) -> None:
    with strict_server(Hang(stage=stage)) as server:
        async with model_at(server.base_url, wire, timeout_seconds=0.3) as model:
            failed = await failure(model)
            assert server.left.wait(5)

    assert (failed.kind, failed.detail) == (FailureKind.TIMED_OUT, "the provider stopped sending")


@contextmanager
def full_backlog() -> Generator[str]:
    """An address whose connections are never accepted."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        for each in waiting:
            each.close()


async def test_a_connection_that_is_never_accepted_times_out() -> None:
    with full_backlog() as base_url:
        async with model_at(base_url, Wire.CHAT_COMPLETIONS, timeout_seconds=0.3) as model:
            failed = await failure(model)

    assert failed.kind is FailureKind.TIMED_OUT


@contextmanager
def closed_port() -> Generator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


async def test_nobody_listening_is_unreachable() -> None:
    with closed_port() as base_url:
        async with model_at(base_url, Wire.CHAT_COMPLETIONS) as model:
            failed = await failure(model)

    assert (failed.kind, failed.detail) == (FailureKind.UNREACHABLE, "nothing listens at this address")


async def test_a_name_that_does_not_exist_is_unreachable() -> None:
    async with model_at("http://host.invalid/v1", Wire.RESPONSES) as model:
        failed = await failure(model)

    assert (failed.kind, failed.detail) == (FailureKind.UNREACHABLE, "its name cannot be resolved")


@pytest.mark.parametrize(
    "base_url",
    [
        "host.invalid/v1",
        "ftp://host.invalid/v1",
        "http://[::1/v1",
        "http://\udce4/v1",
        "http://a b.invalid/v1",
    ],
)
async def test_an_address_that_leads_nowhere_is_unreachable(base_url: str) -> None:
    async with model_at(base_url, Wire.CHAT_COMPLETIONS) as model:
        assert (await failure(model)).kind is FailureKind.UNREACHABLE


async def test_a_server_without_tls_behind_an_https_address_is_unreachable() -> None:
    with strict_server() as server:
        async with model_at(server.base_url.replace("http:", "https:"), Wire.RESPONSES) as model:
            failed = await failure(model)

    assert (failed.kind, failed.detail) == (FailureKind.UNREACHABLE, "no secure connection could be made")


@BOTH
@pytest.mark.parametrize("end", ["close", "cut"])
async def test_a_stream_that_is_cut_is_no_answer_though_text_was_shown(wire: Wire, end: str) -> None:
    shown: list[str] = []
    with strict_server(Frames(frames=(PARTIAL[wire],), end=end)) as server:  # type: ignore[arg-type]  # from a list
        async with model_at(server.base_url, wire) as model:
            failed = await failure(model, shown)

    assert failed.kind is FailureKind.PROVIDER_FAILED
    assert shown == ["The answer is"]


@BOTH
async def test_a_tool_call_in_a_stream_that_never_finished_is_not_handed_out(wire: Wire) -> None:
    frames = {
        Wire.CHAT_COMPLETIONS: 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a",'
        '"function":{"name":"look","arguments":"{}"}}]}}]}\n\n',
        Wire.RESPONSES: 'data: {"type":"response.output_item.done","item":{"type":"function_call",'
        '"call_id":"a","name":"look","arguments":"{}"}}\n\n',
    }
    with strict_server(Frames(frames=(frames[wire],), end="close")) as server:
        async with model_at(server.base_url, wire) as model:
            assert (await failure(model)).kind is FailureKind.PROVIDER_FAILED


@BOTH
async def test_an_error_inside_a_200_stream_is_an_error(wire: Wire) -> None:
    frames = (PARTIAL[wire], 'data: {"error":{"message":"overloaded","code":503}}\n\n')
    with strict_server(Frames(frames=frames, end="close")) as server:
        async with model_at(server.base_url, wire) as model:
            failed = await failure(model)

    assert (failed.kind, failed.detail) == (FailureKind.PROVIDER_FAILED, "HTTP 503: overloaded")


@BOTH
@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("application/json", '{"error":{"message":"slow down","code":429}}', FailureKind.RATE_LIMITED),
        ("application/json", '{"choices":[]}', FailureKind.PROVIDER_FAILED),
        ("application/json", " " * 2_000_000, FailureKind.PROVIDER_FAILED),
        ("text/html; charset=utf-8", "<html>Sign in to this network</html>", FailureKind.PROVIDER_FAILED),
        ("application/octet-stream", "\x00\x01\x02", FailureKind.PROVIDER_FAILED),
    ],
)
async def test_a_200_that_is_no_stream_is_an_error(
    wire: Wire, content_type: str, body: str, kind: FailureKind
) -> None:
    with strict_server(Frames(frames=(body,), end="close", content_type=content_type)) as server:
        async with model_at(server.base_url, wire) as model:
            assert (await failure(model)).kind is kind


@BOTH
async def test_a_redirect_is_not_followed(wire: Wire) -> None:
    with strict_server() as other:
        moved = Refuse(status=307, headers={"Location": f"{other.base_url}/chat/completions"})
        with strict_server(moved) as server:
            async with model_at(server.base_url, wire) as model:
                failed = await failure(model)

    assert failed.kind is FailureKind.PROVIDER_FAILED
    assert "base_url may be wrong" in (failed.detail or "")
    assert other.requests == []


async def test_an_endless_error_body_is_read_only_so_far() -> None:
    with strict_server(Refuse(status=500, body="no " * 10_000_000)) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS) as model:
            failed = await failure(model)

    assert failed.kind is FailureKind.PROVIDER_FAILED
    assert len(failed.detail or "") <= 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "nonsense://x:y"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem"),
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
    ],
)
async def test_a_broken_environment_is_said_and_not_fatal(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    async with model_at("http://127.0.0.1:9/v1", Wire.CHAT_COMPLETIONS) as model:
        failed = await failure(model)

    assert failed.kind is FailureKind.UNREACHABLE
