"""Messages come in once they are on disk, whatever the line and the server do meanwhile."""

import logging
import math
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Verdict,
)
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.channel import TelegramChannel, account_of
from fermix.infrastructure.channels.telegram.errors import ANOTHER_POLLER, CREDENTIAL_REFUSED
from fermix.infrastructure.channels.telegram.pace import Pace
from fermix.infrastructure.channels.telegram.polling import Patience
from fermix.infrastructure.channels.telegram.token_lock import lock_of
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.integration.channels.telegram.bot import Inbox, bot, listening, part

pytestmark = pytest.mark.anyio


async def test_what_was_written_while_we_were_down_is_answered_first() -> None:
    with telegram_server() as server:
        server.user_writes(1001, "while you were away")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(1)
            server.user_writes(1001, "now")
            assert await inbox.until_offered(2) == ["while you were away", "now"]


@pytest.mark.requirement("channel.telegram.own_offset")
async def test_an_update_is_acknowledged_only_after_it_was_taken() -> None:
    with telegram_server() as server:
        server.user_writes(1001, "precious")
        inbox = Inbox()
        inbox.shut()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(1)
            assert server.confirmed_offset == 0
        assert [one["message"]["text"] for one in server.pending] == ["precious"]
        again = Inbox()
        async with bot(server) as channel, listening(channel, again):
            assert await again.until_offered(1) == ["precious"]
            await server.until_polled()
            assert not server.pending


@pytest.mark.parametrize("verdict", [Verdict.FULL, Verdict.UNAVAILABLE])
async def test_what_is_not_taken_is_asked_for_again_and_nothing_behind_it_is_lost(verdict: Verdict) -> None:
    with telegram_server() as server:
        for text in ("a", "b", "c"):
            server.user_writes(1001, text)
        inbox = Inbox(Verdict.ACCEPTED, verdict, Verdict.ACCEPTED)
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(5) == ["a", "b", "c", "b", "c"]
            await server.until_polled()
            assert not server.pending


@pytest.mark.requirement("channel.telegram.one_odd_update")
@pytest.mark.parametrize(
    "poison",
    [
        {"message": {"message_id": 1, "date": 1, "chat": {"id": 1001, "type": "private"}}},
        {"message": {"message_id": "x"}},
        {"message": 5},
        {
            "message": {
                "message_id": 1,
                "date": 10**30,
                "chat": {"id": 1, "type": "private"},
                "text": "SECRET",
            }
        },
        {"message": {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "from": {"id": 1}}},
        {"message": None},
        {"something_new": {"a": "SECRET"}},
    ],
)
async def test_an_odd_update_is_passed_over_and_its_words_are_not_logged(
    poison: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with telegram_server() as server:
        number = server.update({"update_id": 70, **poison})
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
            await server.until_polled()
            assert server.confirmed_offset > number
    assert "SECRET" not in caplog.text
    assert len([one for one in caplog.records if one.message == "telegram.update_unreadable"]) <= 1


async def test_half_of_a_letter_spoils_no_other_update() -> None:
    with telegram_server() as server:
        server.user_writes(1001, "half \ud83d")
        server.user_writes(1001, "whole")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert (await inbox.until_offered(2))[1] == "whole"


async def test_a_connection_that_breaks_once_is_opened_again_without_a_word_to_the_outside() -> None:
    with telegram_server() as server:
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox) as ended:
            await server.until_polled()
            server.cut()
            server.user_writes(1001, "still here?")
            assert await inbox.until_offered(1) == ["still here?"]
            assert ended.error is None


async def test_a_platform_that_is_gone_is_told_and_found_again_by_the_next_run() -> None:
    with telegram_server() as server:
        inbox = Inbox()
        async with bot(server) as channel:
            async with listening(channel, inbox) as ended:
                await server.until_polled()
                with server.offline():
                    assert isinstance(await ended.wait(), ChannelUnreachable)
            server.user_writes(1001, "are you back?")
            async with listening(channel, inbox):
                assert await inbox.until_offered(1) == ["are you back?"]


def test_a_silent_connection_is_noticed_within_a_minute() -> None:
    usual = Patience()
    assert usual.poll_seconds + 2 * usual.margin_seconds < 60
    assert usual.whole_answer(usual.poll_seconds) + usual.whole_answer(0) < 60


async def test_listening_again_goes_on_behind_what_was_taken() -> None:
    with telegram_server() as server:
        inbox = Inbox()
        async with bot(server) as channel:
            async with listening(channel, inbox) as ended:
                await server.until_polled()
                server.fault("getUpdates", status=502, description="Bad Gateway", times=1)
                server.user_writes(1001, "taken")
                await inbox.until_offered(1)
                await ended.wait()
            assert server.pending
            async with listening(channel, inbox):
                server.user_writes(1001, "next")
                assert await inbox.until_offered(2) == ["taken", "next"]


async def test_a_poll_that_is_never_answered_is_noticed_and_sends_go_on_meanwhile() -> None:
    with telegram_server() as server:
        inbox = Inbox()
        patience = Patience(poll_seconds=0, margin_seconds=0.5)
        async with bot(server, patience=patience) as channel, listening(channel, inbox):
            await inbox.until_heard(2)
            server.fault("getUpdates", hang=math.inf)
            server.user_writes(1001, "hello?")
            await channel.send(part("meanwhile"))
            assert await inbox.until_offered(1) == ["hello?"]


