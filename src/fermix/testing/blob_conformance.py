"""The conformance suite of stores of files: what every implementation of the `Blobs` port must pass.

@pytest.mark.anyio
@pytest.mark.parametrize("check", BLOB_CHECKS, ids=lambda check: check.id)
async def test_my_store(check: Check[BlobHarness]) -> None:
await run_check(check, MyHarness())
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import timedelta
from typing import Protocol, TypeAlias

import anyio
import anyio.lowlevel

from fermix.application.ports.blobs import BlobError, BlobMissing, Blobs, BlobsFull, BlobTooLarge
from fermix.domain.blob import BlobRef
from fermix.testing.checks import Check, Run, as_check
from fermix.testing.clock import StoppedClock
from fermix.testing.expectations import PromiseBroken, must_equal, must_refuse
from fermix.testing.memory_blobs import in_pieces

CAPACITY = 4 * 1024 * 1024
"""What a store under test may hold."""

_HOUR = timedelta(hours=1)
_LONG = bytes(range(256)) * 4096
_UNKNOWN = "0" * 64


class BlobHarness(Protocol):
    """One place for files, at first empty."""

    @property
    def clock(self) -> StoppedClock:
        """The time of every store opened here."""
        ...

    def open(self) -> AbstractAsyncContextManager[Blobs]:
        """The store that holds `CAPACITY` bytes, as the next process finds it."""
        ...

    async def left_behind(self) -> int:
        """How many things lie there that are no whole file."""
        ...


BlobCheck: TypeAlias = Check[BlobHarness]


def proves(*requirements: str) -> Callable[[Run[BlobHarness]], BlobCheck]:
    """Make a check of a function; an error of the store that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=BlobError)


async def _content(blobs: Blobs, blob: BlobRef) -> bytes:
    async with blobs.open(blob) as pieces:
        return b"".join([piece async for piece in pieces])


async def _store(blobs: Blobs, *pieces: bytes, limit: int = CAPACITY) -> BlobRef:
    async with aclosing(in_pieces(*pieces)) as content:
        return await blobs.store(content, limit=limit)


@proves()
async def what_is_stored_is_there_after_a_restart(harness: BlobHarness) -> None:
    """A file comes out byte for byte, also in the next process, and under one reference however it came in."""
    files: list[tuple[BlobRef, bytes]] = []
    async with harness.open() as blobs:
        for content in (b"", b"\x00", b"\r\n", _LONG):
            blob = await _store(blobs, content[:1], content[1:])
            must_equal(blob, await _store(blobs, content), "the reference of the same content")
            must_equal(blob.size_bytes, len(content), "its size")
            files.append((blob, content))
    async with harness.open() as blobs:
        for blob, content in files:
            must_equal(
                await _content(blobs, blob) == content, True, f"whether {len(content)} bytes are the same"
            )


@proves("media.byte_caps_on_the_stream")
async def a_stream_ends_at_its_limit(harness: BlobHarness) -> None:
    """As many bytes as allowed are taken; with one more the stream is given up and nothing is left of it."""
    asked = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal asked
        while True:
            asked += 1
            yield bytes(1024)

    async with harness.open() as blobs:
        must_equal((await _store(blobs, bytes(1000), limit=1000)).size_bytes, 1000, "the size at the limit")
        with must_refuse(BlobTooLarge, "one byte more"):
            await _store(blobs, bytes(1000), b"x", limit=1000)
        with must_refuse(BlobTooLarge, "a stream without end"):
            async with aclosing(endless()) as content:
                await blobs.store(content, limit=2048)
        must_equal(asked < 4096, True, "whether an endless stream was given up soon")
    must_equal(await harness.left_behind(), 0, "what is left of streams that were given up")


@proves()
async def a_broken_stream_leaves_nothing(harness: BlobHarness) -> None:
    """What a stream raises comes out as it is, and nothing of the stream is kept; so when its taker leaves."""

    async def breaks() -> AsyncGenerator[bytes]:
        yield _LONG
        raise ZeroDivisionError

    async def stalls() -> AsyncGenerator[bytes]:
        yield _LONG
        leaving.cancel()
        await anyio.sleep_forever()

    async with harness.open() as blobs:
        with must_refuse(ZeroDivisionError, "the stream's own error"):
            async with aclosing(breaks()) as content:
                await blobs.store(content, limit=CAPACITY)
        with anyio.CancelScope() as leaving:
            async with aclosing(stalls()) as content:
                await blobs.store(content, limit=CAPACITY)
        must_equal(leaving.cancelled_caught, True, "whether it obeyed")
        must_equal(await _store(blobs, b"usable"), await _store(blobs, b"usable"), "a file after that")
    must_equal(await harness.left_behind(), 0, "what is left of broken streams")


