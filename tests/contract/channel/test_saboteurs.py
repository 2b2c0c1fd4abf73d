"""Each check notices the fault it is there for, and no other check takes offence at it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.domain.delivery import TextPart
from fermix.domain.ids import AccountId
from fermix.domain.normalise import RawMessage
from fermix.testing.channel_conformance import CHANNEL_CHECKS, PromiseBroken
from fermix.testing.memory_channel import MemoryPlatform
from tests.contract.channel.platforms import MakeChannel, MemoryHarness, in_memory

pytestmark = pytest.mark.anyio


class Faulty:
    """A channel that does as the one in memory does; each saboteur changes one thing."""

    def __init__(self, platform: MemoryPlatform) -> None:
        self.platform = platform
        self.inside = in_memory(platform)

    @property
    def account(self) -> AccountId:
        return self.inside.account

    @property
    def features(self) -> ChannelFeatures:
        return self.inside.features

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await self.inside.run(inbox, cursor=cursor)

    async def send(self, part: OutgoingPart) -> Delivered:
        return await self.inside.send(part)


Accept = Callable[[Sequence[Offered]], Awaitable[tuple[Verdict, ...]]]


class Between:
    """An inbox before the real one, in which a saboteur changes what is offered or answered."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        return await self._accept(offered)


class ListensOnce(Faulty):
    listened = False

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        if self.listened:
            return
        self.listened = True
        await super().run(inbox, cursor=cursor)


class ForgetsWhoWrote(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered]) -> tuple[Verdict, ...]:
            nameless = [
                replace(
                    each,
                    message=cast("RawMessage", {k: v for k, v in each.message.items() if k != "sender_id"}),
                )
                for each in offered
            ]
            return await inbox.accept(nameless)

        await super().run(Between(accept), cursor=cursor)


class NewestFirst(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered]) -> tuple[Verdict, ...]:
            return (await inbox.accept(offered[::-1]))[::-1]

        await super().run(Between(accept), cursor=cursor)


class AcknowledgesBefore(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered]) -> tuple[Verdict, ...]:
            try:
                return await inbox.accept(offered)
            except anyio.get_cancelled_exc_class():
                self.platform.acknowledge(self.platform.acknowledged + len(offered))
                raise

        await super().run(Between(accept), cursor=cursor)


class IgnoresTheVerdict(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered]) -> tuple[Verdict, ...]:
            await inbox.accept(offered)
            return (Verdict.ACCEPTED,) * len(offered)

        await super().run(Between(accept), cursor=cursor)


class AcknowledgesTheAcceptedAlone(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered]) -> tuple[Verdict, ...]:
            verdicts = await inbox.accept(offered)
            return tuple(each if each is Verdict.ACCEPTED else Verdict.UNAVAILABLE for each in verdicts)

        await super().run(Between(accept), cursor=cursor)


def _with_text(part: OutgoingPart, text: str) -> OutgoingPart:
    return replace(part, body=TextPart(text=text))


class JoinsLines(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        return await super().send(_with_text(part, " ".join(part.body.text.split())))


class CutsLongOnes(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        return await super().send(_with_text(part, part.body.text[:4096]))


def mistakes(error: type[ChannelError], instead: ChannelError) -> type[Faulty]:
    class Mistakes(Faulty):
        @override
        async def send(self, part: OutgoingPart) -> Delivered:
            try:
                return await super().send(part)
            except error as exc:
                raise instead from exc

    return Mistakes


class TriesAgain(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except ChannelError:
            await super().send(part)
            raise


class NeverSendsAgain(Faulty):
    failed: ChannelError | None = None

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        if self.failed is not None:
            self.platform.tries += 1
            raise self.failed
        try:
            return await super().send(part)
        except ChannelError as exc:
            self.failed = exc
            raise


class QuotesThePart(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except ChannelError as exc:
            raise exc from RuntimeError(f"request was {part!r}")


class LeavesItsLockBehind(Faulty):
    locked = False

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        while self.locked:
            await anyio.lowlevel.checkpoint()
        self.locked = True
        try:
            delivered = await super().send(part)
        except ChannelError:
            self.locked = False
            raise
        self.locked = False
        return delivered


SABOTEURS: tuple[tuple[str, MakeChannel], ...] = (
    ("it_listens_until_it_is_cancelled", ListensOnce),
    ("what_people_write_reaches_the_inbox", ForgetsWhoWrote),
    ("messages_arrive_in_their_order", NewestFirst),
    ("it_acknowledges_after_the_inbox_and_not_before", AcknowledgesBefore),
    ("what_was_not_taken_is_offered_again", IgnoresTheVerdict),
    ("what_needs_no_turn_is_acknowledged", AcknowledgesTheAcceptedAlone),
    ("a_part_is_shown_as_it_is", JoinsLines),
    ("the_longest_part_is_shown_whole", CutsLongOnes),
    (
        "a_rate_limit_is_told_with_its_wait",
        mistakes(ChannelRateLimited, ChannelRateLimited("too fast", retry_after=timedelta(seconds=1))),
    ),
    ("what_did_not_leave_is_told", mistakes(ChannelUnreachable, ChannelOutcomeUnknown("perhaps"))),
    ("what_was_refused_is_told", mistakes(ChannelRejected, ChannelUnreachable("not now"))),
    ("what_may_have_arrived_is_told", mistakes(ChannelOutcomeUnknown, ChannelUnreachable("not now"))),
    ("nothing_is_sent_again", TriesAgain),
    ("it_can_send_after_every_error", NeverSendsAgain),
    ("no_message_shows_in_an_error", QuotesThePart),
    ("who_stops_sending_leaves_it_usable", LeavesItsLockBehind),
)


async def checks_that_fail(make: Callable[[MemoryPlatform], Channel]) -> set[str]:
    failed: set[str] = set()
    for check in CHANNEL_CHECKS:
        try:
            await check.run(MemoryHarness(make, patience=timedelta(seconds=0.5)))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(("check", "saboteur"), SABOTEURS, ids=[check for check, _ in SABOTEURS])
async def test_a_planted_fault_breaks_its_check_alone(check: str, saboteur: MakeChannel) -> None:
    with anyio.fail_after(20):
        assert await checks_that_fail(saboteur) == {check}


def test_every_check_has_a_saboteur() -> None:
    assert {check for check, _ in SABOTEURS} == {check.id for check in CHANNEL_CHECKS}
