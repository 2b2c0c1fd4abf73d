"""What is said without a row (too much waiting, looks empty, restarting) leaves at the pace of everything else."""

import anyio
import pytest

from fermix.application.delivery.deliverer import Deliverer
from fermix.domain.ids import ChannelName
from fermix.infrastructure.channels.telegram.pace import TELEGRAM
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.clock import CountedIds
from fermix.testing.memory_ledger import MemoryLedger
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.integration.channels.telegram.bot import SECONDS, bot, part

pytestmark = pytest.mark.anyio

NAME = ChannelName("telegram")


@pytest.mark.requirement("deliver.unadmitted_reply_keeps_pace")
async def test_no_more_notices_leave_in_one_chat_than_telegram_allows_and_other_chats_are_told() -> None:
    clock, ids = SystemClock(), CountedIds()
    ledger = MemoryLedger(clock=clock, ids=ids)
    await ledger.ownership.take(instance="one", boot="b")
    with telegram_server(real_limits=True) as server:
        for chat in (1001, 2002):
            server.knows(chat)
        async with bot(server, limits=TELEGRAM) as channel, anyio.create_task_group() as tasks:
            deliverer = Deliverer(outbox=ledger.outbox, channels={NAME: channel}, clock=clock, ids=ids)
            tasks.start_soon(deliverer.run)
            for number in range(10):
                deliverer.say(part("", chat=1001).target, f"Too much is waiting here ({number}).")
            deliverer.say(part("", chat=2002).target, "Here too.")
            with anyio.fail_after(SECONDS):
                await deliverer.quiet()
            tasks.cancel_scope.cancel()
        assert all(call.status == 200 for call in server.calls), "Telegram had to refuse none"
        assert len(server.sent(chat=1001)) == TELEGRAM.direct.messages
        assert [one.text for one in server.sent(chat=2002)] == ["Here too."]
