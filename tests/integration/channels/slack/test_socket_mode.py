"""Socket Mode: calls come over a line that we open, and are acknowledged when they were taken."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable, Offered, Verdict
from fermix.domain.ids import AccountId
from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.infrastructure.channels.slack.socket_mode import SlackSocket
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.infrastructure.channels.slack.webhook import SlackWebhook
from fermix.testing.channel_checks.check import DirectedInbox
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.slack_api.server import APP_TOKEN, TOKEN, SlackServer, slack_server

pytestmark = pytest.mark.anyio

EVENT = {
    "type": "event_callback",
    "team_id": "T0ACME",
    "event": {
        "type": "message", "channel": "D0OWN", "channel_type": "im", "user": "U0OWN", "text": "hi &amp; hello",
        "ts": "1790000000.000100",
    },
}  # fmt: skip
COMMAND = {
    "command": "/fermix",
    "text": "whoami",
    "user_id": "U0OWN",
    "channel_id": "D0OWN",
    "trigger_id": "13.7.a",
}


class HeldInbox(DirectedInbox):
    """Commits nothing until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = anyio.Event()

    @override
    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        verdicts = await super().accept(offered, cursor=cursor)
        if offered:
            await self.may_go_on.wait()
        return verdicts


@pytest.fixture
def served() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


@pytest.fixture
async def socketed(served: SlackServer, clock: StoppedClock) -> AsyncIterator[SlackChannel]:
    api = SlackApi(token=TOKEN, root=served.root)
    channel = SlackChannel(
        api=api,
        account=AccountId("1"),
        webhook=SlackWebhook(signing_secret="", clock=clock, command_names=frozenset({"whoami"})),
        blobs=MemoryBlobs(clock=clock),
        clock=clock,
        socket=SlackSocket(api=api, app_token=APP_TOKEN),
    )
    async with channel:
        yield channel


@asynccontextmanager
async def listening(channel: SlackChannel, served: SlackServer, inbox: DirectedInbox) -> AsyncGenerator[None]:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(channel.run, inbox, cursor=None))
            await served.until_opened(1)
            yield
            tasks.cancel_scope.cancel()


async def test_an_event_and_a_command_are_taken_and_then_acknowledged(
    socketed: SlackChannel, served: SlackServer
) -> None:
    inbox = HeldInbox()
    async with listening(socketed, served, inbox):
        served.says("events_api", envelope_id="e1", payload=EVENT, accepts_response_payload=False)
        await inbox.was_offered(1)
        assert served.world.acknowledged == []
        inbox.may_go_on.set()
        await served.until_acknowledged(1)
        served.says("slash_commands", envelope_id="e2", payload=COMMAND, accepts_response_payload=True)
        assert await served.until_acknowledged(2) == ["e1", "e2"]
    assert inbox.texts == ["hi & hello", "/whoami"]


async def test_a_call_that_was_not_taken_is_not_acknowledged(
    socketed: SlackChannel, served: SlackServer
) -> None:
    inbox = DirectedInbox(Verdict.UNAVAILABLE, Verdict.ACCEPTED)
    async with listening(socketed, served, inbox):
        for name in ("e1", "e2"):
            served.says("events_api", envelope_id=name, payload=EVENT)
        assert await served.until_acknowledged(1) == ["e2"]


async def test_garbage_on_the_line_holds_up_nobody(socketed: SlackChannel, served: SlackServer) -> None:
    inbox = DirectedInbox()
    async with listening(socketed, served, inbox):
        for text in ("not json", "[]", "null", "[" * 10_000, '{"envelope_id": 5}', '{"type": ["hello"]}'):
            served.says_text(text)
        payloads: tuple[object, ...] = (None, 5, [], "x", {"event": {"user": 5}})
        for number, payload in enumerate(payloads):
            served.says("events_api", envelope_id=f"odd{number}", payload=payload)
        served.says("interactive", envelope_id="i1", payload={"type": "block_actions"})
        served.says("events_api", envelope_id="e1", payload=EVENT)
        assert (await served.until_acknowledged(7))[-1] == "e1"
    assert inbox.texts == ["hi & hello"]


async def test_slack_renews_a_line_and_what_comes_goes_on(
    socketed: SlackChannel, served: SlackServer
) -> None:
    inbox = DirectedInbox()
    async with listening(socketed, served, inbox):
        served.says("disconnect", reason="refresh_requested")
        await served.until_opened(2)
        served.says("events_api", envelope_id="e1", payload=EVENT)
        await served.until_acknowledged(1)
    assert inbox.texts == ["hi & hello"]


async def test_a_line_that_breaks_is_told(socketed: SlackChannel, served: SlackServer) -> None:
    async def breaks() -> None:
        await served.until_opened(1)
        served.breaks_line()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(breaks)
            with pytest.raises(ChannelUnreachable):
                await socketed.run(DirectedInbox(), cursor=None)


@pytest.mark.parametrize("code", ["invalid_auth", "missing_scope", "not_allowed_token_type"])
async def test_an_app_token_that_is_refused_says_what_to_do(
    socketed: SlackChannel, served: SlackServer, code: str
) -> None:
    served.refuses_lines(code)
    with anyio.fail_after(5), pytest.raises(ChannelRejected, match="app_token"):
        await socketed.run(DirectedInbox(), cursor=None)


async def test_slacks_own_client_takes_the_same_from_this_server(served: SlackServer) -> None:
    """The server behind these checks is one that the client of Slack's makers understands."""
    seen = anyio.Event()
    client = AsyncWebClient(TOKEN, base_url=f"{served.root}/")
    app = AsyncApp(client=client, signing_secret="", process_before_response=True)

    @app.event("message")
    async def on_message(body: dict[str, object]) -> None:
        seen.set()

    opener = AsyncWebClient(APP_TOKEN, base_url=f"{served.root}/")
    handler = AsyncSocketModeHandler(app, APP_TOKEN, web_client=opener)
    with anyio.fail_after(10):
        await handler.connect_async()  # type: ignore[no-untyped-call]
        try:
            await served.until_opened(1)
            served.says("events_api", envelope_id="e1", payload=EVENT)
            await seen.wait()
            assert await served.until_acknowledged(1) == ["e1"]
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]
