"""Checks of files and reactions on the way out, of files that rows name, and of chats that are gone."""

from dataclasses import replace
from datetime import timedelta

from fermix.application.ports.admissions import OpenWindow
from fermix.application.ports.outbox import NotDelivered, SendingPart
from fermix.application.ports.ownership import Retention
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import GONE_FOR, MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.history import UserEntry
from fermix.domain.ids import ChatId, PlatformMessageId
from fermix.domain.picture import Picture
from fermix.domain.recovery import Repeat
from fermix.testing.expectations import must_be, must_equal
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    asked_and_claimed,
    deliver,
    effect,
    owned,
    proves,
    recover,
    remembered,
)
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import answering, commanding, written

_BLOB = BlobRef(digest="ab" * 32, size_bytes=7)
_FILE = MediaPart(
    kind=MediaKind.VOICE, blob=_BLOB, file_name="note.ogg", mime_type="audio/ogg", caption="hear, hear"
)
_REACTION = ReactionPart(message=PlatformMessageId("m1"), emoji="👍")
_GONE = NotDelivered(error="blocked", target_gone=True)


async def _committed(
    ledger: OpenLedger, *parts: Part, key: str = "1", chat: str = "7"
) -> tuple[SendingPart, ...]:
    claimed = await asked_and_claimed(ledger, key, chat=chat)
    return await ledger.turns.settle(replace(answering(claimed, "answer"), parts=parts))


@proves()
async def every_kind_of_part_comes_out_as_it_went_in(harness: LedgerHarness) -> None:
    """Texts, files and reactions leave in their order and as they were committed, also after a death."""
    bodies = (TextPart(text="look"), _FILE, _REACTION)
    async with owned(harness) as ledger:
        await _committed(ledger, *bodies)
        await harness.kill()
    async with owned(harness) as ledger:
        following: SendingPart | None
        (following,) = (await recover(ledger)).parts
        found = list[Part]()
        while following is not None:
            found.append(following.body)
            following = await ledger.outbox.done(following.part, NotDelivered(error="seen"))
    must_equal(tuple(found), bodies, "the parts")


@proves()
async def a_file_sent_in_mid_turn_is_an_effect(harness: LedgerHarness) -> None:
    """A file commits with its intent, and comes out as it went in."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        intent = replace(effect(claimed, Repeat.UNSAFE, shows="x"), part=_FILE)
        sending = must_be(await ledger.turns.begin_effect(intent), SendingPart, "the part to send")
    must_equal(sending.body, _FILE, "its body")


@proves("retention.media_with_its_last_row")
async def a_file_is_named_until_its_last_row_goes(harness: LedgerHarness) -> None:
    """A file is named while a part holds it, open or closed, and no longer than that part is kept."""
    other = "cd" * 32
    async with owned(harness) as ledger:
        must_equal(await ledger.blob_names.named((_BLOB.digest, other)), frozenset(), "names at first")
        parts = await _committed(ledger, _FILE)
        for about in ("open", "sent"):
            named = await ledger.blob_names.named((_BLOB.digest, other))
            must_equal(named, frozenset({_BLOB.digest}), f"names while the part is {about}")
            await deliver(ledger, parts)
        harness.clock.advance(timedelta(days=8))
        await ledger.ownership.sweep(Retention())
        must_equal(await ledger.blob_names.named((_BLOB.digest,)), frozenset(), "names after the sweep")


@proves()
async def a_picture_is_named_while_its_window_is_open(harness: LedgerHarness) -> None:
    """A picture of the history is named until `/new`, however old its message is."""
    picture = Picture(content=_BLOB, mime_type="image/png", width=2, height=3)
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        entries = (
            UserEntry(text="look", pictures=(picture, picture)),
            UserEntry(text="", pictures=(picture,)),
        )
        settlement = replace(answering(claimed, "nice"), entries=entries)
        await deliver(ledger, await ledger.turns.settle(settlement))
        harness.clock.advance(timedelta(days=99))
        await ledger.ownership.sweep(Retention())
        must_equal(await remembered(ledger), entries, "the history")
        must_equal(await ledger.blob_names.named((_BLOB.digest,)), frozenset({_BLOB.digest}), "names in it")
        await admit(ledger, commanding(written("2", "/new"), OpenWindow()))
        must_equal(await ledger.blob_names.named((_BLOB.digest,)), frozenset(), "names after /new")


@proves()
async def a_chat_that_is_gone_is_said_with_each_part(harness: LedgerHarness) -> None:
    """Parts of a chat that is gone are handed out as such, also after a death; those of others are not."""
    async with owned(harness) as ledger:
        first, *_ = await _committed(ledger, TextPart(text="one"), TextPart(text="two"))
        must_equal(first.target_gone, False, "the first part's chat is gone")
        following = must_be(await ledger.outbox.done(first.part, _GONE), SendingPart, "what follows")
        must_equal((following.body.text, following.target_gone), ("two", True), "what follows")
        await ledger.outbox.done(following.part, NotDelivered(error="its chat is gone"))
        (elsewhere,) = await _committed(ledger, TextPart(text="hi"), key="2", chat="8")
        must_equal(elsewhere.target_gone, False, "another chat is gone")
        claimed = await asked_and_claimed(ledger, "3", chat="9")
        lost = replace(answering(claimed, "x").target, chat=ChatId("7"))
        await ledger.turns.settle(replace(answering(claimed, "late"), target=lost))
        await harness.kill()
    async with owned(harness) as ledger:
        (late,) = [part for part in (await recover(ledger)).parts if part.body.text == "late"]
        must_equal(late.target_gone, True, "the chat is gone after a death")
        (gone,) = (await ledger.queue.listing()).gone
        must_equal((gone.chat.chat, gone.error), ("7", "blocked"), "the chat in the list")


@proves()
async def a_chat_that_is_gone_is_tried_again_after_a_while(harness: LedgerHarness) -> None:
    """When the time is over for which it counts as gone, a chat is written to like any other."""
    async with owned(harness) as ledger:
        parts = await _committed(ledger, TextPart(text="one"), TextPart(text="two"))
        harness.clock.advance(timedelta(seconds=1))
        await ledger.outbox.done(parts[0].part, _GONE)
        await harness.kill()
    harness.clock.advance(GONE_FOR)
    async with owned(harness) as ledger:
        (again,) = (await recover(ledger)).parts
        must_equal(again.target_gone, False, "the chat is gone")


@proves()
async def whoever_writes_is_not_gone(harness: LedgerHarness) -> None:
    """A message from a chat that was gone makes it one like any other, in the same commit."""
    async with owned(harness) as ledger:
        parts = await _committed(ledger, TextPart(text="one"))
        await ledger.outbox.done(parts[0].part, _GONE)
        must_equal(len((await ledger.queue.listing()).gone), 1, "chats that are gone")
        (back,) = await _committed(ledger, TextPart(text="hello again"), key="2")
        must_equal(back.target_gone, False, "the chat is gone")
        must_equal((await ledger.queue.listing()).gone, (), "chats that are gone")
        must_equal((await ledger.outbox.due(channels=SERVED, limit=9)).parts, (), "parts that come back")


CHECKS: tuple[LedgerCheck, ...] = (
    every_kind_of_part_comes_out_as_it_went_in,
    a_file_sent_in_mid_turn_is_an_effect,
    a_file_is_named_until_its_last_row_goes,
    a_picture_is_named_while_its_window_is_open,
    a_chat_that_is_gone_is_said_with_each_part,
    a_chat_that_is_gone_is_tried_again_after_a_while,
    whoever_writes_is_not_gone,
)
