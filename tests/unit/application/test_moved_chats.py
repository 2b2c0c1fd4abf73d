"""Chats that go on under another id, and what a channel could not read: what the gateway makes of both."""

import pytest

from fermix.application.gateway.inbox import ChannelInbox
from fermix.application.ports.channel import Verdict
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.domain.ids import ChatId
from tests.unit.application.house import DOOR, TEST, build, running
from tests.unit.application.test_gateway import GatedModel, opened, settled

pytestmark = pytest.mark.anyio


async def test_a_chat_that_moved_goes_on_in_its_conversation_and_is_answered_there() -> None:
    model = GatedModel()
    async with running(build(model)) as house:
        inbox = ChannelInbox(gateway=house.gateway, door=DOOR)
        await house.write("running", id="m1", chat_id="-300", reply_target="-300")
        await settled()
        await house.write("waiting", id="m2", chat_id="-300", reply_target="-300")
        assert await inbox.moved(old=ChatId("-300"), new=ChatId("-100300")) is Verdict.ACCEPTED
        await house.write("after", id="m3", chat_id="-100300", reply_target="-100300")
        model.gate.set()
        assert await house.channel.has_sent(3) == ["re: running", "re: waiting", "re: after"]
        assert {part.target.chat for part in house.channel.sent} == {"-100300"}
        assert len(await house.ledger.conversations.summaries()) == 1


async def test_a_reply_that_arrived_elsewhere_takes_its_conversation_along() -> None:
    async with running(build(opened())) as house:
        house.channel.moved_to = ChatId("-100300")
        await house.write("one", id="m1", chat_id="-300", reply_target="-300")
        await house.channel.has_sent(1)
        await settled()
        await house.write("two", id="m2", chat_id="-100300", reply_target="-100300")
        await house.channel.has_sent(2)
        (only,) = await house.ledger.conversations.summaries()
        assert only.route.chat == "-100300"


async def test_a_move_of_a_chat_nobody_knows_stores_nothing_and_lets_nobody_in() -> None:
    async with running(build(opened())) as house:
        inbox = ChannelInbox(gateway=house.gateway, door=DOOR)
        assert await inbox.moved(old=ChatId("-5"), new=ChatId("-1005")) is Verdict.DROPPED
        assert (await house.write(sender_id="9999", chat_id="-1005")).verdict is Verdict.DROPPED
        assert await house.ledger.conversations.summaries() == ()
        house.gateway.close()
        assert await inbox.moved(old=ChatId("-5"), new=ChatId("-1005")) is Verdict.UNAVAILABLE


async def test_a_move_that_cannot_be_stored_must_be_told_again_and_health_says_why() -> None:
    async with running(build(opened())) as house:
        house.ledger.kill()
        inbox = ChannelInbox(gateway=house.gateway, door=DOOR)
        assert await inbox.moved(old=ChatId("-5"), new=ChatId("-1005")) is Verdict.UNAVAILABLE
        assert house.board.is_failing("ledger")


async def test_what_nobody_could_read_is_counted_in_the_health_of_its_channel() -> None:
    house = build(opened())
    house.board.channel(ChannelHealth(name=TEST, status=ChannelStatus.READY))
    inbox = ChannelInbox(gateway=house.gateway, door=DOOR)
    (before,) = house.board.health().channels
    inbox.unreadable()
    inbox.unreadable()
    house.board.channel(ChannelHealth(name=TEST, status=ChannelStatus.READY))
    (after,) = house.board.health().channels
    assert (before.unreadable, after.unreadable, after.status) == (0, 2, ChannelStatus.READY)
