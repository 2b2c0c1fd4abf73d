"""How a WhatsApp channel stands that listens: the token looked at now and then, and what was turned away."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import ChannelRejected, Offered, Verdict
from fermix.application.ports.webhooks import WebhookRequest
from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.testing.channel_checks.check import DirectedInbox
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.whatsapp_api.server import (
    VERIFY_TOKEN,
    WhatsAppServer,
    signed,
    whatsapp_server,
)
from tests.contract.channel.whatsapp_far_side import whatsapp

pytestmark = pytest.mark.anyio


class WatchedInbox(DirectedInbox):
    """Tells when its channel has begun to listen."""

    def __init__(self) -> None:
        super().__init__()
        self.started = anyio.Event()

    @override
    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        self.started.set()
        return await super().accept(offered, cursor=cursor)


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
async def channel(server: WhatsAppServer, clock: StoppedClock) -> AsyncIterator[WhatsAppChannel]:
    async with whatsapp(server, clock, MemoryBlobs(clock=clock)) as opened:
        yield opened


@asynccontextmanager
async def listening(channel: WhatsAppChannel) -> AsyncGenerator[WatchedInbox]:
    inbox = WatchedInbox()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(channel.run, inbox, cursor=None))
        with anyio.fail_after(5):
            await inbox.started.wait()
        yield inbox
        tasks.cancel_scope.cancel()


async def somebody_sleeps(clock: StoppedClock) -> None:
    """Wait until the next look at the token has its time."""
    with anyio.fail_after(5):
        while not clock.sleepers:
            await anyio.lowlevel.checkpoint()


def said(channel: WhatsAppChannel) -> list[str]:
    """What it remarks now."""
    return [remark.text for remark in channel.remarks]


def posted(body: bytes, headers: Mapping[str, str]) -> WebhookRequest:
    lower = {name.lower(): value for name, value in headers.items()}
    return WebhookRequest(method="POST", query={}, headers=lower, body=body)


def challenge(word: str) -> WebhookRequest:
    query = {"hub.mode": "subscribe", "hub.challenge": "42", "hub.verify_token": word}
    return WebhookRequest(method="GET", query=query, headers={}, body=b"")


async def test_a_token_that_ran_out_is_told_within_a_minute_although_nothing_is_sent(
    channel: WhatsAppChannel, server: WhatsAppServer, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()

    async def ends() -> None:
        with pytest.raises(ChannelRejected, match="refuses the access token"):
            await channel.run(inbox, cursor=None)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ends)
            await inbox.started.wait()
            await somebody_sleeps(clock)
            server.revoke_token()
            clock.advance(timedelta(seconds=60))


async def test_what_was_turned_away_is_told_until_meta_is_believed(
    channel: WhatsAppChannel, server: WhatsAppServer, caplog: pytest.LogCaptureFixture
) -> None:
    body = server.notification(server.message(text="hi"))
    async with listening(channel):
        assert said(channel) == []
        for _ in range(3):
            assert (await channel.webhook.answer(posted(body, {}))).status == 401
            assert (await channel.webhook.answer(challenge("another word"))).status == 401
        unsigned, word = said(channel)
        assert "whatsapp.app_secret: the last 3 calls of /webhook/whatsapp" in unsigned
        assert "the word of whatsapp.verify_token" in word
        assert all(remark.is_trouble for remark in channel.remarks)
        warned = [one.message for one in caplog.records if one.levelno == logging.WARNING]
        assert sorted(warned) == ["whatsapp.challenge_refused", "whatsapp.signature_refused"]
        assert (await channel.webhook.answer(challenge(VERIFY_TOKEN))).body == b"42"
        assert said(channel) == [unsigned]
        assert (await channel.webhook.answer(posted(body, signed(body)))).status == 200
        assert said(channel) == []


async def test_whoever_only_looks_by_is_no_call_of_metas(channel: WhatsAppChannel) -> None:
    async with listening(channel):
        look = WebhookRequest(method="GET", query={}, headers={}, body=b"")
        assert (await channel.webhook.answer(look)).status == 401
        assert said(channel) == []
