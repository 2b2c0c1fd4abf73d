"""The endpoints, and nothing of the network below them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fermix.application.ports.clock import Clock
from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    Health,
    HealthView,
    ProviderHealth,
    Readiness,
)
from fermix.application.ports.telemetry import Exposition
from fermix.application.ports.webhooks import Webhook
from fermix.infrastructure.http.access import Access
from fermix.infrastructure.http.guards import BodyLimited, Guarded, json_error
from fermix.infrastructure.http.webhooks import webhook_routes

_LIVE = "/health/live"
_METRICS = "/metrics"
_ANSWER_SECONDS = 5
SILENT_BYTES = 4 * 1024 * 1024
"""Longest body that is announced to a webhook nobody serves; it is not read."""
_Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

MetricsSource: TypeAlias = Callable[[], Awaitable[Exposition]]
"""Asked for the metrics each time a monitor comes by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute paths: of the home, its configuration, and the agent's workspace."""

    home: str
    config: str
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What is served.

    Attributes:
        control: asked for health.
        metrics: asked for metrics.
        clock: for time stamps.
        webhooks: endpoints of channels.
        silent: paths of webhooks whose channel is not served.
        places: where the owner finds what is served and what it is configured by; `None`: nobody is told.
    """

    control: HealthView
    metrics: MetricsSource
    clock: Clock
    webhooks: Sequence[Webhook] = ()
    silent: Sequence[str] = ()
    places: Places | None = None


def build_app(endpoints: Endpoints, *, access: Access) -> ASGIApp:
    """The application that a server runs.

    Open to everybody are liveness, which says nothing but that the process answers, and webhooks, which check
    their platform's signature.
    """
    control, clock, webhooks = endpoints.control, endpoints.clock, endpoints.webhooks
    ready = _ready_endpoint(control, clock, endpoints.places)
    app = Starlette(
        routes=[
            Route(_LIVE, _live_endpoint(control, clock), methods=["GET"]),
            Route("/health/ready", ready, methods=["GET"]),
            Route("/health", ready, methods=["GET"]),
            Route(_METRICS, _metrics_endpoint(endpoints.metrics), methods=["GET"]),
            *webhook_routes(webhooks, endpoints.silent),
        ],
        exception_handlers={HTTPException: _refused, Exception: _broken},
    )
    app.router.redirect_slashes = False
    # What nobody reads may be as long as a platform makes it: a refusal would count as a failure of ours there.
    longest = dict.fromkeys(endpoints.silent, SILENT_BYTES)
    longest.update((webhook.path, webhook.max_bytes) for webhook in webhooks)
    limited = BodyLimited(app=app, more_bytes=longest)
    open_paths = frozenset({_LIVE, *(webhook.path for webhook in webhooks), *endpoints.silent})
    return Guarded(app=limited, access=access, open_paths=open_paths)


def _live_endpoint(control: HealthView, clock: Clock) -> _Endpoint:
    async def live(_request: Request) -> Response:
        return _answer(200, {"status": "ok", **_about(control, clock)})

    return live


def _ready_endpoint(control: HealthView, clock: Clock, places: Places | None) -> _Endpoint:
    told = {} if places is None else _places(places)

    async def ready(_request: Request) -> Response:
        health = None
        with anyio.move_on_after(_ANSWER_SECONDS):
            health = await control.health()
        if health is None:
            health = Health(status=Readiness.DEGRADED, providers=(), channels=(), failures=("health",))
        status = 200 if health.status is Readiness.READY else 503
        return _answer(
            status, {"status": health.status, **_about(control, clock), **_details(health), **told}
        )

    return ready


def _metrics_endpoint(source: MetricsSource) -> _Endpoint:
    async def metrics(_request: Request) -> Response:
        found = None
        with anyio.move_on_after(_ANSWER_SECONDS):
            found = await source()
        if found is None:
            return json_error(503, "The metrics did not come in time.")
        return Response(found.body, headers={"Content-Type": found.content_type, "Cache-Control": "no-store"})

    return metrics


def _about(control: HealthView, clock: Clock) -> dict[str, object]:
    return {"app": "fermix", "version": control.identify().version, "timestamp": clock.now().isoformat()}


def _places(places: Places) -> dict[str, object]:
    return {
        "config_path": places.config,
        "config": {"home": places.home, "path": places.config, "workspace": places.workspace},
    }


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
        "auth_mode": provider.auth_mode,
        "primary": provider.primary,
    }


def _channel(channel: ChannelHealth) -> dict[str, object]:
    told: dict[str, object] = {
        "name": channel.name,
        "status": channel.status,
        "detail": channel.detail,
        "enabled": channel.status is not ChannelStatus.DISABLED,
        "mode": channel.mode,
        "process_alive": channel.process_alive,
    }
    if channel.unreadable:
        told["unreadable"] = channel.unreadable
    if channel.remarks:
        told["remarks"] = [remark.text for remark in channel.remarks]
    return told


def _answer(status: int, content: dict[str, object]) -> JSONResponse:
    return JSONResponse(content, status_code=status, headers={"Cache-Control": "no-store"})


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return json_error(error.status_code, error.detail, headers=dict(error.headers or {}))


async def _broken(_request: Request, _error: Exception) -> Response:
    return json_error(500, "The request failed; the log has the reason.")
