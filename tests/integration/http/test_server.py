import os
import re
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio
import httpx
import pytest

from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    Health,
    Identity,
    OwnerKind,
    ProviderHealth,
    Readiness,
)
from fermix.application.ports.remarks import Remark
from fermix.application.ports.telemetry import Exposition
from fermix.infrastructure.http.app import Endpoints, Places
from fermix.infrastructure.http.listening import CannotListen, PortTaken
from fermix.infrastructure.http.server import MAX_CONNECTIONS, serve_http
from fermix.infrastructure.system.clock import SystemClock

pytestmark = pytest.mark.anyio

_TOKEN = "t" * 40
_READY = Health(
    status=Readiness.READY,
    providers=(
        ProviderHealth(name="local", model="smol", status=Readiness.READY, auth_mode="api_key", primary=True),
    ),
    channels=(
        ChannelHealth(name="telegram", status=ChannelStatus.READY, mode="polling"),
        ChannelHealth(name="slack", status=ChannelStatus.DISABLED, mode="webhook"),
    ),
)


@dataclass
class _Gateway:
    """A gateway of which only the health is of interest."""

    health_now: Health = _READY
    hangs: bool = False
    never: anyio.Event = field(default_factory=anyio.Event)

    def identify(self) -> Identity:
        return Identity(
            instance="i", epoch=1, home="/h", version="9.8.7", pid=os.getpid(), kind=OwnerKind.DAEMON
        )

    async def health(self) -> Health:
        if self.hangs:
            await self.never.wait()
        return self.health_now


async def _metrics() -> Exposition:
    return Exposition(body=b"fermix_up 1\n", content_type="text/plain; version=0.0.4")


def _endpoints(gateway: _Gateway) -> Endpoints:
    places = Places(home="/h", config="/h/config.toml", workspace="/h/workspace")
    return Endpoints(control=gateway, metrics=_metrics, clock=SystemClock(), places=places)


@asynccontextmanager
async def _serving(
    gateway: _Gateway | None = None, *, bind: str = "127.0.0.1", request_seconds: float = 10
) -> AsyncGenerator[int]:
    ports: list[int] = []
    bound = anyio.Event()

    def on_bound(port: int) -> None:
        ports.append(port)
        bound.set()

    async def serve() -> None:
        await serve_http(
            _endpoints(gateway or _Gateway()),
            bind=bind,
            port=0,
            token=_TOKEN,
            on_bound=on_bound,
            request_seconds=request_seconds,
        )

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            await bound.wait()
            yield ports[0]
            tasks.cancel_scope.cancel()


