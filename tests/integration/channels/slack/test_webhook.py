"""The endpoint that Slack calls: proven over the very bytes, within the allowed age, and answered in time."""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import ChannelRejected, Offered, Verdict
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.webhooks import WebhookAnswer
from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.infrastructure.channels.slack.webhook import MAX_BYTES
from fermix.testing.channel_checks.check import DirectedInbox
from fermix.testing.clock import StoppedClock
from fermix.testing.servers.slack_api.server import SIGNING_SECRET, SlackServer, command, encoded, signed
from tests.contract.channel.slack_far_side import post

pytestmark = pytest.mark.anyio


class WatchedInbox(DirectedInbox):
    """Tells when its channel has begun to listen; where it is closed its ledger cannot be written."""

    def __init__(self, *verdicts: Verdict, closed: bool = False) -> None:
        super().__init__(*verdicts)
        self.started = anyio.Event()
        self._is_closed = closed

    @override
    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        self.started.set()
        if offered and self._is_closed:
            raise LedgerUnavailable("closed")
        return await super().accept(offered, cursor=cursor)


@asynccontextmanager
async def listening(channel: SlackChannel, inbox: WatchedInbox) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(channel.run, inbox, cursor=None))
        with anyio.fail_after(5):
            await inbox.started.wait()
        yield
        tasks.cancel_scope.cancel()


async def called(
    channel: SlackChannel, clock: StoppedClock, body: bytes, headers: Mapping[str, str] | None = None
) -> WebhookAnswer:
    given = signed(body, at=clock.now().timestamp()) if headers is None else headers
    with anyio.fail_after(3):
        return await channel.webhook.answer(post(body, given))


