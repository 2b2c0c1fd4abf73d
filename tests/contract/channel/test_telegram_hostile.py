"""Answers that no Bot API server should give: each ends as an error of channels, or is passed over."""

from dataclasses import replace
from datetime import datetime

import anyio
import pytest
from telegram import Update
from typing_extensions import override

from fermix.application.ports.channel import ChannelError, ChannelOutcomeUnknown, ChannelUnreachable
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.channels.telegram.wire_in import OurBot, read_update
from fermix.testing.channel_checks.check import DirectedInbox, error_of, listen_error, listening
from fermix.testing.channel_conformance import PRIVATE
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.contract.channel.platforms import HastyClock
from tests.contract.channel.telegram_far_side import OLGA, TelegramHarness, telegram
from tests.unit.steps import steps

pytestmark = pytest.mark.anyio

GOOD = (
    '{"update_id":100000002,"message":{"message_id":5,"date":1,"text":"good",'
    '"chat":{"id":1001,"type":"private"},"from":{"id":1001,"is_bot":false,"first_name":"O"}}}'
)
DEEP = '{"a":' * 5000 + "1" + "}" * 5000


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def updates(*raw: str) -> str:
    return f'{{"ok":true,"result":[{",".join(raw)}]}}'


@pytest.mark.parametrize(
    "body", [updates(DEEP), updates("9" * 6000), "[]", "", '{"ok":true,"result":{}}'], ids=range(5)
)
async def test_a_poll_that_is_answered_with_garbage_ends_as_unreachable(body: str) -> None:
    with telegram_server() as server:
        server.fault("getUpdates", body=body)
        async with telegram(server, HastyClock()) as channel:
            with anyio.fail_after(5):
                assert isinstance(await listen_error(channel), ChannelUnreachable)


@pytest.mark.parametrize(
    "body", [f'{{"ok":true,"result":{DEEP}}}', "9" * 6000, "[[[", '{"ok":1}', '{"result":{}}'], ids=range(5)
)
async def test_a_part_that_is_answered_with_garbage_may_have_arrived(body: str) -> None:
    async with TelegramHarness().open() as opened:
        opened.far_side.server.fault("sendMessage", body=body)
        assert isinstance(await error_of(opened), ChannelOutcomeUnknown)


@pytest.mark.parametrize("number", [str(10**30), str(2**63), "-5", "true", '"100000003"', "null", "1.5"])
async def test_an_update_with_a_number_that_is_none_moves_nothing(number: str) -> None:
    inbox = DirectedInbox()
    with telegram_server() as server:
        server.fault("getUpdates", body=updates(GOOD, f'{{"update_id":{number},"message":5}}'))
        async with telegram(server, HastyClock()) as channel, listening(channel, inbox):
            with anyio.fail_after(5):
                await inbox.was_offered_text("good")
                await server.until_confirmed(100000003)
            assert server.confirmed_offset == 100000003


class PatientClock(HastyClock):
    """Knows how often somebody rested."""

    rests = 0

    @override
    async def sleep_until(self, instant: datetime) -> None:
        self.rests += 1
        await super().sleep_until(instant)


async def test_updates_without_a_number_are_not_asked_for_without_a_rest() -> None:
    inbox, clock = DirectedInbox(), PatientClock()
    with telegram_server() as server:
        server.fault("getUpdates", body=updates('{"message":5}'), times=3)
        server.user_writes(OLGA, "after")
        async with telegram(server, clock) as channel, listening(channel, inbox):
            with anyio.fail_after(5):
                await inbox.was_offered_text("after")
    assert clock.rests == 3


@pytest.mark.parametrize("number", ['{"a":1}', '"x"', "null", "true", "1.5"])
async def test_a_message_whose_number_is_none_is_delivered_without_one(number: str) -> None:
    async with TelegramHarness().open() as opened:
        opened.far_side.server.fault("sendMessage", body=f'{{"ok":true,"result":{{"message_id":{number}}}}}')
        assert (await opened.channel.send(opened.part("hello"))).platform_id is None


async def test_words_that_a_refusal_quotes_are_left_out_of_the_error() -> None:
    async with TelegramHarness().open() as opened:
        said = f'Bad Request: wrong start of "{PRIVATE}" at byte 5'
        opened.far_side.server.fault("sendMessage", status=400, description=said)
        with pytest.raises(ChannelError, match="wrong start of") as caught:
            await opened.channel.send(opened.part(PRIVATE))
    assert PRIVATE not in str(caught.value)
    assert PRIVATE not in repr(caught.value.__cause__)


@pytest.mark.parametrize("reply_to", ["9" * 30, "m1", "-5", "", "１２", "99"])
async def test_a_part_that_answers_a_message_without_a_number_is_sent_and_points_at_none(
    reply_to: str,
) -> None:
    async with TelegramHarness().open() as opened:
        part = opened.part("hello", in_thread=True)
        odd = replace(part, target=replace(part.target, reply_to=PlatformMessageId(reply_to)))
        await opened.channel.send(odd)
        (shown,) = opened.far_side.server.sent()
    assert shown.reply_to is None


@pytest.mark.parametrize("status", [400, 403, 407, 408, 413])
async def test_a_page_of_somebody_in_between_means_that_the_part_did_not_arrive(status: int) -> None:
    async with TelegramHarness().open() as opened:
        opened.far_side.server.fault("sendMessage", status=status, body="<html>not for you</html>")
        assert isinstance(await error_of(opened), ChannelUnreachable)


def full_of_mentions(count: int) -> Update:
    mentions = [{"type": "mention", "offset": 2 * number, "length": 2} for number in range(count)]
    raw = {
        "update_id": 1,
        "message": {
            "message_id": 1,
            "date": 1,
            "chat": {"id": 1, "type": "private"},
            "from": {"id": 1, "is_bot": False, "first_name": "O"},
            "text": "🎉" * count,
            "entities": mentions,
        },
    }
    update = Update.de_json(raw, None)
    assert update is not None
    return update


def test_a_message_full_of_mentions_is_read_in_one_pass() -> None:
    us = OurBot(id=7, name="us")
    message = read_update(full_of_mentions(8000), us)
    assert message is not None
    found = [(one["start"], one["end"]) for one in message["mentions"]]
    assert found == [(number, number + 1) for number in range(len(found))]
    assert len(found) >= 100
    few, many = full_of_mentions(1000), full_of_mentions(4000)
    assert steps(lambda: read_update(many, us)) < 5 * steps(lambda: read_update(few, us))
