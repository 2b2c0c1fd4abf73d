"""Endpoints of channels on the HTTP server: the request as it came in, the channel's answer out."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fermix.application.ports.webhooks import Webhook, WebhookRequest

ANSWER_SECONDS = 20.0
"""How long a channel may take; the platforms give up after 3 s (Slack) to 20 s (Meta)."""

_RETRY = {"Retry-After": "5"}


def webhook_routes(
    webhooks: Sequence[Webhook], silent: Iterable[str] = (), *, answer_seconds: float = ANSWER_SECONDS
) -> list[Route]:
    """The routes of channels that are served, and of paths whose channel is not.

    Args:
        webhooks: endpoints of served channels.
        silent: paths that are answered 200 without reading the request, so that a platform which still calls a
            channel that was switched off does not give its endpoint up.
        answer_seconds: how long a channel may take before its platform is told to call again.
    """
    taken = {webhook.path for webhook in webhooks}
    served = [
        Route(each.path, _endpoint(each, answer_seconds), methods=sorted(each.methods)) for each in webhooks
    ]
    return served + [Route(path, _silence, methods=["GET", "POST"]) for path in silent if path not in taken]


def _endpoint(webhook: Webhook, answer_seconds: float) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = await request.body()
        found = None
        with anyio.move_on_after(answer_seconds):
            found = await webhook.answer(
                WebhookRequest(
                    method=request.method,
                    query={name: request.query_params.getlist(name)[0] for name in request.query_params},
                    headers={name: ", ".join(request.headers.getlist(name)) for name in request.headers},
                    body=body,
                )
            )
        if found is None:
            return Response("", status_code=503, headers=_RETRY)
        headers = {"Content-Type": found.content_type, **(_RETRY if found.status == 503 else {})}
        return Response(found.body, status_code=found.status, headers=headers)

    return answer


async def _silence(_request: Request) -> Response:
    return Response("")
