"""Channels with one fault each about drafts and typing, by the check that is there to notice it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import anyio
from typing_extensions import override

from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    Delivered,
    Drafts,
    OutgoingPart,
    Typing,
)
from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.testing.channel_harness import PRIVATE
from fermix.testing.memory_channel import MemoryPlatform
from tests.contract.channel.faulty import Faulty
from tests.contract.channel.memory_far_side import MAX_TEXT, MakeChannel


class Inside:
    """Drafts that do as those inside do; each saboteur changes one thing."""

    def __init__(self, inside: Drafts, platform: MemoryPlatform) -> None:
        self.inside = inside
        self.platform = platform

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        return await self.inside.open(target, text)

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        await self.inside.edit(target, draft, text)

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        return await self.inside.seal(target, draft, body)

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:
        await self.inside.discard(target, draft)


MakeDrafts: TypeAlias = Callable[[Drafts, MemoryPlatform], Drafts]


def drafts(make: MakeDrafts) -> MakeChannel:
    """A saboteur that has drafts of its own."""

    class HasDrafts(Faulty):
        @property
        @override
        def drafts(self) -> Drafts | None:
            inside = super().drafts
            return None if inside is None else make(inside, self.platform)

    return HasDrafts


class TakesTheReplyForAnotherMessage(Inside):
    @override
    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        return replace(await super().seal(target, draft, body), platform_id=PlatformMessageId("another"))


class MakesAnErrorOfWhatIsGone(Inside):
    @override
    async def discard(self, target: Target, draft: PlatformMessageId) -> None:
        if not any(posted.id == draft for posted in self.platform.posted):
            raise ChannelRejected("there is no such draft")
        await super().discard(target, draft)


class TrustsEveryName(Inside):
    """But those that look like a message of its own."""

    @override
    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        if draft.startswith("out"):
            await super().edit(target, draft, text)


class ForgetsTheThread(Inside):
    @override
    async def open(self, target: Target, text: str) -> PlatformMessageId:
        return await super().open(replace(target, thread=None), text)


class HoldsLess(Inside):
    @override
    async def open(self, target: Target, text: str) -> PlatformMessageId:
        return await super().open(target, text[: MAX_TEXT - 1])

    @override
    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        await super().edit(target, draft, text[: MAX_TEXT - 1])


class TellsItsText(Inside):
    @override
    async def open(self, target: Target, text: str) -> PlatformMessageId:
        try:
            return await super().open(target, text)
        except ChannelRejected as exc:
            raise ChannelRejected(f"could not send {text}") from exc


class TakesEveryFailureForARefusal(Inside):
    """But a wait."""

    @override
    async def open(self, target: Target, text: str) -> PlatformMessageId:
        try:
            return await super().open(target, text)
        except ChannelRateLimited:
            raise
        except ChannelError as exc:
            raise ChannelRejected("not possible") from exc


class HoldsRepliesForDrafts(Faulty):
    """After a draft was told to wait, the next reply is."""

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.held: ChannelRateLimited | None = None

    @property
    @override
    def drafts(self) -> Drafts | None:
        inside, outer = super().drafts, self

        class Holding(Inside):
            @override
            async def open(self, target: Target, text: str) -> PlatformMessageId:
                try:
                    return await super().open(target, text)
                except ChannelRateLimited as exc:
                    outer.held = None if text == PRIVATE else exc
                    raise

        return None if inside is None else Holding(inside, self.platform)

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        held, self.held = self.held, None
        if held is not None:
            raise held
        return await super().send(part)


class MakesAnErrorOfLeaving(Inside):
    @override
    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        try:
            await super().edit(target, draft, text)
        except anyio.get_cancelled_exc_class() as exc:
            raise ChannelOutcomeUnknown("we were stopped") from exc


MakeTyping: TypeAlias = Callable[[Typing, MemoryPlatform], Typing]


def types(make: MakeTyping) -> MakeChannel:
    """A saboteur that types in its own way."""

    class Types(Faulty):
        @property
        @override
        def typing(self) -> Typing | None:
            inside = super().typing
            return None if inside is None else make(inside, self.platform)

    return Types


class _Types:
    def __init__(self, inside: Typing, platform: MemoryPlatform) -> None:
        self.inside = inside
        self.platform = platform


class ShowsItTwice(_Types):
    async def show(self, target: Target) -> None:
        await self.inside.show(target)
        await self.inside.show(target)


_TASKS: set[asyncio.Task[None]] = set()


class GoesOnBehindOurBack(_Types):
    async def show(self, target: Target) -> None:
        await self.inside.show(target)
        task = asyncio.get_running_loop().create_task(_for_ever())
        _TASKS.add(task)
        task.add_done_callback(_TASKS.discard)


async def _for_ever() -> None:
    with anyio.move_on_after(1):
        await anyio.sleep_forever()


class NeverMinds(_Types):
    async def show(self, target: Target) -> None:
        try:
            await self.inside.show(target)
        except ChannelError:
            return


SABOTEURS_LIVE: tuple[tuple[str, MakeChannel], ...] = (
    ("a_draft_is_one_message_that_becomes_the_reply", drafts(TakesTheReplyForAnotherMessage)),
    ("a_draft_that_is_discarded_is_gone", drafts(MakesAnErrorOfWhatIsGone)),
    ("what_is_no_draft_is_refused", drafts(TrustsEveryName)),
    ("a_draft_goes_to_its_thread", drafts(ForgetsTheThread)),
    ("a_draft_holds_as_much_as_a_part", drafts(HoldsLess)),
    ("a_draft_that_cannot_be_opened_says_what_can_be_done", drafts(TellsItsText)),
    ("a_draft_that_cannot_be_opened_says_what_can_be_done", drafts(TakesEveryFailureForARefusal)),
    ("a_wait_for_drafts_keeps_no_reply_from_leaving", HoldsRepliesForDrafts),
    ("a_draft_can_be_left_at_every_await", drafts(MakesAnErrorOfLeaving)),
    ("typing_is_shown_once_for_each_call", types(ShowsItTwice)),
    ("typing_ends_with_whoever_shows_it", types(GoesOnBehindOurBack)),
    ("typing_that_fails_is_told_and_costs_nothing", types(NeverMinds)),
)
