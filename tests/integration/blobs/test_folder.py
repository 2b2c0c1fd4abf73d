"""The store of files on a real disk: who may read it, what a death leaves, and what stands in its way."""

import os
import stat
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.blobs import BlobMissing, BlobsUnavailable
from fermix.domain.blob import BlobRef
from fermix.infrastructure.blobs.store import PIECE, FolderBlobs
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import in_pieces

pytestmark = pytest.mark.anyio


def store_in(folder: Path, clock: StoppedClock | None = None) -> FolderBlobs:
    return FolderBlobs(folder, clock=clock or StoppedClock(), ids=CountedIds())


async def keep(blobs: FolderBlobs, *pieces: bytes) -> BlobRef:
    async with aclosing(in_pieces(*pieces)) as content:
        return await blobs.store(content, limit=10 * PIECE)


async def content_of(blobs: FolderBlobs, blob: BlobRef) -> bytes:
    async with blobs.open(blob) as pieces:
        return b"".join([piece async for piece in pieces])


def open_files() -> int:
    handles = Path("/proc/self/fd")
    return len(list(handles.iterdir())) if handles.exists() else 0


@pytest.mark.requirement("home.modes")
async def test_folder_and_files_are_this_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    before = os.umask(0)
    try:
        blob = await keep(store_in(folder), b"private")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / blob.digest).stat().st_mode) == 0o600


async def test_a_folder_that_is_open_to_others_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    folder.mkdir(mode=0o755)
    await keep(store_in(folder), b"x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_store_that_holds_nothing_makes_no_folder(tmp_path: Path) -> None:
    clock = StoppedClock()
    blobs = store_in(tmp_path / "blobs", clock)
    assert await blobs.stale(before=clock.now() + timedelta(days=1), limit=9) == ()
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # a test may block for a moment


async def test_what_a_death_left_unfinished_goes_with_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    kept = await keep(store_in(folder), b"whole")
    (folder / ".unfinished-of-the-dead").write_bytes(b"half")
    (folder / "README").write_text("somebody's own")
    blobs = store_in(folder)
    assert await content_of(blobs, kept) == b"whole"
    assert {entry.name for entry in folder.iterdir()} == {kept.digest, "README"}


async def test_a_long_stream_is_written_while_it_comes_and_never_stands_under_its_name_before(
    tmp_path: Path,
) -> None:
    folder, sizes, names = tmp_path / "blobs", list[int](), set[str]()

    async def watched() -> AsyncGenerator[bytes]:
        for number in range(5):
            yield bytes([number]) * PIECE
            for entry in folder.iterdir():
                sizes.append(entry.stat().st_size)
                names.add(entry.name)

    async with aclosing(watched()) as content:
        blob = await store_in(folder).store(content, limit=5 * PIECE)
    assert sizes == [PIECE, 2 * PIECE, 3 * PIECE, 4 * PIECE, 5 * PIECE]
    assert blob.digest not in names
    assert {entry.name for entry in folder.iterdir()} == {blob.digest}


async def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    folder, secret = tmp_path / "blobs", tmp_path / "secret"
    secret.write_bytes(b"secret")
    blobs = store_in(folder)
    await keep(blobs, b"x")
    (folder / ("a" * 64)).symlink_to(secret)
    with pytest.raises((BlobMissing, BlobsUnavailable)):
        await content_of(blobs, BlobRef(digest="a" * 64, size_bytes=6))


async def test_a_file_that_was_cut_short_is_missing(tmp_path: Path) -> None:
    blobs = store_in(tmp_path / "blobs")
    blob = await keep(blobs, b"whole")
    os.truncate(tmp_path / "blobs" / blob.digest, 2)
    with pytest.raises(BlobMissing):
        await content_of(blobs, blob)


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with pytest.raises(BlobsUnavailable, match="cannot be used"):
        await keep(store_in(tmp_path / "blobs"), b"x")


async def test_who_leaves_in_the_middle_of_reading_leaves_no_file_open(tmp_path: Path) -> None:
    blobs = store_in(tmp_path / "blobs")
    blob = await keep(blobs, bytes(3 * PIECE))
    before = open_files()
    for _ in range(5):
        async with blobs.open(blob) as pieces:
            await anext(aiter(pieces))
        with anyio.CancelScope() as leaving:
            async with blobs.open(blob) as pieces:
                leaving.cancel()
                await anext(aiter(pieces))
    assert open_files() <= before