@proves()
async def a_store_has_an_end(harness: BlobHarness) -> None:
    """More than the store may hold is refused, what it holds stays, and what was removed makes room."""
    async with harness.open() as blobs:
        first = await _store(blobs, bytes(CAPACITY - 10), limit=CAPACITY * 2)
        for about in ("at once", "in the next try"):
            with must_refuse(BlobsFull, f"more than there is room for, {about}"):
                await _store(blobs, b"eleven bytes", limit=CAPACITY)
        small = await _store(blobs, b"ten bytes!")
        must_equal(await _content(blobs, small), b"ten bytes!", "what just fits")
        harness.clock.advance(_HOUR)
        must_equal(await blobs.remove(first.digest, before=harness.clock.now()), True, "whether it went")
        await _store(blobs, b"eleven bytes")


@proves()
async def what_is_not_there_is_told(harness: BlobHarness) -> None:
    """A file that is not kept, a name that is no digest, and a file of another size are missing, not wrong."""
    async with harness.open() as blobs:
        blob = await _store(blobs, b"here")
        names = (_UNKNOWN, "", "../ledger.db", "/etc/hostname", blob.digest.upper(), f"{blob.digest}/")
        for digest in names:
            with must_refuse(BlobMissing, f"opening {digest!r}"):
                await _content(blobs, BlobRef(digest=digest, size_bytes=4))
            must_equal(await blobs.remove(digest, before=harness.clock.now() + _HOUR), False, "removing it")
        with must_refuse(BlobMissing, "another size"):
            await _content(blobs, BlobRef(digest=blob.digest, size_bytes=5))
        must_equal(await _content(blobs, blob), b"here", "the file itself")


@proves()
async def old_files_are_named_and_go(harness: BlobHarness) -> None:
    """Files are named by their age, oldest first, up to a number, and removed once and for all."""
    async with harness.open() as blobs:
        old = [await _store_later(harness, blobs, name) for name in (b"1", b"2", b"3")]
        before = harness.clock.now()
        await _store(blobs, b"young")
        must_equal(list(await blobs.stale(before=before, limit=9)), old, "what is old")
        must_equal(list(await blobs.stale(before=before, limit=2)), old[:2], "the two oldest")
        must_equal(await blobs.remove(old[0], before=before), True, "whether it went")
        must_equal(await blobs.remove(old[0], before=before), False, "whether it went again")
    async with harness.open() as blobs:
        must_equal(list(await blobs.stale(before=before, limit=9)), old[1:], "what is old afterwards")


@proves()
async def what_is_stored_again_is_young_again(harness: BlobHarness) -> None:
    """A file that came in again meanwhile is not old, and not removed by who saw it old."""
    async with harness.open() as blobs:
        digest = await _store_later(harness, blobs, b"again")
        before = harness.clock.now()
        must_equal(list(await blobs.stale(before=before, limit=9)), [digest], "what is old")
        again = await _store(blobs, b"again")
        must_equal(await blobs.remove(digest, before=before), False, "whether it went")
        must_equal(await _content(blobs, again), b"again", "the file")


@proves()
async def many_at_once_are_kept_apart(harness: BlobHarness) -> None:
    """Files that come in at the same time, equal ones among them, are each whole."""
    contents = [bytes([number % 5]) * 10_000 for number in range(20)]
    async with harness.open() as blobs:

        async def keep(content: bytes) -> None:
            async with aclosing(_slowly(content)) as pieces:
                blob = await blobs.store(pieces, limit=CAPACITY)
            if await _content(blobs, blob) != content:
                raise PromiseBroken("a file that came in beside others is not as it was")

        async with anyio.create_task_group() as tasks:
            for content in contents:
                tasks.start_soon(keep, content)
        must_equal(len(await blobs.stale(before=harness.clock.now() + _HOUR, limit=99)), 5, "files")
    must_equal(await harness.left_behind(), 0, "what is left")


async def _store_later(harness: BlobHarness, blobs: Blobs, content: bytes) -> str:
    blob = await _store(blobs, content)
    harness.clock.advance(_HOUR)
    return blob.digest


async def _slowly(content: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(content), 1000):
        await anyio.lowlevel.checkpoint()
        yield content[start : start + 1000]


BLOB_CHECKS: tuple[BlobCheck, ...] = (
    what_is_stored_is_there_after_a_restart,
    a_stream_ends_at_its_limit,
    a_broken_stream_leaves_nothing,
    a_store_has_an_end,
    what_is_not_there_is_told,
    old_files_are_named_and_go,
    what_is_stored_again_is_young_again,
    many_at_once_are_kept_apart,
)
"""All checks."""
