from dataclasses import dataclass, field

import anyio
import httpx
import pytest
from starlette.applications import Starlette

from fermix.application.ports.webhooks import WebhookAnswer, WebhookRequest
from fermix.infrastructure.http.webhooks import webhook_routes

pytestmark = pytest.mark.anyio


@dataclass(slots=True, kw_only=True)
class _Stuck:
    """A channel that never answers."""

    path: str = "/webhook/stuck"
    methods: frozenset[str] = frozenset({"POST"})
    max_bytes: int = 10
    cancelled: anyio.Event = field(default_factory=anyio.Event)

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        return WebhookAnswer()


async def test_a_channel_that_takes_too_long_is_cancelled_and_its_platform_told_to_call_again() -> None:
    stuck = _Stuck()
    app = Starlette(routes=list(webhook_routes([stuck], answer_seconds=0.01)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        with anyio.fail_after(5):
            answer = await client.post("/webhook/stuck")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert stuck.cancelled.is_set()
