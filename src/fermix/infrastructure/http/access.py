"""Who may ask over HTTP: the one seam before every endpoint that is not open to all."""

import hmac
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_HOST = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,255}")
_LOCAL_NAMES = frozenset({"localhost", "localhost."})
_FORWARDING = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
)


class RefusalStatus(IntEnum):
    """The status of a refused request."""

    UNAUTHORIZED = 401
    FORBIDDEN = 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not served; `text` is for whoever asked."""

    status: RefusalStatus
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Decides about one server's requests.

    A web page may make its visitor's browser ask this machine, and may rename its own host to this machine's
    address first (DNS rebinding). Neither can change the `Host` and `Origin` that the browser sends, so these must
    be ours. They prove nothing about other programs: whoever is not on this machine shows the token.

    Attributes:
        bind: the address the server listens on.
        token: the home's bearer token.
    """

    bind: str
    token: str

    def decide(self, headers: Headers, *, reached_at: str | None) -> Refusal | None:
        """`None` when the request may be served.

        Args:
            headers: of the request.
            reached_at: the address of this machine that the connection came in on.
        """
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(_hostname(hosts[0]), reached_at):
            return Refusal(
                status=RefusalStatus.FORBIDDEN,
                text="The Host header does not name this server; ask for localhost or the address it listens on.",
            )
        if not _is_same_origin(headers.getlist("origin"), hosts[0]):
            return Refusal(status=RefusalStatus.FORBIDDEN, text="Web pages of other origins are not served.")
        if self._needs_token(headers) and not self._has_token(headers.getlist("authorization")):
            return Refusal(
                status=RefusalStatus.UNAUTHORIZED,
                text="Show the token in the file http_token of the home: Authorization: Bearer TOKEN.",
            )
        return None

    def _is_ours(self, hostname: str | None, reached_at: str | None) -> bool:
        if hostname is None:
            return False
        if hostname in _LOCAL_NAMES:
            return True
        address = _address(hostname)
        if address is None:
            return False
        return address.is_loopback or address in {_address(self.bind), _address(reached_at or "")}

    def _needs_token(self, headers: Headers) -> bool:
        return not is_loopback(self.bind) or any(name in headers for name in _FORWARDING)

    def _has_token(self, shown: Sequence[str]) -> bool:
        if len(shown) != 1:
            return False
        scheme, _, credential = shown[0].partition(" ")
        same = hmac.compare_digest(credential.strip().encode(), self.token.encode())
        return same and scheme.lower() == "bearer"


def is_loopback(bind: str) -> bool:
    """Whether only programs of this machine reach a server that listens on `bind`."""
    address = _address(bind)
    return bind == "localhost" or (address is not None and address.is_loopback)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as it is compared: IPv4 in its IPv6 form (two-stack sockets tell it so) is IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _hostname(host: str) -> str | None:
    """The name in a `Host` header, without its port."""
    if not _HOST.fullmatch(host):
        return None
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_same_origin(origins: Sequence[str], host: str) -> bool:
    """No `Origin` (programs, a page of ours that reads), or exactly the host that was asked."""
    return all(origin.lower() in {f"http://{host.lower()}", f"https://{host.lower()}"} for origin in origins)