@pytest.mark.requirement("channel.slack.signature_and_age")
async def test_only_what_is_signed_over_these_very_bytes_and_lately_is_read(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    inbox, body, now = WatchedInbox(), server.notification(server.event("hi")), clock.now().timestamp()
    right = signed(body, at=now)
    wrong: tuple[Mapping[str, str], ...] = (
        {},
        {**right, "x-slack-signature": ""},
        {**right, "x-slack-signature": "v0="},
        {**right, "x-slack-signature": right["x-slack-signature"].removeprefix("v0=")},
        {**right, "x-slack-signature": right["x-slack-signature"][:-1]},
        {**right, "x-slack-signature": "é"},
        {**right, "x-slack-request-timestamp": str(int(now) + 1)},
        {**right, "x-slack-request-timestamp": "soon"},
        {**right, "x-slack-request-timestamp": ""},
        signed(body, at=now, secret="another secret"),
        signed(body + b" ", at=now),
        signed(body, at=now - 301),
        signed(body, at=now + 302),
    )
    async with listening(channel, inbox):
        answers = [await called(channel, clock, body, headers) for headers in wrong]
        assert [answer.status for answer in answers] == [401] * len(wrong)
        assert (inbox.offered, inbox.unread) == ([], 0)
        for age in (300, -300, 0):
            answer = await called(channel, clock, body, signed(body, at=int(now) + age))
            assert answer.status == (200 if abs(int(now) + age - now) <= 300 else 401)
        assert inbox.texts == ["hi"] * len(inbox.offered)
        assert inbox.offered


@pytest.mark.requirement("channel.slack.signature_and_age")
async def test_the_challenge_is_proven_too_and_answered_while_nobody_listens(
    channel: SlackChannel, clock: StoppedClock
) -> None:
    body = encoded({"token": "z", "challenge": "3eZbrw1aB", "type": "url_verification"})
    answer = await called(channel, clock, body)
    assert (answer.status, answer.body, answer.content_type) == (
        200,
        b'{"challenge":"3eZbrw1aB"}',
        "application/json",
    )
    forged = signed(body, at=clock.now().timestamp(), secret="another secret")
    assert (await called(channel, clock, body, forged)).status == 401
    assert (await called(channel, clock, encoded({"type": "url_verification"}))).status == 400


@pytest.mark.requirement("restart.webhook_gets_503")
async def test_while_nobody_listens_slack_is_told_to_call_again(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    body = server.notification(server.event("hi"))
    assert (await called(channel, clock, body)).status == 503
    form = signed(command("hi"), at=clock.now().timestamp(), form=True)
    assert (await called(channel, clock, command("hi"), form)).status == 503
    async with listening(channel, WatchedInbox()):
        assert (await called(channel, clock, body)).status == 200
    assert (await called(channel, clock, body)).status == 503


async def test_once_it_is_known_who_we_are_calls_are_taken_while_slack_is_asked_again(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    async with listening(channel, WatchedInbox()):
        pass
    inbox = WatchedInbox()
    server.fault("auth.test", hang=float("inf"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(channel.run, inbox, cursor=None))
        with anyio.fail_after(5):
            await server.until_hanging()
        assert (await called(channel, clock, server.notification(server.event("hi")))).status == 200
        tasks.cancel_scope.cancel()
    assert inbox.texts == ["hi"]


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict.ACCEPTED, 200),
        (Verdict.DUPLICATE, 200),
        (Verdict.ANSWERED, 200),
        (Verdict.DROPPED, 200),
        (Verdict.CONFLICT, 200),
        (Verdict.FULL, 503),
        (Verdict.UNAVAILABLE, 503),
    ],
)
async def test_what_was_not_taken_is_asked_for_again(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock, verdict: Verdict, status: int
) -> None:
    async with listening(channel, WatchedInbox(verdict)):
        assert (await called(channel, clock, server.notification(server.event("hi")))).status == status


async def test_a_ledger_that_is_closed_is_no_acknowledgement(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    async with listening(channel, WatchedInbox(closed=True)):
        assert (await called(channel, clock, server.notification(server.event("hi")))).status == 503


async def test_a_retry_is_taken_like_a_first_call(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    """Its first call may never have arrived."""
    inbox, body = WatchedInbox(), server.notification(server.event("hi"), event_id="EvA24")
    again = {"x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout"}
    async with listening(channel, inbox):
        headers = {**signed(body, at=clock.now().timestamp()), **again}
        assert (await called(channel, clock, body, headers)).status == 200
    assert inbox.texts == ["hi"]


@pytest.mark.requirement("ingress.admit_chat.adapters_do_not_filter")
async def test_every_message_of_a_channel_is_handed_over_with_its_facts(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()
    async with listening(channel, inbox):
        for text, more in (
            ("not for us", {}),
            ("<@U0BOT> for us", {}),
            ("from a bot", {"bot_id": "B0OTHER"}),
        ):
            body = server.notification(server.event(text, channel="C0A", **more))
            assert (await called(channel, clock, body)).status == 200
    assert inbox.texts == ["not for us", "for us", "from a bot"]
    assert [bool(one.get("mentions")) for one in inbox.offered] == [False, True, False]


async def test_a_native_command_comes_in_as_what_it_stands_for(
    channel: SlackChannel, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()
    async with listening(channel, inbox):
        for text in ("whoami", "", "good morning & more"):
            body = command(text)
            headers = signed(body, at=clock.now().timestamp(), form=True)
            assert (await called(channel, clock, body, headers)).status == 200
    assert inbox.texts == ["/whoami", "/help", "good morning & more"]


async def test_what_nobody_listens_to_is_answered_and_a_wrong_shape_counted(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()
    async with listening(channel, inbox):
        for event in (
            {"type": "app_home_opened", "user": "U0OWN"},
            {"type": "team_join", "user": {"id": "U"}},
        ):
            assert (await called(channel, clock, server.notification(event))).status == 200
        assert inbox.unread == 0
        assert (await called(channel, clock, server.notification({"type": 5}))).status == 200
        assert (await called(channel, clock, b"not json")).status == 400
    assert (inbox.offered, inbox.unread) == ([], 2)


async def test_a_refused_token_ends_listening_with_what_to_do(
    channel: SlackChannel, server: SlackServer
) -> None:
    server.revoke_token()
    with anyio.fail_after(5), pytest.raises(ChannelRejected, match="bot_token"):
        await channel.run(WatchedInbox(), cursor=None)


async def test_the_endpoint_is_where_slack_is_told_to_call(channel: SlackChannel) -> None:
    assert (channel.webhook.path, channel.webhook.methods) == ("/webhook/slack", frozenset({"POST"}))
    assert channel.webhook.max_bytes == MAX_BYTES == 1024 * 1024
    assert SIGNING_SECRET not in repr(channel.webhook)


async def test_a_token_that_was_revoked_is_told_within_a_minute_although_nothing_is_sent(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()

    async def ends() -> None:
        with pytest.raises(ChannelRejected, match="refuses the bot token"):
            await channel.run(inbox, cursor=None)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ends)
            await inbox.started.wait()
            await somebody_sleeps(clock)
            server.revoke_token()
            clock.advance(timedelta(seconds=60))


async def test_slack_being_away_for_a_while_is_no_word_about_the_token(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    inbox = WatchedInbox()
    async with listening(channel, inbox):
        await somebody_sleeps(clock)
        server.fault("auth.test", status=503)
        clock.advance(timedelta(seconds=60))
        await somebody_sleeps(clock)
        assert server.called("auth.test") == 2
        answer = await called(channel, clock, server.notification(server.event("hi")))
        assert answer.status == 200


def said(channel: SlackChannel) -> list[str]:
    """What it remarks now."""
    return [remark.text for remark in channel.remarks]


async def somebody_sleeps(clock: StoppedClock) -> None:
    """Wait until the next look at the token has its time."""
    with anyio.fail_after(5):
        while not clock.sleepers:
            await anyio.lowlevel.checkpoint()


async def test_what_was_turned_away_is_told_until_slack_is_believed(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    inbox, body, now = WatchedInbox(), server.notification(server.event("hi")), clock.now().timestamp()
    async with listening(channel, inbox):
        assert said(channel) == []
        for _ in range(2):
            await called(channel, clock, body, signed(body, at=now, secret="another secret"))
        (text,) = said(channel)
        assert "not signed with slack.signing_secret: the last 2 calls of /webhook/slack" in text
        assert channel.remarks[0].is_trouble
        await called(channel, clock, body, signed(body, at=now - 4000))
        assert "set the clock of this machine" in said(channel)[0]
        told = [one for one in caplog.records if one.message == "slack.signature_refused"]
        assert [one.levelname for one in told if one.levelno > logging.DEBUG] == ["WARNING"]
        await called(channel, clock, body)
        assert said(channel) == []