@pytest.mark.requirement("channel.telegram.conflict_told_apart")
@pytest.mark.parametrize(
    ("status", "description", "kind", "text"),
    [
        (401, "Unauthorized", ChannelRejected, CREDENTIAL_REFUSED),
        (409, "Conflict: terminated by other getUpdates request", ChannelRejected, ANOTHER_POLLER),
        (502, "Bad Gateway", ChannelUnreachable, "Telegram has trouble of its own (502)"),
    ],
)
async def test_each_refusal_of_a_poll_says_what_is_wrong(
    status: int, description: str, kind: type[ChannelError], text: str
) -> None:
    with telegram_server() as server:
        server.fault("getUpdates", status=status, description=description)
        async with bot(server) as channel, listening(channel, Inbox()) as ended:
            error = await ended.wait()
    assert type(error) is kind
    assert str(error) == text


async def test_a_poll_that_comes_too_soon_is_told_how_long_to_wait() -> None:
    with telegram_server() as server:
        server.fault("getUpdates", retry_after=7)
        async with bot(server) as channel, listening(channel, Inbox()) as ended:
            error = await ended.wait()
    assert isinstance(error, ChannelRateLimited)
    assert error.retry_after == timedelta(seconds=7)


@pytest.mark.parametrize("token", ["123456:wrong", "no-token-at-all"])
async def test_a_wrong_token_is_told_in_clear_words(token: str) -> None:
    with telegram_server() as server:
        async with bot(server, token=token) as channel, listening(channel, Inbox()) as ended:
            assert str(await ended.wait()) == CREDENTIAL_REFUSED


@pytest.mark.requirement("channel.telegram.conflict_told_apart")
async def test_a_webhook_left_on_the_bot_is_removed_and_what_waited_for_it_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with telegram_server() as server:
        server.webhook = "https://elsewhere.example/hook"
        server.user_writes(1001, "for the webhook")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["for the webhook"]
        assert server.webhook == ""
    assert "telegram.webhook_removed" in caplog.text


async def test_the_menu_shows_the_commands() -> None:
    with telegram_server() as server:
        async with bot(server) as channel, listening(channel, Inbox()):
            await server.until_called("setMyCommands")
        names = [command["command"] for command in server.commands["default"]]
    assert names[0] == "help"
    assert "stop" in names


async def test_a_menu_that_cannot_be_set_stops_nobody() -> None:
    with telegram_server() as server:
        server.fault("setMyCommands", status=400, description="Bad Request: no")
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
            await server.until_polled()


async def test_only_new_and_edited_messages_are_asked_for() -> None:
    with telegram_server() as server:
        async with bot(server) as channel, listening(channel, Inbox()):
            await server.until_polled()
            (poll,) = server.called("getUpdates")
    assert poll.parameters["allowed_updates"] in (
        ["message", "edited_message", "callback_query"],
        '["message", "edited_message", "callback_query"]',
    )


async def test_no_log_at_any_level_holds_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with telegram_server() as server:
        secret = server.token.partition(":")[2]
        inbox = Inbox()
        async with bot(server) as channel:
            async with listening(channel, inbox) as ended:
                await server.until_polled()
                server.cut()
                await inbox.until_heard(2)
                server.fault("getUpdates", status=404, description="Not Found", times=math.inf)
                server.cut()
                error = await ended.wait()
            with server.offline(), pytest.raises(ChannelError) as caught:
                await channel.send(part("SECRET words"))
    said = caplog.text + "".join(repr(one.__dict__) for one in caplog.records)
    said += repr(error) + repr(error.__cause__) + repr(caught.value)
    assert secret not in said
    assert "SECRET words" not in said


async def test_listening_ends_at_once_when_cancelled_and_leaves_no_connection() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            async with listening(channel, Inbox()):
                await server.until_polled()
            with anyio.fail_after(5):
                while server.is_polled:
                    await anyio.lowlevel.checkpoint()


async def test_a_second_home_with_the_same_bot_is_told_the_first_ones_path(tmp_path: Path) -> None:
    with telegram_server() as server:
        first = lock_of(server.token, folder=tmp_path, home=Path("/home/olga/.fermix"))
        second = lock_of(server.token, folder=tmp_path, home=Path("/home/olga/other"))
        assert server.token.partition(":")[2] not in str(first.path)
        async with bot(server, lock=first) as one, bot(server, lock=second) as other:
            async with listening(one, Inbox()):
                await server.until_polled()
                async with listening(other, Inbox()) as ended:
                    assert str(await ended.wait()).startswith("/home/olga/.fermix on this machine")
                assert len(server.called("getMe")) == 1
            async with listening(other, Inbox()):
                await server.until_polled()


async def test_a_lock_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with telegram_server() as server:
        lock = lock_of(server.token, folder=tmp_path / "missing", home=tmp_path)
        async with bot(server, lock=lock) as channel, listening(channel, Inbox()) as ended:
            assert "lock" in str(await ended.wait())


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "nonsense://x", "http://user:SECRET@127.0.0.1:9"])
async def test_a_proxy_that_cannot_be_used_means_that_nothing_left(proxy: str) -> None:
    async with TelegramChannel(
        api=BotApi(
            token="1:x",
            root="https://telegram.invalid",
            blobs=MemoryBlobs(clock=SystemClock()),
            proxy=proxy,
        ),
        account=account_of("1:x"),
        commands=(),
        pace=Pace(None),
        clock=SystemClock(),
    ) as channel:
        with pytest.raises(ChannelUnreachable) as caught:
            await channel.send(part("x"))
    assert "SECRET" not in str(caught.value)
