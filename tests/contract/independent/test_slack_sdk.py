"""Slack's own library beside our adapter and our fake Slack: its signer, its client, its line of Socket Mode."""

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import Clock as SlackClock
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from typing_extensions import override

from fermix.application.ports.channel import ChannelError, ChannelRateLimited, ChannelRejected, OutgoingPart
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.servers.slack_api.server import (
    APP_TOKEN,
    SIGNING_SECRET,
    TOKEN,
    SlackServer,
    signed,
    slack_server,
)
from tests.contract.channel.slack_far_side import post, slack

pytestmark = [pytest.mark.anyio, pytest.mark.needs("package:slack_sdk")]

ROOM = "C0A"
TOPIC = "1790000000.777777"
CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 64
_UNKNOWN_TO_US = 503
"""What the webhook answers when it believes a call and nobody listens."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Slack's library knows asyncio only."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def blobs(clock: StoppedClock) -> MemoryBlobs:
    return MemoryBlobs(clock=clock)


@pytest.fixture
async def ours(server: SlackServer, clock: StoppedClock, blobs: MemoryBlobs) -> AsyncIterator[SlackChannel]:
    async with slack(server, clock, blobs) as opened:
        yield opened


@pytest.fixture
def theirs(server: SlackServer) -> AsyncWebClient:
    """Their client, pointed at our fake Slack."""
    return AsyncWebClient(TOKEN, base_url=f"{server.root}/", timeout=5)


class AsOurs(SlackClock):
    """Their clock, showing the time of ours."""

    def __init__(self, clock: StoppedClock) -> None:
        self._clock = clock

    @override
    def now(self) -> float:
        return self._clock.now().timestamp()


def part(ours: SlackChannel, body: Part, *, thread: str | None = None, nonce: str = "n-1") -> OutgoingPart:
    target = Target(
        channel=ChannelName("slack"),
        account=ours.account,
        chat=ChatId(ROOM),
        thread=None if thread is None else ThreadId(thread),
    )
    return OutgoingPart(target=target, body=body, nonce=nonce)


@pytest.mark.parametrize("age", [-301, -300, -299, 0, 299, 300, 301])
@pytest.mark.parametrize("secret", [SIGNING_SECRET, "another secret"])
@pytest.mark.parametrize("change", [b"", b" "])
async def test_both_believe_the_same_signatures(
    server: SlackServer, ours: SlackChannel, clock: StoppedClock, age: int, secret: str, change: bytes
) -> None:
    body = server.notification(server.event("hi"))
    stamp = str(int(clock.now().timestamp()) - age)
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": signature}
    theirs = SignatureVerifier(SIGNING_SECRET, clock=AsOurs(clock)).is_valid_request(body + change, headers)
    answer = await ours.webhook.answer(post(body + change, headers))
    assert (answer.status == _UNKNOWN_TO_US) is theirs
    assert theirs is (abs(age) <= 300 and secret == SIGNING_SECRET and not change)


def test_our_fake_slack_signs_as_slack_does(clock: StoppedClock) -> None:
    body, now = "né 🎉".encode(), clock.now().timestamp()
    headers = signed(body, at=now)
    assert SignatureVerifier(SIGNING_SECRET, clock=AsOurs(clock)).is_valid_request(body, headers)


async def test_both_send_the_same(server: SlackServer, ours: SlackChannel, theirs: AsyncWebClient) -> None:
    told = await theirs.chat_postMessage(channel=ROOM, text="hello 🎉", thread_ts=TOPIC)
    delivered = await ours.send(part(ours, TextPart(text="hello 🎉"), thread=TOPIC))
    by_them, by_us = server.sent(2)
    assert (told["ts"], delivered.platform_id) == (by_them.ts, by_us.ts)
    assert (by_them.text, by_them.channel, by_them.thread) == (by_us.text, by_us.channel, by_us.thread)
    event = server.event("hello", channel=ROOM)
    await theirs.reactions_add(channel=ROOM, timestamp=event["ts"], name="tada")
    with pytest.raises(SlackApiError, match="already_reacted"):
        await theirs.reactions_add(channel=ROOM, timestamp=event["ts"], name="tada")
    await ours.send(part(ours, ReactionPart(message=PlatformMessageId(event["ts"]), emoji="thumbsup")))
    assert server.world.reactions[ROOM, event["ts"]][-1] == "thumbsup"


async def test_both_upload_and_fetch_files_of_each_other(
    server: SlackServer, ours: SlackChannel, theirs: AsyncWebClient, blobs: MemoryBlobs
) -> None:
    await theirs.files_upload_v2(
        channel=ROOM, content=CONTENT, filename="plan.pdf", initial_comment="the plan"
    )
    blob = await blobs.store(in_pieces(CONTENT), limit=len(CONTENT))
    body = MediaPart(
        kind=MediaKind.DOCUMENT,
        blob=blob,
        file_name="plan.pdf",
        mime_type="application/pdf",
        caption="the plan",
    )
    await ours.send(part(ours, body))
    by_them, by_us = server.sent(2)
    for sent in (by_them, by_us):
        assert sent.file is not None
        assert (sent.text, sent.file.name, sent.file.data) == ("the plan", "plan.pdf", CONTENT)
    file = server.file(CONTENT)
    told = await theirs.files_info(file=file["id"])
    assert told["file"]["size"] == len(CONTENT)
    async with ours.media_source.fetch(file["id"], limit=len(CONTENT)) as pieces:
        assert b"".join([piece async for piece in pieces]) == CONTENT


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (200, "channel_not_found", ChannelRejected),
        (200, "is_archived", ChannelRejected),
        (200, "restricted_action", ChannelRejected),
        (429, "ratelimited", ChannelRateLimited),
    ],
)
async def test_both_are_refused_alike(
    server: SlackServer,
    ours: SlackChannel,
    theirs: AsyncWebClient,
    status: int,
    error: str,
    expected: type[ChannelError],
) -> None:
    for _ in range(2):
        server.fault("chat.postMessage", status=status, error=error, retry_after=7)
    with pytest.raises(SlackApiError) as refused:
        await theirs.chat_postMessage(channel=ROOM, text="hello")
    assert (refused.value.response.status_code, refused.value.response["error"]) == (status, error)
    with pytest.raises(expected) as told:
        await ours.send(part(ours, TextPart(text="hello")))
    if isinstance(told.value, ChannelRateLimited):
        assert told.value.retry_after.total_seconds() == int(refused.value.response.headers["Retry-After"])
    assert server.shown() == []


async def test_their_line_hears_acknowledges_and_is_renewed(server: SlackServer) -> None:
    heard = list[str]()

    async def hears(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        heard.append(request.payload["event"]["text"])
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    web = AsyncWebClient(APP_TOKEN, base_url=f"{server.root}/")
    client = SocketModeClient(APP_TOKEN, web_client=web, ping_interval=0.05)
    client.socket_mode_request_listeners.append(hears)
    with anyio.fail_after(10):
        await client.connect()  # type: ignore[no-untyped-call]
        try:
            await server.until_opened(1)
            says(server, "e1", "one")
            assert await server.until_acknowledged(1) == ["e1"]
            server.says("disconnect", reason="refresh_requested")
            await server.until_opened(2)
            says(server, "e2", "two")
            assert await server.until_acknowledged(2) == ["e1", "e2"]
            server.cut()
            await server.until_opened(3)
            says(server, "e3", "three")
            assert await server.until_acknowledged(3) == ["e1", "e2", "e3"]
        finally:
            await client.close()  # type: ignore[no-untyped-call]
    assert heard == ["one", "two", "three"]


def says(server: SlackServer, envelope: str, text: str) -> None:
    server.says("events_api", envelope_id=envelope, payload=server.callback(server.event(text)))
