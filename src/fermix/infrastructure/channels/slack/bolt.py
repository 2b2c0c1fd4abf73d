"""Slack's own framework between the webhook and the inbox: it reads calls, and our one listener only admits.

With `process_before_response` a call is answered when the listener has returned, and with what it returned: so
nothing is acknowledged that was not stored. What the framework does beside that, look up who we are, check
signatures and sort out our own messages, is done before it or behind it.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from fermix.infrastructure.channels.slack.web_api import library_log

_ANY = re.compile(".*")

Taker = Callable[[Mapping[str, Any]], Awaitable[int]]
"""Takes what a call holds; returns the status that it is answered with."""


class SlackApp:
    """The framework's app. `take_event` gets events, `take_command` native slash commands."""

    def __init__(self, *, take_event: Taker, take_command: Taker) -> None:
        self._app = AsyncApp(
            name=library_log.name,  # the framework sets the level of the logger of this name
            logger=library_log,
            client=AsyncWebClient(logger=library_log, retry_handlers=[]),
            process_before_response=True,
            signing_secret="",
            authorize=_as_anybody,
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
            ssl_check_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )

        async def on_event(body: dict[str, Any]) -> BoltResponse:
            return BoltResponse(status=await take_event(body))

        async def on_command(body: dict[str, Any]) -> BoltResponse:
            return BoltResponse(status=await take_command(body))

        self._app.event(_ANY)(on_event)
        self._app.command(_ANY)(on_command)
        self._app.error(_raise_again)

    async def dispatch(self, body: str, content_type: str) -> int:
        """The status that answers a call; its shape must be known to be right."""
        answer = await self._app.async_dispatch(
            AsyncBoltRequest(body=body, headers={"content-type": content_type})
        )
        return int(answer.status)


async def _as_anybody(context: AsyncBoltContext) -> AuthorizeResult:
    """The framework needs no token of ours: nothing is sent from within it."""
    return AuthorizeResult(enterprise_id=context.enterprise_id, team_id=context.team_id)


async def _raise_again(error: Exception) -> None:
    """Without this the framework would write the error down and answer 500."""
    raise error
