"""Channels with one fault each on the way in, by the check that is there to notice it."""

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import ClassVar

import anyio
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.testing.memory_channel import MemoryPlatform
from tests.contract.channel.faulty import Between, Faulty, Raw, answers, forgets, hears, offers
from tests.contract.channel.memory_far_side import CREDENTIAL, MakeChannel

_log = logging.getLogger("saboteur")


class EndsWhenNothingWaits(Faulty):
    """But not for the first time."""

    listened = False

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        if self.listened and self.platform.acknowledged == self.platform.written:
            return
        self.listened = True
        await super().run(inbox, cursor=cursor)


class DropsWhatWaited(Faulty):
    """As clients with `drop_pending_updates` do."""

    listened = False

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        if self.listened and self.platform.acknowledged == 1:
            self.platform.acknowledge(2)
        self.listened = True
        await super().run(inbox, cursor=cursor)


class SharesItsConnection(Faulty):
    latest: ClassVar[Channel | None] = None

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        type(self).latest = inside

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        latest = type(self).latest
        return await (self.inside if latest is None else latest).send(part)


class SharesItsPlace(Faulty):
    """Has one place for itself and the one that was made just before it and has not listened yet."""

    latest: ClassVar[MemoryPlatform | None] = None
    heard: ClassVar[list[MemoryPlatform]] = []

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        latest, type(self).latest = type(self).latest, platform
        self.twin = None if any(latest is each for each in (platform, *self.heard)) else latest

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        if self.twin is not None and any(self.twin is each for each in self.heard):
            self.platform.acknowledge(self.twin.acknowledged)
        self.heard.append(self.platform)
        await super().run(inbox, cursor=cursor)


class PollsUnderItsOnlyLock(Faulty):
    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.lock = anyio.Lock()

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async with self.lock:
            await super().run(inbox, cursor=cursor)

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        async with self.lock:
            pass
        return await super().send(part)


class StaysAway(Faulty):
    gone: ChannelUnreachable | None = None

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        if self.gone is not None:
            raise self.gone
        try:
            await super().run(inbox, cursor=cursor)
        except ChannelUnreachable as exc:
            self.gone = exc
            raise


