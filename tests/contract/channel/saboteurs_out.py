"""Channels with one fault each on the way out, by the check that is there to notice it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import anyio
import anyio.lowlevel
from typing_extensions import override

from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    OutgoingPart,
)
from fermix.domain.delivery import TextPart
from fermix.domain.splitting import TextUnit, units
from fermix.testing.channel_conformance import Trouble
from fermix.testing.memory_channel import MemoryPlatform
from tests.contract.channel.faulty import Faulty, claims, sends, sends_text, takes_for
from tests.contract.channel.memory_far_side import CREDENTIAL, MAX_TEXT, MakeChannel

_log = logging.getLogger("saboteur")


class Overtakes(Faulty):
    """Shows the third part before the second."""

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        delivered = await super().send(part)
        if len(self.platform.posted) == 3 and isinstance(part.body, TextPart):
            self.platform.posted[1:] = self.platform.posted[:0:-1]
        return delivered


class NeverRepeatsItself(Faulty):
    """Takes a part that reads as the last one did for the last one."""

    last: tuple[OutgoingPart, Delivered] | None = None

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        if self.last is not None and (self.last[0].target, self.last[0].body) == (part.target, part.body):
            return self.last[1]
        delivered = await super().send(part)
        self.last = (part, delivered)
        return delivered


class TripsOverABrokenLine(Faulty):
    """Notices that a line is broken when it has written on it."""

    known = 0

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        known, self.known = self.known, self.platform.breaks
        if known < self.platform.breaks:
            raise ChannelOutcomeUnknown("the line broke")
        return await super().send(part)


class HasNoNumbers(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        delivered = await super().send(part)
        return Delivered() if isinstance(part.body, TextPart) else delivered


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
            self.failed = exc if isinstance(part.body, TextPart) else None
            raise


class QuotesThePart(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except ChannelError as exc:
            raise exc from RuntimeError(f"request was {part!r}")


class LeavesItsLockBehind(Faulty):
    """When it is cancelled while no answer comes."""

    locked = False

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        if self.locked:
            await anyio.sleep_forever()
        trouble = self.platform.next_trouble
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class():
            self.locked = trouble is Trouble.STALLED
            raise


class OneAtATime(Faulty):
    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.lock = anyio.Lock()

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        async with self.lock:
            return await super().send(part)


class MakesAnErrorOfIt(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class() as exc:
            raise ChannelOutcomeUnknown("we were stopped") from exc


class LeavesATask(Faulty):
    """On asyncio alone: elsewhere no task is without an owner."""

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.tasks: list[asyncio.Task[None]] = []

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class():
            self.tasks.append(asyncio.create_task(anyio.sleep_forever()))
            raise


class LeavesALine(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except anyio.get_cancelled_exc_class():
            self.platform.lines += 1
            raise


class TrustsInUnicode(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        part.body.text.encode()
        return await super().send(part)


class LogsParts(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        _log.debug("channel.sent %s", part.body.text)
        return await super().send(part)


class LogsAddresses(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        _log.debug("POST https://platform.example/bot%s/send", CREDENTIAL)
        return await super().send(part)


def is_a(kind: type[ChannelError], words: str = "") -> Callable[[ChannelError], bool]:
    return lambda exc: isinstance(exc, kind) and words in str(exc)


def cut_where_letters_were_counted(text: str) -> str:
    """Makes what is too long fit, but only where its letters alone would have."""
    return text[: MAX_TEXT // 2] if len(text) <= MAX_TEXT < units(text, TextUnit.UTF16) else text


SABOTEURS_OUT: tuple[tuple[str, MakeChannel], ...] = (
    ("a_line_that_broke_unused_is_none_of_the_next_part", TripsOverABrokenLine),
    ("a_part_is_shown_as_it_is", sends_text(lambda text: text.replace("\n\n", "\n"))),
    ("parts_are_shown_in_their_order", Overtakes),
    ("the_same_words_can_be_said_twice", NeverRepeatsItself),
    (
        "a_part_goes_to_its_thread",
        sends(lambda part: replace(part, target=replace(part.target, thread=None))),
    ),
    ("a_sent_part_is_known_by_its_id", HasNoNumbers),
    ("the_longest_part_is_shown_whole", claims(lambda own: replace(own, max_text=MAX_TEXT + 1))),
    (
        "a_repeat_under_its_old_nonce_is_shown_once_where_that_is_said",
        claims(lambda own: replace(own, nonce_kept_for=timedelta(minutes=2))),
    ),
    ("length_is_counted_as_it_says", claims(lambda own: replace(own, text_unit=TextUnit.CODE_POINTS))),
    ("what_is_too_long_is_refused", sends_text(lambda text: text[:MAX_TEXT])),
    ("one_more_character_is_too_long", sends_text(cut_where_letters_were_counted)),
    (
        "a_rate_limit_is_told_with_its_wait",
        takes_for(is_a(ChannelRateLimited), ChannelRateLimited("too fast", retry_after=timedelta(seconds=1))),
    ),
    (
        "what_did_not_leave_is_told",
        takes_for(is_a(ChannelUnreachable), ChannelOutcomeUnknown("perhaps")),
    ),
    ("what_was_refused_is_told", takes_for(is_a(ChannelRejected, "refused"), ChannelUnreachable("not now"))),
    (
        "what_may_have_arrived_is_told",
        takes_for(is_a(ChannelOutcomeUnknown, "broke"), ChannelUnreachable("not now")),
    ),
    ("an_answer_that_is_none_is_told", takes_for(is_a(ChannelOutcomeUnknown, "is none"), Delivered())),
    ("nothing_is_sent_again", TriesAgain),
    ("it_can_send_after_every_error", NeverSendsAgain),
    ("who_stops_sending_leaves_it_usable", LeavesItsLockBehind),
    ("a_part_without_an_answer_holds_up_no_other", OneAtATime),
    ("sending_can_be_cancelled_at_every_await", MakesAnErrorOfIt),
    ("who_leaves_leaves_no_task", LeavesATask),
    ("who_leaves_leaves_no_line_open", LeavesALine),
    ("odd_words_go_out", TrustsInUnicode),
    ("no_message_shows_in_an_error", QuotesThePart),
    ("no_message_shows_in_a_log", LogsParts),
    ("no_credential_shows_in_a_log", LogsAddresses),
)
