"""The checks notice over every platform too what goes wrong where its library or its far side is in between."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    OutgoingPart,
    Verdict,
)
from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelHarness, Gap, PromiseBroken
from tests.contract.channel.discord_far_side import DISCORD_GAPS, DiscordHarness
from tests.contract.channel.faulty import Faulty, answers, forgets, hears, takes_for
from tests.contract.channel.memory_far_side import MakeChannel
from tests.contract.channel.signal_far_side import SIGNAL_GAPS, SignalHarness
from tests.contract.channel.slack_far_side import SLACK_GAPS, SlackHarness
from tests.contract.channel.telegram_far_side import TelegramHarness
from tests.contract.channel.whatsapp_far_side import WHATSAPP_GAPS, WhatsAppHarness

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class TriesAgain(Faulty):
    """As a library does that repeats what it got no answer to."""

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except ChannelOutcomeUnknown:
            await super().send(part)
            raise


class ConfirmsABatch(Faulty):
    """As a library's own loop does, whatever becomes of it; the next process is never offered it again."""

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        confirms = answers(lambda all_: tuple(v if v is Verdict.DROPPED else Verdict.ACCEPTED for v in all_))
        await confirms(self.inside, self.platform).run(inbox, cursor=cursor)


class MakesAnErrorOfIt(Faulty):
    """As code does that takes a cancellation for a broken line."""

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class() as exc:
            raise ChannelOutcomeUnknown("we were stopped") from exc


_PATIENCE = timedelta(seconds=3)
_NOT_TAKEN = "what_was_not_taken_is_offered_again"
_BESIDE = "nothing_beside_a_message_that_was_not_taken_is_lost"

EVERYWHERE: Mapping[str, MakeChannel] = {
    "nothing_is_sent_again": TriesAgain,
    "a_refused_credential_is_told": hears(ChannelRejected, ChannelUnreachable("not now")),
    "sending_can_be_cancelled_at_every_await": MakesAnErrorOfIt,
    "a_rate_limit_is_told_with_its_wait": takes_for(
        lambda error: isinstance(error, ChannelRateLimited), ChannelUnreachable("not now")
    ),
}
"""Faults by the one check that notices them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A platform, and the faults that are planted in its adapter beside those that are planted everywhere."""

    harness: Callable[..., ChannelHarness]
    gaps: Iterable[Gap] = ()
    faults: Mapping[tuple[str, ...], MakeChannel]


PLATFORMS: Mapping[str, Platform] = {
    "telegram": Platform(
        harness=TelegramHarness,
        faults={(_NOT_TAKEN, _BESIDE): ConfirmsABatch, ("it_tells_thread",): forgets("thread_ts")},
    ),
    "whatsapp": Platform(
        harness=WhatsAppHarness,
        gaps=WHATSAPP_GAPS,
        faults={(_NOT_TAKEN, _BESIDE): ConfirmsABatch, ("it_tells_album",): forgets("album")},
    ),
    "slack": Platform(
        harness=SlackHarness,
        gaps=SLACK_GAPS,
        faults={(_NOT_TAKEN, _BESIDE): ConfirmsABatch, ("it_tells_thread",): forgets("thread_ts")},
    ),
    "discord": Platform(
        harness=DiscordHarness,
        gaps=DISCORD_GAPS,
        faults={(_NOT_TAKEN, _BESIDE): ConfirmsABatch, ("it_tells_edit",): forgets("edited_at")},
    ),
    "signal": Platform(
        harness=SignalHarness, gaps=SIGNAL_GAPS, faults={("it_tells_edit",): forgets("edited_at")}
    ),
}


def planted() -> Iterator[object]:
    """Each platform with each fault, and the checks that must notice it."""
    for name, platform in PLATFORMS.items():
        for checks, make in [
            *(((check,), make) for check, make in EVERYWHERE.items()),
            *platform.faults.items(),
        ]:
            yield pytest.param(platform, frozenset(checks), make, id=f"{name}-{'-'.join(checks)}")


async def checks_that_fail(platform: Platform, make: MakeChannel) -> set[str]:
    failed: set[str] = set()
    not_shown = {gap.check for gap in platform.gaps}
    for check in CHANNEL_CHECKS:
        try:
            if check.id not in not_shown:
                await check.run(platform.harness(make, patience=_PATIENCE))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(("platform", "checks", "saboteur"), tuple(planted()))
async def test_a_planted_fault_breaks_its_checks_alone(
    platform: Platform, checks: frozenset[str], saboteur: MakeChannel
) -> None:
    with anyio.fail_after(120):
        assert await checks_that_fail(platform, saboteur) == checks


def test_at_least_four_faults_are_planted_on_each_platform() -> None:
    assert all(len(EVERYWHERE) + len(platform.faults) >= 4 for platform in PLATFORMS.values())
