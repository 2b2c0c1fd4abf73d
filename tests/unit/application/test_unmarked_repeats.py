"""A part that may have arrived is sent again with a mark, unless its platform drops the double by itself."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from fermix.application.delivery.sealing import Sealing
from fermix.application.delivery.sending import Sending
from fermix.application.ports.channel import ChannelFeatures, Delivered, Inbox, OutgoingPart
from fermix.application.ports.outbox import SendingPart
from fermix.domain.delivery import TextPart, mark_repeated
from fermix.domain.ids import AccountId, ChannelName, ChatId, PartId, TurnId
from fermix.domain.route import Target
from fermix.testing.clock import CountedIds, StoppedClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("deliver.unmarked_repeats")]

KEPT = timedelta(minutes=2)
PLACE = Target(channel=ChannelName("test"), account=AccountId("a"), chat=ChatId("c"))
ANSWER = TextPart(text="The answer")


@dataclass(slots=True)
class Remembers:
    """A channel that says for how long its platform knows a nonce."""

    nonce_kept_for: timedelta | None
    account: AccountId = PLACE.account
    sent: list[OutgoingPart] = field(default_factory=list)

    @property
    def features(self) -> ChannelFeatures:
        return ChannelFeatures(nonce_kept_for=self.nonce_kept_for)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        raise NotImplementedError

    async def send(self, part: OutgoingPart) -> Delivered:
        self.sent.append(part)
        return Delivered()


async def sent_again(kept: timedelta | None, *, after: timedelta, tried: bool = True) -> OutgoingPart:
    """What leaves so long after a first try of which nobody knows the end."""
    clock, channel = StoppedClock(), Remembers(kept)
    now = clock.now()
    part = SendingPart(
        part=PartId(1),
        turn=TurnId(1),
        ordinal=0,
        target=PLACE,
        body=ANSWER,
        nonce="n-1",
        created_at=now,
        tried_at=now if tried else None,
        repeated=True,
    )
    clock.advance(after)
    channels = {PLACE.channel: channel}
    await Sending(channels=channels, sealing=Sealing({}), clock=clock, ids=CountedIds())(part, tries=0)
    (sent,) = channel.sent
    return sent


async def test_while_the_platform_knows_the_nonce_a_repeat_is_the_same_part_once_more() -> None:
    sent = await sent_again(KEPT, after=KEPT - timedelta(seconds=1))
    assert sent == OutgoingPart(target=PLACE, body=ANSWER, nonce="n-1", repeated=False)


@pytest.mark.parametrize(
    ("kept", "after", "tried"),
    [(KEPT, KEPT, True), (None, timedelta(0), True), (KEPT, timedelta(0), False)],
)
async def test_else_it_says_that_it_may_be_one(kept: timedelta | None, after: timedelta, tried: bool) -> None:
    sent = await sent_again(kept, after=after, tried=tried)
    assert sent == replace(OutgoingPart(target=PLACE, body=mark_repeated(ANSWER), nonce="n-1"), repeated=True)
