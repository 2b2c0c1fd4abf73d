"""Channels with one fault each about files and reactions, by the check that is there to notice it."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TypeAlias
from weakref import WeakSet

from typing_extensions import override

from fermix.application.ports.blobs import BlobError
from fermix.application.ports.channel import (
    Channel,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    MediaSource,
    OutgoingPart,
)
from fermix.domain.delivery import MediaKind, MediaPart, ReactionPart
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.memory_media import REACTIONS
from tests.contract.channel.faulty import Faulty, claims, sends, takes_for
from tests.contract.channel.memory_far_side import CREDENTIAL, MakeChannel
from tests.contract.channel.saboteurs_out import is_a

Pieces: TypeAlias = AbstractAsyncContextManager[AsyncIterator[bytes]]


def refuses(when: Callable[[Faulty, OutgoingPart], bool]) -> MakeChannel:
    """A saboteur that refuses what it should take."""

    class Refuses(Faulty):
        @override
        async def send(self, part: OutgoingPart) -> Delivered:
            if when(self, part):
                raise ChannelRejected("too much")
            return await super().send(part)

    return Refuses


def is_largest(channel: Faulty, part: OutgoingPart) -> bool:
    body = part.body
    cap = channel.features.media_out.get(body.kind) if isinstance(body, MediaPart) else None
    return isinstance(body, MediaPart) and cap is not None and body.blob.size_bytes == cap.max_bytes


def is_longest(channel: Faulty, part: OutgoingPart) -> bool:
    body = part.body
    cap = channel.features.media_out.get(body.kind) if isinstance(body, MediaPart) else None
    return bool(cap and cap.max_caption and len(body.text) == cap.max_caption)


def without_its_name(part: OutgoingPart) -> OutgoingPart:
    body = part.body
    return replace(part, body=replace(body, file_name="x")) if isinstance(body, MediaPart) else part


class ShowsAnythingAsADocument(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        body = part.body
        if isinstance(body, MediaPart) and body.kind not in self.features.media_out:
            part = replace(part, body=replace(body, kind=MediaKind.DOCUMENT))
        return await super().send(part)


class PassesOverWhatIsMissing(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        try:
            return await super().send(part)
        except BlobError:
            return Delivered()


class KeepsTheFirstReaction(Faulty):
    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.put: dict[str, str] = {}

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        if isinstance(part.body, ReactionPart):
            emoji = self.put.setdefault(part.body.message, part.body.emoji)
            part = replace(part, body=replace(part.body, emoji=emoji))
        return await super().send(part)


class ReactsSomehow(Faulty):
    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        if isinstance(part.body, ReactionPart) and part.body.emoji not in REACTIONS.names:
            part = replace(part, body=replace(part.body, emoji=REACTIONS.names[0]))
        return await super().send(part)


def fetches(fetch: Callable[[MediaSource, str, int], Pieces]) -> MakeChannel:
    """A saboteur that fetches in its own way."""

    class Source:
        def __init__(self, inside: MediaSource) -> None:
            self._inside = inside

        def fetch(self, reference: str, *, limit: int) -> Pieces:
            return fetch(self._inside, reference, limit)

    class Fetches(Faulty):
        @property
        @override
        def media_source(self) -> MediaSource | None:
            inside = super().media_source
            return None if inside is None else Source(inside)

    return Fetches


@asynccontextmanager
async def nothing_for_what_is_not_there(
    inside: MediaSource, reference: str, limit: int
) -> AsyncGenerator[AsyncIterator[bytes]]:
    async def pieces() -> AsyncGenerator[bytes]:
        try:
            async with inside.fetch(reference, limit=limit) as found:
                async for piece in found:
                    yield piece
        except ChannelRejected as exc:
            if "no such file" not in str(exc):
                raise

    async with aclosing(pieces()) as found:
        yield found


@asynccontextmanager
async def tells_its_address(
    inside: MediaSource, reference: str, limit: int
) -> AsyncGenerator[AsyncIterator[bytes]]:
    try:
        async with inside.fetch(reference, limit=limit) as pieces:
            yield pieces
    except ChannelUnreachable as exc:
        raise ChannelUnreachable(f"GET https://platform.example/{CREDENTIAL}/{reference}") from exc


class LeavesALineBehind(Faulty):
    """When somebody leaves in the middle of a file."""

    @property
    @override
    def media_source(self) -> MediaSource | None:
        found, platform = super().media_source, self.platform
        if found is None:
            return None
        inside: MediaSource = found

        class Source:
            @asynccontextmanager
            async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
                whole = False

                async def counted(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
                    nonlocal whole
                    async for piece in pieces:
                        yield piece
                    whole = True

                try:
                    async with (
                        inside.fetch(reference, limit=limit) as pieces,
                        aclosing(counted(pieces)) as all_,
                    ):
                        yield all_
                finally:
                    platform.lines += not whole

        return Source()


_OPENED: WeakSet[MemoryPlatform] = WeakSet()


class ForgetsWhatWasSent(Faulty):
    """With its process."""

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        super().__init__(inside, platform)
        self.is_first = platform not in _OPENED
        _OPENED.add(platform)

    @property
    @override
    def media_source(self) -> MediaSource | None:
        inside = super().media_source
        return inside if self.is_first or inside is None else _Forgetful()


class _Forgetful:
    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        raise ChannelRejected("an address of another process")
        yield


SABOTEURS_MEDIA: tuple[tuple[str, MakeChannel], ...] = (
    ("a_file_of_each_kind_arrives", sends(without_its_name)),
    ("the_largest_file_is_taken_and_no_larger_one", refuses(is_largest)),
    ("the_longest_caption_is_taken_and_no_longer_one", refuses(is_longest)),
    ("a_kind_that_is_not_declared_is_refused", ShowsAnythingAsADocument),
    ("a_file_that_is_not_kept_is_told", PassesOverWhatIsMissing),
    ("a_reaction_is_put_on_its_message", KeepsTheFirstReaction),
    ("a_reaction_that_is_not_declared_is_refused", ReactsSomehow),
    ("a_reaction_to_no_message_is_refused", takes_for(is_a(ChannelRejected, "no such message"), Delivered())),
    ("what_is_declared_can_be_fetched", claims(lambda own: replace(own, media_in=None))),
    ("a_file_is_fetched_whole", ForgetsWhatWasSent),
    (
        "a_file_is_fetched_up_to_its_limit",
        fetches(lambda inside, reference, limit: inside.fetch(reference, limit=limit - 1)),
    ),
    ("what_cannot_be_fetched_is_told", fetches(nothing_for_what_is_not_there)),
    ("no_fetching_shows_the_credential", fetches(tells_its_address)),
    ("who_stops_fetching_leaves_it_usable", LeavesALineBehind),
)
