"""Connections through a proxy, or none."""

import ssl

import httpx
import pytest

from fermix.infrastructure.http_client.opening import UnusableProxy, open_transport
from fermix.infrastructure.http_client.transport import PooledTransport


def opened(proxy: str | None) -> httpx.AsyncBaseTransport:
    return open_transport(connections=2, idle_seconds=1, tls=ssl.create_default_context, proxy=proxy)


@pytest.mark.parametrize("proxy", [None, ""])
def test_without_a_proxy_connections_are_our_own(proxy: str | None) -> None:
    assert isinstance(opened(proxy), PooledTransport)


def test_nothing_secures_a_connection_before_there_is_one() -> None:
    def never() -> ssl.SSLContext:
        raise AssertionError

    open_transport(connections=2, idle_seconds=1, tls=never, proxy=None)


def test_with_a_proxy_they_go_through_it() -> None:
    assert isinstance(opened("http://127.0.0.1:1"), httpx.AsyncHTTPTransport)


@pytest.mark.parametrize("proxy", ["gopher://user:secret@127.0.0.1:1", "http://user:secret@[::1:x"])
def test_an_address_that_is_no_proxy_is_told_without_its_password(proxy: str) -> None:
    with pytest.raises(UnusableProxy) as caught:
        opened(proxy)
    assert "secret" not in str(caught.value)
