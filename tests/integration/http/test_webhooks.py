"""Endpoints of channels over a real connection: what reaches them, what does not, and what is answered."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx
import pytest

from fermix.application.ports.control import Health, Identity, OwnerKind, Readiness
from fermix.application.ports.telemetry import Exposition
from fermix.application.ports.webhooks import WebhookAnswer, WebhookRequest
from fermix.infrastructure.http.app import Endpoints
from fermix.infrastructure.http.server import serve_http
from fermix.infrastructure.system.clock import SystemClock

pytestmark = pytest.mark.anyio


class _Control:
    def identify(self) -> Identity:
        return Identity(instance="i", epoch=1, home="/h", version="1", pid=1, kind=OwnerKind.DAEMON)

    async def health(self) -> Health:
        return Health(status=Readiness.READY, providers=(), channels=())


async def _metrics() -> Exposition:
    return Exposition(body=b"", content_type="text/plain")


@dataclass(slots=True, kw_only=True)
class _Bell:
    """A webhook that keeps what it heard."""

    path: str = "/webhook/bell"
    methods: frozenset[str] = frozenset({"GET", "POST"})
    max_bytes: int = 2 * 1024 * 1024
    answers: WebhookAnswer = field(default_factory=lambda: WebhookAnswer(body=b"rung"))
    heard: list[WebhookRequest] = field(default_factory=list[WebhookRequest])

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        self.heard.append(request)
        return self.answers


@asynccontextmanager
async def _serving(bell: _Bell, *, silent: tuple[str, ...] = ()) -> AsyncGenerator[httpx.AsyncClient]:
    ports: list[int] = []
    bound = anyio.Event()

    def on_bound(port: int) -> None:
        ports.append(port)
        bound.set()

    async def serve() -> None:
        endpoints = Endpoints(
            control=_Control(), metrics=_metrics, clock=SystemClock(), webhooks=(bell,), silent=silent
        )
        await serve_http(endpoints, bind="127.0.0.1", port=0, token="t" * 40, on_bound=on_bound)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            await bound.wait()
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports[0]}", trust_env=False) as client:
                yield client
            tasks.cancel_scope.cancel()


async def _status_of_announced(client: httpx.AsyncClient, path: str, length: int) -> int:
    """What is answered to a request whose body never comes."""
    port = client.base_url.port
    assert port is not None
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        return int((await stream.receive()).split()[1])


async def test_a_request_reaches_its_channel_as_it_came_and_the_channels_answer_goes_back() -> None:
    bell = _Bell(answers=WebhookAnswer(status=201, body=b"<a/>", content_type="text/xml"))
    async with _serving(bell) as client:
        answer = await client.post(
            "/webhook/bell?hub.mode=subscribe&x=1&x=2",
            content=b"\x00raw \xff",
            headers=[("X-Signature", "sha256=1"), ("X-Signature", "sha256=2")],
        )
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (201, b"<a/>", "text/xml")
    (request,) = bell.heard
    assert (request.method, request.body) == ("POST", b"\x00raw \xff")
    assert request.query == {"hub.mode": "subscribe", "x": "1"}
    assert request.headers["x-signature"] == "sha256=1, sha256=2"


async def test_a_platform_needs_no_token_and_calls_us_by_our_public_name() -> None:
    bell = _Bell()
    headers = {"Host": "bot.example.org", "X-Forwarded-For": "203.0.113.9"}
    async with _serving(bell) as client:
        assert (await client.post("/webhook/bell", headers=headers)).status_code == 200
        assert (await client.get("/health", headers=headers)).status_code == 403


async def test_each_endpoint_has_a_limit_of_its_own_and_a_longer_body_is_refused_unread() -> None:
    bell = _Bell()
    async with _serving(bell) as client:
        assert (await client.post("/webhook/bell", content=b"x" * bell.max_bytes)).status_code == 200
        assert await _status_of_announced(client, "/webhook/bell", bell.max_bytes + 1) == 413
        assert await _status_of_announced(client, "/health", 1024 * 1024 + 1) == 413
    assert len(bell.heard) == 1


async def test_other_methods_are_refused() -> None:
    bell = _Bell(methods=frozenset({"POST"}))
    async with _serving(bell) as client:
        assert (await client.get("/webhook/bell")).status_code == 405
    assert not bell.heard


async def test_a_channel_that_is_not_ready_makes_the_platform_call_again() -> None:
    async with _serving(_Bell(answers=WebhookAnswer(status=503))) as client:
        answer = await client.post("/webhook/bell")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


async def test_a_channel_that_is_switched_off_answers_and_reads_nothing() -> None:
    bell = _Bell()
    async with _serving(bell, silent=("/webhook/off", "/webhook/bell")) as client:
        off = await client.post("/webhook/off", content=b"{not json")
        assert (off.status_code, off.content) == (200, b"")
        assert await _status_of_announced(client, "/webhook/off", 3 * 1024 * 1024) == 200
        assert (await client.post("/webhook/bell")).content == b"rung"
        assert (await client.post("/webhook/nobody")).status_code == 404
