"""Connections as channels have them: straight or through a proxy, and what an error says of a request on them."""

import ssl
from collections.abc import Callable

import httpx

from fermix.infrastructure.http_client.transport import PooledTransport

NOT_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.InvalidURL,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""After these no byte of the request has reached its server. After any other `httpx.HTTPError` nobody knows."""


class UnusableProxy(Exception):
    """There is no going through it; nothing left."""


def open_transport(
    *, connections: int, idle_seconds: float, tls: Callable[[], ssl.SSLContext], proxy: str | None
) -> httpx.AsyncBaseTransport:
    """Connections that are opened as they are needed; no request is made twice, and no redirect followed.

    Args:
        connections: at most so many at once.
        idle_seconds: how long one is kept that nobody uses.
        tls: makes what secures a connection; straight ones ask for it when the first of them needs it.
        proxy: the address of one that everything goes through.

    Raises:
        UnusableProxy: the address names none.
    """
    if not proxy:
        return PooledTransport(connections=connections, idle_seconds=idle_seconds, tls=tls)
    limits = httpx.Limits(
        max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=idle_seconds
    )
    try:
        return httpx.AsyncHTTPTransport(verify=tls(), limits=limits, proxy=proxy, trust_env=False)
    except (ImportError, ValueError, httpx.InvalidURL) as exc:
        # The error's words are not passed on: the address of a proxy may hold a password.
        raise UnusableProxy("the proxy that the environment names cannot be used") from exc