class SortsByText(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            order = sorted(range(len(offered)), key=lambda at: str(offered[at].message.get("content")))
            verdicts = await inbox.accept([offered[at] for at in order], cursor=move)
            return tuple(verdict for _, verdict in sorted(zip(order, verdicts, strict=True)))

        await super().run(Between(inbox, accept), cursor=cursor)


class AcknowledgesBefore(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            try:
                return await inbox.accept(offered, cursor=move)
            except anyio.get_cancelled_exc_class():
                self.platform.acknowledge(self.platform.acknowledged + len(offered))
                raise

        await super().run(Between(inbox, accept), cursor=cursor)


class EndsQuietly(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        try:
            await super().run(inbox, cursor=cursor)
        except anyio.get_cancelled_exc_class():
            return


class DropsGarbage(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            kept = [at for at, each in enumerate(offered) if is_readable(each)]
            verdicts = dict(
                zip(kept, await inbox.accept([offered[at] for at in kept], cursor=move), strict=True)
            )
            return tuple(verdicts.get(at, Verdict.DROPPED) for at in range(len(offered)))

        await super().run(Between(inbox, accept), cursor=cursor)


def is_readable(offered: Offered) -> bool:
    registration = Registration(channel=ChannelName("memory"), account=AccountId("bot"))
    return isinstance(normalise(offered.message, registration), InboundMessage)


class StopsAtGarbage(Faulty):
    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            if not all(isinstance(each.message.get("content"), str) for each in offered):
                raise ChannelUnreachable("an update that cannot be read")
            return await inbox.accept(offered, cursor=move)

        await super().run(Between(inbox, accept), cursor=cursor)


def logs_of(words: Callable[[Sequence[Offered]], str]) -> MakeChannel:
    class Logs(Faulty):
        @override
        async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
            async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
                _log.debug("channel.heard", extra={"what": words(offered)})
                return await inbox.accept(offered, cursor=move)

            await super().run(Between(inbox, accept), cursor=cursor)

    return Logs


class SaysItsCredential(Faulty):
    """As clients do whose errors quote an address with the credential in it."""

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        try:
            await super().run(inbox, cursor=cursor)
        except ChannelError as exc:
            raise exc from RuntimeError(f"GET https://platform.example/bot{CREDENTIAL}/updates")


def only_taken_last(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """As if the last verdict spoke for all before it."""
    return (verdicts[-1],) * len(verdicts)


def with_references(change: Callable[[Raw], Raw | None]) -> MakeChannel:
    def changed(raw: Raw) -> Raw:
        found = raw.get("references")
        if not isinstance(found, list):
            return raw
        return {**raw, "references": [new for old in found if (new := change(dict(old))) is not None]}

    return offers(changed)


def nameless_reply(old: Raw) -> Raw:
    return old if old["is_ours"] or old["kind"] != "reply" else {**old, "message": None}


def keeps_the_suffix(raw: Raw) -> Raw:
    whole = raw.get("raw_content", "")
    return {**raw, "content": whole} if str(whole).startswith("/") else raw


def without_sizes(raw: Raw) -> Raw:
    found = raw.get("attachments")
    if not found or not all(isinstance(each, dict) for each in found):
        return raw
    return {**raw, "attachments": [{**each, "size_bytes": None} for each in found]}


_numbers = itertools.count()

_KEPT = frozenset({Verdict.ACCEPTED, Verdict.DROPPED})

SABOTEURS_IN: tuple[tuple[str, MakeChannel], ...] = (
    ("it_listens_until_it_is_cancelled", EndsWhenNothingWaits),
    ("listening_again_goes_on_behind_what_was_taken", DropsWhatWaited),
    ("two_of_a_kind_send_apart", SharesItsConnection),
    ("two_of_a_kind_listen_apart", SharesItsPlace),
    ("it_sends_while_it_listens", PollsUnderItsOnlyLock),
    ("a_refused_credential_is_told", hears(ChannelRejected, ChannelUnreachable("not now"))),
    ("a_platform_that_is_gone_is_told", hears(ChannelUnreachable, ChannelRejected("not ever"))),
    ("a_platform_that_is_back_is_heard", StaysAway),
    (
        "what_people_write_reaches_the_inbox",
        offers(lambda raw: {**raw, "content": str(raw.get("content")).replace("  ", " ")}),
    ),
    ("it_tells_sender", forgets("sender_id")),
    ("it_tells_bot", forgets("sender_is_bot")),
    ("it_tells_group", forgets("chat_title")),
    ("it_tells_group", forgets("chat_kind")),
    ("it_tells_thread", forgets("thread_ts")),
    (
        "it_tells_reply",
        with_references(nameless_reply),
    ),
    ("it_tells_ours", with_references(lambda old: {**old, "is_ours": False})),
    (
        "it_tells_quote",
        with_references(lambda old: {**old, "kind": "reply"} if old["kind"] == "quote" else old),
    ),
    ("it_tells_forward", with_references(lambda old: None if old["kind"] == "forward" else old)),
    ("it_tells_edit", forgets("edited_at")),
    ("it_tells_attachment", offers(without_sizes)),
    ("it_tells_album", forgets("album")),
    ("it_tells_mention", forgets("mentions")),
    ("it_tells_command", offers(keeps_the_suffix)),
    ("it_tells_others_command", forgets("command_bot")),
    ("it_tells_time", forgets("sent_at")),
    ("messages_arrive_in_their_order", SortsByText),
    ("it_acknowledges_after_the_inbox_and_not_before", AcknowledgesBefore),
    (
        "what_was_not_taken_is_offered_again",
        answers(lambda all_: all_ if len(all_) > 1 or Verdict.DROPPED in all_ else (Verdict.ACCEPTED,)),
    ),
    ("nothing_beside_a_message_that_was_not_taken_is_lost", answers(only_taken_last)),
    (
        "what_needs_no_turn_is_acknowledged",
        answers(lambda all_: tuple(v if v in _KEPT else Verdict.UNAVAILABLE for v in all_)),
    ),
    ("a_message_keeps_its_key", offers(lambda raw: {**raw, "key": f"k{next(_numbers)}"})),
    ("a_message_keeps_its_key", offers(lambda raw: raw if raw.get("tap") else {**raw, "key": "k"})),
    ("listening_can_be_cancelled_at_every_await", EndsQuietly),
    (
        "odd_words_come_in",
        offers(lambda raw: {**raw, "content": str(raw.get("content")).replace("\x00", "")}),
    ),
    ("garbage_holds_up_nobody", StopsAtGarbage),
    ("garbage_is_counted", DropsGarbage),
    ("no_message_shows_in_a_log", logs_of(repr)),
    ("no_credential_shows_in_a_log", logs_of(lambda _: CREDENTIAL)),
    ("no_credential_shows_in_an_error", SaysItsCredential),
)