async def _get(port: int, path: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.get(f"http://127.0.0.1:{port}{path}", headers=sent)


def _ignore(_port: int) -> None:
    """Nobody waits for this server."""


async def _raw(port: int, request: bytes) -> bytes:
    """What the server writes until it closes the connection."""
    answer = b""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


async def test_live_says_that_the_process_answers() -> None:
    async with _serving() as port:
        answer = await _get(port, "/health/live")

    body = answer.json()
    assert answer.status_code == 200
    assert datetime.fromisoformat(body.pop("timestamp")).tzinfo == UTC
    assert body == {"status": "ok", "app": "fermix", "version": "9.8.7"}
    assert "server" not in answer.headers


@pytest.mark.requirement("health.ready.reports_each_channel")
@pytest.mark.parametrize("path", ["/health/ready", "/health"])
async def test_ready_reports_providers_and_channels(path: str) -> None:
    async with _serving() as port:
        answer = await _get(port, path)

    body = answer.json()
    del body["timestamp"]
    assert answer.status_code == 200
    assert body == {
        "status": "ready",
        "app": "fermix",
        "version": "9.8.7",
        "failures": [],
        "config_path": "/h/config.toml",
        "config": {"home": "/h", "path": "/h/config.toml", "workspace": "/h/workspace"},
        "providers": [
            {
                "name": "local",
                "model": "smol",
                "status": "ready",
                "detail": None,
                "auth_mode": "api_key",
                "primary": True,
            }
        ],
        "channels": [
            channel("telegram", "ready", mode="polling", process_alive=True),
            channel("slack", "disabled", mode="webhook", enabled=False),
        ],
    }


def channel(name: str, status: str, **more: object) -> dict[str, object]:
    """A channel as the payload has it."""
    told = {
        "name": name,
        "status": status,
        "detail": None,
        "enabled": True,
        "mode": None,
        "process_alive": None,
    }
    return {**told, **more}


@pytest.mark.parametrize(
    ("status", "mode", "alive"),
    [
        (ChannelStatus.READY, "polling", True),
        (ChannelStatus.DEGRADED, "polling", False),
        (ChannelStatus.DEGRADED, "gateway", False),
        (ChannelStatus.READY, "subprocess", True),
        (ChannelStatus.READY, "webhook", None),
        (ChannelStatus.DEGRADED, "webhook", None),
        (ChannelStatus.SETUP_REQUIRED, "polling", None),
        (ChannelStatus.DISABLED, "gateway", None),
        (ChannelStatus.READY, None, None),
    ],
)
async def test_a_channel_that_goes_and_listens_is_alive_or_not_and_one_that_is_called_is_neither(
    status: ChannelStatus, mode: str | None, alive: bool | None
) -> None:
    health = Health(
        status=Readiness.READY,
        providers=(),
        channels=(ChannelHealth(name="one", status=status, mode=mode),),
    )
    async with _serving(_Gateway(health)) as port:
        (told,) = (await _get(port, "/health/ready")).json()["channels"]
    assert told["process_alive"] is alive
    assert told["enabled"] is (status is not ChannelStatus.DISABLED)


async def test_what_a_channel_remarks_is_told_and_makes_nothing_unready() -> None:
    remarks = (Remark(text="its privacy mode is on"), Remark(text="nobody calls", is_trouble=True))
    one = ChannelHealth(name="telegram", status=ChannelStatus.READY, remarks=remarks)
    async with _serving(_Gateway(Health(status=Readiness.READY, providers=(), channels=(one,)))) as port:
        answer = await _get(port, "/health/ready")
    assert answer.status_code == 200
    assert answer.json()["channels"][0]["remarks"] == ["its privacy mode is on", "nobody calls"]


async def test_a_call_finds_room_where_idle_lines_hold_all_there_is() -> None:
    async with _serving() as port, AsyncExitStack() as lines:
        idle = [
            await lines.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
            for _ in range(MAX_CONNECTIONS)
        ]
        assert (await _get(port, "/health/live")).status_code == 200
        with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
            await idle[0].receive()
        await idle[-1].send(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await idle[-1].receive()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("status", [Readiness.DEGRADED, Readiness.SETUP_REQUIRED])
async def test_what_is_not_ready_answers_503_and_names_the_failures(status: Readiness) -> None:
    health = Health(status=status, providers=(), channels=(), failures=("channel:telegram",))
    async with _serving(_Gateway(health)) as port:
        answer = await _get(port, "/health/ready")

    assert answer.status_code == 503
    assert answer.json()["status"] == status
    assert answer.json()["failures"] == [{"component": "channel:telegram"}]


async def test_a_health_that_hangs_is_degraded() -> None:
    async with _serving(_Gateway(hangs=True)) as port, httpx.AsyncClient(timeout=15) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/health")

    assert (answer.status_code, answer.json()["failures"]) == (503, [{"component": "health"}])


async def test_unknown_paths_and_methods_are_answered_in_json() -> None:
    async with _serving() as port, httpx.AsyncClient(trust_env=False) as client:
        unknown = await client.get(f"http://127.0.0.1:{port}/nothing")
        slash = await client.get(f"http://127.0.0.1:{port}/health/")
        method = await client.post(f"http://127.0.0.1:{port}/health/live")
        head = await client.head(f"http://127.0.0.1:{port}/health/live")

    assert (unknown.status_code, unknown.json()) == (404, {"error": "Not Found"})
    assert slash.status_code == 404
    assert (method.status_code, method.json()) == (405, {"error": "Method Not Allowed"})
    assert "GET" in method.headers["allow"]
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("path", ["/health/ready", "/health", "/nothing"])
async def test_a_page_that_took_over_a_name_is_refused_everywhere_but_at_live(path: str) -> None:
    async with _serving() as port:
        refused = await _get(port, path, host=f"evil.example:{port}")
        live = await _get(port, "/health/live", host=f"evil.example:{port}")

    assert refused.status_code == 403
    assert "Host" in refused.json()["error"]
    assert live.status_code == 200


async def test_a_page_of_another_origin_is_refused() -> None:
    async with _serving() as port:
        foreign = await _get(port, "/health", origin="https://evil.example")
        neighbour = await _get(port, "/health", origin="http://127.0.0.1:1")
        own = await _get(port, "/health", origin=f"http://127.0.0.1:{port}")

    assert [foreign.status_code, neighbour.status_code, own.status_code] == [403, 403, 200]


async def test_behind_a_proxy_the_token_is_needed() -> None:
    async with _serving() as port:
        without = await _get(port, "/health", x_forwarded_for="203.0.113.9")
        wrong = await _get(port, "/health", x_forwarded_for="203.0.113.9", authorization="Bearer " + "u" * 40)
        right = await _get(port, "/health", x_forwarded_for="203.0.113.9", authorization=f"Bearer {_TOKEN}")
        live = await _get(port, "/health/live", x_forwarded_for="203.0.113.9")

    assert [r.status_code for r in (without, wrong, right, live)] == [401, 401, 200, 200]
    assert without.headers["www-authenticate"] == "Bearer"


async def test_beyond_loopback_the_token_is_needed_from_everybody() -> None:
    async with _serving(bind="0.0.0.0") as port:
        without = await _get(port, "/health")
        right = await _get(port, "/health", authorization=f"bearer {_TOKEN}")

    assert [without.status_code, right.status_code] == [401, 200]


@pytest.mark.parametrize("head", ["Content-Length: 1048577", "Content-Length: 99999999999999999999"])
async def test_a_body_that_is_too_long_is_refused_before_it_is_read(head: str) -> None:
    async with _serving() as port:
        request = f"GET /health HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n"
        answer = await _raw(port, request.encode())

    assert answer.startswith(b"HTTP/1.1 413")
    assert b"at most 1048576 bytes" in answer


async def test_header_blocks_are_bounded() -> None:
    async with _serving() as port:
        answer = await _raw(port, b"GET /health HTTP/1.1\r\nX: " + b"y" * 200_000)

    assert answer.startswith(b"HTTP/1.1 400") or answer == b""


@pytest.mark.parametrize("said", [b"", b"GET /health HTTP/1.1\r\nHo"])
async def test_a_client_that_does_not_finish_its_request_is_let_go(said: bytes) -> None:
    async with _serving(request_seconds=0.1) as port:
        with anyio.fail_after(5):
            assert await _raw(port, said) == b""


async def test_a_body_that_nobody_reads_does_not_hold_the_connection() -> None:
    async with _serving(request_seconds=0.1) as port:
        with anyio.fail_after(5):
            answer = await _raw(
                port, b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc"
            )

    assert answer.startswith(b"HTTP/1.1 200")


async def test_metrics_are_for_monitors_that_may_ask() -> None:
    async with _serving() as port:
        answer = await _get(port, "/metrics")
        foreign = await _get(port, "/metrics", Host="evil.example")
        forwarded = await _get(port, "/metrics", X_Forwarded_For="192.0.2.7")
        shown = await _get(port, "/metrics", X_Forwarded_For="192.0.2.7", Authorization=f"Bearer {_TOKEN}")

    assert (answer.status_code, answer.text) == (200, "fermix_up 1\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    assert answer.headers["cache-control"] == "no-store"
    assert [foreign.status_code, forwarded.status_code, shown.status_code] == [403, 401, 200]


async def test_a_taken_port_names_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken) as caught:
            await serve_http(
                _endpoints(_Gateway()),
                bind="127.0.0.1",
                port=port,
                token=_TOKEN,
                on_bound=_ignore,
            )

    assert caught.value.port == port
    if sys.platform == "linux":
        assert caught.value.holder is not None
        assert caught.value.holder.pid == os.getpid()
        assert re.search(rf"\(process {os.getpid()}\) has it", str(caught.value))


async def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(CannotListen, match=r"192\.0\.2\.1"):
        await serve_http(
            _endpoints(_Gateway()),
            bind="192.0.2.1",
            port=0,
            token=_TOKEN,
            on_bound=_ignore,
        )


async def test_who_is_told_the_port_and_fails_ends_the_serving() -> None:
    told: list[int] = []

    def fail(port: int) -> None:
        told.append(port)
        raise OSError("there is no room to note it")

    with anyio.fail_after(5), pytest.RaisesGroup(OSError):
        await serve_http(_endpoints(_Gateway()), bind="127.0.0.1", port=0, token=_TOKEN, on_bound=fail)
    with pytest.raises(OSError, match="connect"):
        await anyio.connect_tcp("127.0.0.1", told[0])


async def test_the_port_is_free_again_when_serving_ends_with_clients_connected() -> None:
    async with _serving() as port:
        idle = await anyio.connect_tcp("127.0.0.1", port)
        await _get(port, "/health/live")

    async with idle:
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await idle.receive()
    with socket.create_server(("127.0.0.1", port)):
        pass
