"""The endpoints, and nothing of the network below them."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fermix.application.ports.clock import Clock
from fermix.application.ports.control import ChannelHealth, Health, HealthView, ProviderHealth, Readiness
from fermix.infrastructure.http.access import Access
from fermix.infrastructure.http.guards import BodyLimited, Guarded, json_error

_LIVE = "/health/live"
_HEALTH_SECONDS = 5
_Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def build_app(control: HealthView, *, clock: Clock, access: Access) -> ASGIApp:
    """The application that a server runs.

    Only liveness is open to everybody: it says nothing but that the process answers.
    """
    ready = _ready_endpoint(control, clock)
    app = Starlette(
        routes=[
            Route(_LIVE, _live_endpoint(control, clock), methods=["GET"]),
            Route("/health/ready", ready, methods=["GET"]),
            Route("/health", ready, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _refused, Exception: _broken},
    )
    app.router.redirect_slashes = False
    return Guarded(app=BodyLimited(app=app), access=access, open_paths=frozenset({_LIVE}))


def _live_endpoint(control: HealthView, clock: Clock) -> _Endpoint:
    async def live(_request: Request) -> Response:
        return _answer(200, {"status": "ok", **_about(control, clock)})

    return live


def _ready_endpoint(control: HealthView, clock: Clock) -> _Endpoint:
    async def ready(_request: Request) -> Response:
        health = None
        with anyio.move_on_after(_HEALTH_SECONDS):
            health = await control.health()
        if health is None:
            health = Health(status=Readiness.DEGRADED, providers=(), channels=(), failures=("health",))
        status = 200 if health.status is Readiness.READY else 503
        return _answer(status, {"status": health.status, **_about(control, clock), **_details(health)})

    return ready


def _about(control: HealthView, clock: Clock) -> dict[str, object]:
    return {"app": "fermix", "version": control.identify().version, "timestamp": clock.now().isoformat()}


def _details(health: Health) -> dict[str, object]:
    return {
        "failures": [{"component": component} for component in health.failures],
        "providers": [_provider(provider) for provider in health.providers],
        "channels": [_channel(channel) for channel in health.channels],
    }


def _provider(provider: ProviderHealth) -> dict[str, object]:
    return {
        "name": provider.name,
        "model": provider.model,
        "status": provider.status,
        "detail": provider.detail,
    }


def _channel(channel: ChannelHealth) -> dict[str, object]:
    unreadable = {"unreadable": channel.unreadable} if channel.unreadable else {}
    return {"name": channel.name, "status": channel.status, "detail": channel.detail, **unreadable}


def _answer(status: int, content: dict[str, object]) -> JSONResponse:
    return JSONResponse(content, status_code=status, headers={"Cache-Control": "no-store"})


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return json_error(error.status_code, error.detail, headers=dict(error.headers or {}))


async def _broken(_request: Request, _error: Exception) -> Response:
    return json_error(500, "The request failed; the log has the reason.")
