"""What stands before the endpoints: the access seam, and the limit on bodies."""

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fermix.infrastructure.http.access import Access, RefusalStatus

MAX_BODY_BYTES = 1024 * 1024
"""A longer body is refused before it is read."""

BODY_SECONDS = 30.0
"""How long the body of a request may take to arrive."""

# Such a connection cannot be used again: what follows on it is the body nobody reads.
_CLOSE = {"Connection": "close"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """An application behind the access seam.

    Attributes:
        open_paths: endpoints that everybody may ask.
    """

    app: ASGIApp
    access: Access
    open_paths: AbstractSet[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in self.open_paths:
            reached = scope.get("server")
            refusal = self.access.decide(Headers(scope=scope), reached_at=reached[0] if reached else None)
            if refusal is not None:
                unauthorized = refusal.status is RefusalStatus.UNAUTHORIZED
                headers = {"WWW-Authenticate": "Bearer"} if unauthorized else {}
                answer = json_error(refusal.status, refusal.text, headers=headers)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimited:
    """An application that no body too long reaches, announced or not, and none that dribbles in.

    Attributes:
        max_bytes: longest body.
        more_bytes: longest body of endpoints, by path, that take longer ones.
    """

    app: ASGIApp
    max_bytes: int = MAX_BODY_BYTES
    more_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    max_seconds: float = BODY_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        longest = self.more_bytes.get(scope["path"], self.max_bytes)
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > longest:
            await json_error(413, _too_long(longest), headers=_CLOSE)(scope, receive, send)
            return
        await self.app(scope, self._counted(receive, longest), send)

    def _counted(self, receive: Receive, longest: int) -> Receive:
        left, more = longest, True
        end = anyio.current_time() + self.max_seconds

        async def next_message() -> Message:
            nonlocal left, more
            message: Message | None = None
            with anyio.CancelScope(deadline=end if more else math.inf):
                message = await receive()
            if message is None:
                raise HTTPException(408, "The body did not arrive in time.", headers=_CLOSE)
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, _too_long(longest), headers=_CLOSE)
            more = message.get("more_body", False)
            return message

        return next_message


def _too_long(longest: int) -> str:
    return f"The body may have at most {longest} bytes."


def json_error(status: int, text: str, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that is not served."""
    return JSONResponse({"error": text}, status_code=status, headers=headers)
