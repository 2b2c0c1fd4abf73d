"""Socket Mode: Slack makes its calls over a line that we open, for homes that nobody can reach from outside.

A call is acknowledged after it was taken, and one that was not is made again. Source:
https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable
from fermix.application.ports.webhooks import WebhookAnswer
from fermix.infrastructure.channels.slack.errors import NoAnswer, NotSent, Refused, listen_error
from fermix.infrastructure.channels.slack.web_api import SlackApi

CONNECTION_REFUSED = (
    "Slack refuses the app-level token: make one with the scope connections:write on the app's Basic Information "
    "page, set slack.app_token, then restart"
)
"""What its owner reads of it."""

_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"

Taker = Callable[[bytes, str], Awaitable[WebhookAnswer]]
"""Takes the body of a call and its type."""


class SlackSocket:
    """One line after another; Slack ends each after some hours."""

    def __init__(self, *, api: SlackApi, app_token: str) -> None:
        self._api = api
        self._app_token = app_token

    async def listen(self, take: Taker, listens: Callable[[], Awaitable[None]]) -> None:
        """Take what comes until cancelled; `listens` is called whenever Slack has said hello.

        Raises:
            ChannelRateLimited, ChannelRejected, ChannelUnreachable: as `Channel.run`.
        """
        while True:
            try:
                async with self._api.socket(self._app_token) as line:
                    await _until_renewed(line, take, listens)
            except (NotSent, NoAnswer, Refused) as exc:
                if isinstance(exc, Refused) and (exc.is_about_us or exc.code == "missing_scope"):
                    raise ChannelRejected(CONNECTION_REFUSED) from exc
                raise listen_error(exc) from exc


async def _until_renewed(
    line: aiohttp.ClientWebSocketResponse, take: Taker, listens: Callable[[], Awaitable[None]]
) -> None:
    """Take calls until Slack asks for another line.

    Raises:
        ChannelUnreachable: the line broke, or Slack ended it before it had said hello.
    """
    greeted = False
    async for message in line:
        envelope = _read(message)
        kind, name = envelope.get("type"), envelope.get("envelope_id")
        if kind == "disconnect" and greeted:
            return
        if kind == "hello":
            greeted = True
            await listens()
        if not isinstance(name, str):
            continue
        answer = await take(*_call(kind, envelope.get("payload")))
        if answer.status != 503:
            await _acknowledge(line, name)
    raise ChannelUnreachable("the line to Slack broke")


def _read(message: aiohttp.WSMessage) -> dict[str, Any]:
    try:
        envelope = json.loads(message.data)
    except (ValueError, TypeError, RecursionError):
        return {}
    return envelope if isinstance(envelope, dict) else {}


def _call(kind: object, payload: object) -> tuple[bytes, str]:
    """The call as it would have come to the webhook."""
    if kind == "slash_commands" and isinstance(payload, dict):
        fields = {name: value for name, value in payload.items() if isinstance(value, str)}
        return urlencode(fields, errors="replace").encode(), _FORM
    return json.dumps(payload).encode(), _JSON


async def _acknowledge(line: aiohttp.ClientWebSocketResponse, envelope: str) -> None:
    """Raises `ChannelUnreachable` when the line is gone; Slack then makes the call again."""
    try:
        await line.send_str(json.dumps({"envelope_id": envelope}))
    except (aiohttp.ClientError, OSError) as exc:
        raise ChannelUnreachable("the line to Slack broke") from exc
