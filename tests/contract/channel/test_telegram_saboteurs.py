"""The checks notice over Telegram too what goes wrong where a client library is in between."""

from datetime import timedelta

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    OutgoingPart,
    Verdict,
)
from fermix.testing.channel_conformance import CHANNEL_CHECKS, PromiseBroken
from tests.contract.channel.faulty import Faulty, answers, forgets, hears
from tests.contract.channel.memory_far_side import MakeChannel
from tests.contract.channel.telegram_far_side import TelegramHarness

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class TriesAgain(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except ChannelOutcomeUnknown:
            await super().send(part)
            raise


class ConfirmsABatch(Faulty):
    """As the library's own loop does, whatever becomes of it; the next process is never offered it again."""

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await answers(lambda all_: (Verdict.ACCEPTED,) * len(all_))(self.inside, self.platform).run(
            inbox, cursor=cursor
        )


class MakesAnErrorOfIt(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class() as exc:
            raise ChannelOutcomeUnknown("we were stopped") from exc


SABOTEURS: tuple[tuple[frozenset[str], MakeChannel], ...] = (
    (
        frozenset(
            {
                "what_was_not_taken_is_offered_again",
                "nothing_beside_a_message_that_was_not_taken_is_lost",
            }
        ),
        ConfirmsABatch,
    ),
    (frozenset({"it_tells_thread"}), forgets("thread_ts")),
    (frozenset({"nothing_is_sent_again"}), TriesAgain),
    (
        frozenset({"a_refused_credential_is_told"}),
        hears(ChannelRejected, ChannelUnreachable("not now")),
    ),
    (frozenset({"sending_can_be_cancelled_at_every_await"}), MakesAnErrorOfIt),
)


async def checks_that_fail(make: MakeChannel) -> set[str]:
    failed: set[str] = set()
    for check in CHANNEL_CHECKS:
        try:
            await check.run(TelegramHarness(make, patience=timedelta(seconds=1)))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(("checks", "saboteur"), SABOTEURS, ids=["-".join(sorted(c)) for c, _ in SABOTEURS])
async def test_a_planted_fault_breaks_its_checks_alone(checks: frozenset[str], saboteur: MakeChannel) -> None:
    with anyio.fail_after(30):
        assert await checks_that_fail(saboteur) == checks
