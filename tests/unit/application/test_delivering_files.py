"""Files, reactions and chats that are gone, on their way from the ledger to a channel."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import anyio
import pytest

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.delivery.sending import SEND_LIMIT_SECONDS, send_limit
from fermix.application.gateway.files import NOT_YET_NAMED, SweepFiles
from fermix.application.ports.blobs import BlobMissing, BlobsUnavailable
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    Delivered,
    Inbox,
    OutgoingPart,
)
from fermix.application.ports.ownership import Retention
from fermix.domain.blob import BlobRef
from fermix.domain.caps import CAPS
from fermix.domain.delivery import (
    GONE_FOR,
    REPEAT_MARK,
    MediaKind,
    MediaPart,
    Part,
    ReactionPart,
    TextPart,
)
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, TurnId
from fermix.domain.telemetry import ChannelMessage, ChannelReply, Event, MediaSendError
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_ledger import MemoryLedger
from fermix.testing.samples import REMOTE, answering, asking, written

pytestmark = pytest.mark.anyio

BLOB = BlobRef(digest="ab" * 32, size_bytes=7)
BOT = AccountId("bot")
PHOTO = MediaPart(kind=MediaKind.IMAGE, blob=BLOB, file_name="a.png", mime_type="image/png", caption="look")
VOICE = MediaPart(kind=MediaKind.VOICE, blob=BLOB, file_name="a.ogg", mime_type="audio/ogg")
REACTION = ReactionPart(message=PlatformMessageId("m1"), emoji="👍")


@dataclass(slots=True)
class Recording:
    """A channel that shows what it gets, or fails as the test lined up."""

    shown: list[Part] = field(default_factory=list)
    tries: int = 0
    faults: list[Exception] = field(default_factory=list)
    account: AccountId = BOT
    features: ChannelFeatures = field(
        default_factory=lambda: ChannelFeatures.within(CAPS[ChannelName("whatsapp")])
    )

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await anyio.sleep_forever()

    async def send(self, part: OutgoingPart) -> Delivered:
        self.tries += 1
        if self.faults:
            raise self.faults.pop(0)
        self.shown.append(part.body)
        return Delivered(platform_id=PlatformMessageId(f"p{len(self.shown)}"))


@dataclass(slots=True)
class Heard:
    """Telemetry that keeps what it is told."""

    events: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)


@dataclass(slots=True, kw_only=True)
class Yard:
    """A ledger, a channel, and the deliverer between them."""

    ledger: MemoryLedger
    clock: StoppedClock
    channel: Recording
    deliverer: Deliverer
    heard: Heard
    count: int = 0
    ended: list[TurnId] = field(default_factory=list)

    async def answers(self, *parts: Part, chat: str = "7") -> None:
        """Somebody writes, and these parts are the reply; back when nothing is under way."""
        self.count += 1
        message = written(f"k{self.count}", "hello", chat=chat)
        await self.ledger.admissions.admit([asking(message)])
        (claimed,) = (await self.ledger.turns.claim(limit=9, channels=frozenset({REMOTE}))).turns
        to_send = await self.ledger.turns.settle(replace(answering(claimed), parts=parts))
        self.deliverer.expect(claimed.turn, len(parts), self.ended.append)
        self.deliverer.submit(to_send)
        await self.rests()

    async def posts(self, *parts: Part, chat: str = "7") -> None:
        """These parts go to a chat in which nobody has written anything new."""
        self.count += 1
        await self.ledger.admissions.admit([asking(written(f"k{self.count}", "run a job", chat="other"))])
        (claimed,) = (await self.ledger.turns.claim(limit=9, channels=frozenset({REMOTE}))).turns
        settlement = answering(claimed)
        target = replace(settlement.target, chat=ChatId(chat), reply_to=None)
        self.deliverer.submit(await self.ledger.turns.settle(replace(settlement, parts=parts, target=target)))
        await self.rests()

    async def rests(self) -> None:
        with anyio.fail_after(5):
            await anyio.wait_all_tasks_blocked()
            await self.deliverer.quiet()
            await anyio.wait_all_tasks_blocked()

    async def later(self, wait: timedelta) -> None:
        self.clock.advance(wait)
        self.deliverer.look()
        await self.rests()

    @property
    def texts(self) -> Sequence[str]:
        return [part.text for part in self.channel.shown]

    async def gone(self) -> Sequence[str]:
        return [each.chat.chat for each in (await self.ledger.queue.listing()).gone]


@asynccontextmanager
async def a_yard() -> AsyncGenerator[Yard]:
    clock, ids, heard, channel = StoppedClock(), CountedIds(), Heard(), Recording()
    ledger = MemoryLedger(clock=clock, ids=ids)
    await ledger.ownership.take(instance="i", boot="b")
    deliverer = Deliverer(
        outbox=ledger.outbox, channels={REMOTE: channel}, clock=clock, ids=ids, telemetry=heard
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(deliverer.run)
        yield Yard(ledger=ledger, clock=clock, channel=channel, deliverer=deliverer, heard=heard)
        tasks.cancel_scope.cancel()


async def test_texts_files_and_reactions_leave_in_their_order_and_are_kept_with_their_ids() -> None:
    async with a_yard() as yard:
        await yard.answers(TextPart(text="one"), PHOTO, REACTION, TextPart(text="two"))
        assert yard.channel.shown == [TextPart(text="one"), PHOTO, REACTION, TextPart(text="two")]
        assert len(yard.ended) == 1


async def test_a_reaction_is_no_message_and_a_file_that_fails_is_told_with_its_kind() -> None:
    async with a_yard() as yard:
        await yard.answers(REACTION)
        assert [e for e in yard.heard.events if isinstance(e, ChannelMessage)] == []
        yard.channel.faults = [ChannelRejected("no")]
        await yard.answers(PHOTO)
        replies = [e for e in yard.heard.events if isinstance(e, ChannelReply)]
        assert [e.reply_type.value for e in replies] == ["reaction", "media"]
        (error,) = [e for e in yard.heard.events if isinstance(e, MediaSendError)]
        assert (error.media_kind, error.reason.value) == ("image", "rejected")


@pytest.mark.requirement("deliver.repeat_is_marked")
async def test_a_file_that_may_have_arrived_is_marked_in_its_caption() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelOutcomeUnknown("the line broke")]
        await yard.answers(PHOTO)
        await yard.later(timedelta(seconds=2))
        assert yard.channel.shown == [replace(PHOTO, caption=f"{REPEAT_MARK}\nlook")]


async def test_a_file_without_a_caption_is_announced_as_a_possible_repeat() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelOutcomeUnknown("the line broke")]
        await yard.answers(VOICE)
        await yard.later(timedelta(seconds=2))
        assert yard.channel.shown == [TextPart(text=REPEAT_MARK), VOICE]


async def test_a_reaction_that_may_have_arrived_is_put_again_as_it_is() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelOutcomeUnknown("the line broke")]
        await yard.answers(REACTION)
        await yard.later(timedelta(seconds=2))
        assert yard.channel.shown == [REACTION]


@pytest.mark.requirement("outbound_media.deduplicated_60_seconds")
async def test_the_same_file_is_not_posted_twice_within_a_minute() -> None:
    async with a_yard() as yard:
        await yard.answers(PHOTO)
        await yard.answers(PHOTO, TextPart(text="again"))
        assert yard.channel.shown == [PHOTO, TextPart(text="again")]
        assert len(yard.ended) == 2
        await yard.later(timedelta(seconds=60))
        await yard.answers(PHOTO)
        assert yard.channel.shown == [PHOTO, TextPart(text="again"), PHOTO]


@pytest.mark.requirement("outbound_media.deduplicated_60_seconds")
@pytest.mark.parametrize(
    "other",
    [
        replace(PHOTO, kind=MediaKind.DOCUMENT),
        replace(PHOTO, caption="see"),
        replace(PHOTO, file_name="b.png"),
        replace(PHOTO, mime_type="image/webp"),
        replace(PHOTO, blob=replace(BLOB, digest="cd" * 32)),
    ],
)
async def test_a_file_that_differs_in_anything_is_another_one(other: MediaPart) -> None:
    async with a_yard() as yard:
        await yard.answers(PHOTO)
        await yard.answers(other)
        assert yard.channel.shown == [PHOTO, other]


@pytest.mark.requirement("outbound_media.deduplicated_60_seconds")
async def test_another_chat_gets_the_same_file() -> None:
    async with a_yard() as yard:
        await yard.answers(PHOTO)
        await yard.answers(PHOTO, chat="8")
        assert yard.channel.shown == [PHOTO, PHOTO]


@pytest.mark.requirement("outbound_media.deduplicated_60_seconds")
@pytest.mark.parametrize("fault", [ChannelRejected("no"), BlobMissing("gone")])
async def test_a_file_that_was_not_sent_keeps_no_other_back(fault: Exception) -> None:
    async with a_yard() as yard:
        yard.channel.faults = [fault]
        await yard.answers(PHOTO)
        await yard.answers(PHOTO)
        assert yard.channel.shown == [PHOTO]
        assert yard.channel.tries == 2


@pytest.mark.parametrize("fault", [ChannelUnreachable("nobody"), BlobsUnavailable("busy")])
async def test_a_file_that_did_not_leave_is_tried_again_by_its_own_part(fault: Exception) -> None:
    async with a_yard() as yard:
        yard.channel.faults = [fault]
        await yard.answers(PHOTO)
        assert yard.channel.shown == []
        await yard.later(timedelta(seconds=1))
        assert yard.channel.shown == [PHOTO]


async def test_what_waits_for_a_chat_that_is_gone_ends_at_once_and_unasked() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelTargetGone("blocked")]
        await yard.answers(TextPart(text="one"), PHOTO, TextPart(text="two"))
        assert (yard.channel.tries, yard.channel.shown, len(yard.ended)) == (1, [], 1)
        assert await yard.gone() == ["7"]
        await yard.posts(TextPart(text="a reminder"))
        assert yard.channel.tries == 1
        await yard.answers(TextPart(text="elsewhere"), chat="8")
        assert yard.texts == ["elsewhere"]


async def test_whoever_writes_again_is_answered() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelTargetGone("blocked")]
        await yard.answers(TextPart(text="one"))
        await yard.answers(TextPart(text="welcome back"))
        assert yard.texts == ["welcome back"]
        assert await yard.gone() == []


async def test_a_chat_that_is_gone_is_asked_once_a_day_at_most() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelTargetGone("blocked"), ChannelTargetGone("blocked")]
        await yard.answers(TextPart(text="one"))
        yard.clock.advance(GONE_FOR)
        await yard.posts(TextPart(text="two"), TextPart(text="three"))
        assert yard.channel.tries == 2
        yard.clock.advance(GONE_FOR)
        await yard.posts(TextPart(text="four"))
        assert yard.texts == ["four"]


async def test_a_refusal_of_one_part_says_nothing_of_the_chat() -> None:
    async with a_yard() as yard:
        yard.channel.faults = [ChannelRejected("too odd")]
        await yard.answers(TextPart(text="one"), TextPart(text="two"))
        assert yard.texts == ["two"]
        assert await yard.gone() == []


def test_a_large_file_may_take_longer_than_a_text() -> None:
    assert send_limit(TextPart(text="x")) == SEND_LIMIT_SECONDS
    large = replace(PHOTO, blob=replace(BLOB, size_bytes=50 * 1024 * 1024))
    assert send_limit(large) == SEND_LIMIT_SECONDS + 400


@pytest.mark.requirement("retention.media_with_its_last_row")
async def test_a_stored_file_goes_with_the_last_row_that_names_it_and_not_before() -> None:
    async with a_yard() as yard:
        blobs = MemoryBlobs(clock=yard.clock)
        sweep = SweepFiles(blobs=blobs, names=yard.ledger.blob_names, clock=yard.clock)
        stored = [await keep(blobs, content) for content in (b"named", b"lost", b"young")]
        await yard.answers(replace(PHOTO, blob=stored[0]))
        assert await sweep() == 0
        yard.clock.advance(NOT_YET_NAMED + timedelta(seconds=1))
        await keep(blobs, b"young")
        assert await sweep() == 1
        yard.clock.advance(timedelta(days=8))
        await yard.ledger.ownership.sweep(Retention())
        assert await sweep() == 2
        assert await blobs.stale(before=yard.clock.now() + timedelta(days=1), limit=9) == []


async def keep(blobs: MemoryBlobs, content: bytes) -> BlobRef:
    return await blobs.store(in_pieces(content), limit=99)
