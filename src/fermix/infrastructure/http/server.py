"""Running the HTTP server inside our own task tree; the daemon, not the server, owns the signals."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import anyio
import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from fermix.infrastructure.http.access import Access
from fermix.infrastructure.http.app import Endpoints, build_app
from fermix.infrastructure.http.connection import BoundedConnection
from fermix.infrastructure.http.listening import listen

MAX_CONNECTIONS = 256
"""Open at once; the longest idle one makes room for another. With so many requests under way the answer is 503."""

_KEEP_ALIVE_SECONDS = 15
_MAX_HEADER_BYTES = 32 * 1024
_GRACE_SECONDS = 2
_STOP_SECONDS = 5


async def serve_http(
    endpoints: Endpoints,
    *,
    bind: str,
    port: int,
    token: str,
    on_bound: Callable[[int], None],
    request_seconds: float = BoundedConnection.request_seconds,
) -> None:
    """Serve until cancelled; then answers under way get a moment, and the port is free when this returns.

    Args:
        endpoints: what is served.
        bind: the address to listen on.
        port: the port; 0 picks a free one.
        token: the home's bearer token, for callers that are not on this machine.
        on_bound: told the port once connections are accepted.
        request_seconds: how long the headers of a request may take to arrive.

    Raises:
        PortTaken: another process has the port; it knows which.
        CannotListen: the system refuses for another reason.
    """
    listener = await anyio.to_thread.run_sync(listen, bind, port)
    with listener:
        app = build_app(endpoints, access=Access(bind=bind, token=token))
        server = _Server(_config(app, request_seconds))
        async with anyio.create_task_group() as tasks:
            stopping = anyio.CancelScope(shield=True)
            tasks.start_soon(_run, server, listener, stopping, name="http server")
            try:
                on_bound(listener.getsockname()[1])
                await anyio.sleep_forever()
            finally:
                # Cancelling the server's task would leave its connections open: it ends by itself when told to.
                server.should_exit = True
                stopping.deadline = anyio.current_time() + _STOP_SECONDS


class _Server(uvicorn.Server):
    @override
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # a generator there
        return nullcontext()


async def _run(server: uvicorn.Server, listener: socket.socket, stopping: anyio.CancelScope) -> None:
    with stopping:
        await server.serve(sockets=[listener])
    if not server.should_exit:
        raise RuntimeError("the HTTP server ended by itself")


def _config(app: ASGIApp, request_seconds: float) -> uvicorn.Config:
    connection = type("Connection", (BoundedConnection,), {"request_seconds": request_seconds})
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
    )
