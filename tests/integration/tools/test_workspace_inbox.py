"""Files in the workspace inbox: private, whole, once, under names of our own, and within the reach of tools."""

import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.file_inbox import NotSaved
from fermix.domain.blob import BlobRef
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.sandbox import SandboxSettings
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.workspace.folders import FolderWorkspace
from fermix.infrastructure.workspace.inbox import FolderInbox
from fermix.infrastructure.workspace.roots import Places
from fermix.testing.clock import CountedIds
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces

pytestmark = pytest.mark.anyio


class Desk:
    """A workspace, its inbox, and the store that files come from."""

    def __init__(self, base: Path) -> None:
        user = base / "user"
        self.workspace = user / ".fermix" / "workspace"
        self.workspace.mkdir(parents=True)
        self.folder = self.workspace / "inbox"
        sandbox = sandbox_of(SandboxSettings(), home=user / ".fermix", user_home=user, launch_folder=None)
        self.places = Places(sandbox=lambda: sandbox)
        self.blobs = MemoryBlobs(clock=SystemClock())
        self.inbox = FolderInbox(places=self.places, blobs=self.blobs, ids=CountedIds())

    async def save(self, content: bytes, name: str | None = "notes.txt") -> str:
        blob = await self.blobs.store(in_pieces(content[:3], content[3:]), limit=10**6)
        with anyio.fail_after(10):
            return await self.inbox.save(blob, name=name, extension=None)

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self.folder.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_saved_file_is_private_and_found_by_the_agents_tools(desk: Desk) -> None:
    path = await desk.save(b"buy milk\n")
    file = desk.workspace / path
    assert path.startswith("inbox/notes-")
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = await FolderWorkspace(places=desk.places, clock=SystemClock()).read(
        path, first=1, count=9, cwd=None
    )
    assert page.text == "buy milk\n"


async def test_the_same_file_twice_is_one_file_and_another_of_its_name_is_another(desk: Desk) -> None:
    first = await desk.save(b"one")
    assert await desk.save(b"one") == first
    second = await desk.save(b"two")
    assert second != first
    assert len(desk.names()) == 2


async def test_a_file_that_was_changed_meanwhile_is_as_it_was_sent_again(desk: Desk) -> None:
    path = await desk.save(b"as it was sent")
    (desk.workspace / path).write_text("scribbled")
    await desk.save(b"as it was sent")
    assert (desk.workspace / path).read_bytes() == b"as it was sent"


async def test_what_a_killed_process_left_half_written_goes_and_what_another_is_writing_stays(
    desk: Desk,
) -> None:
    await desk.save(b"first")
    left, coming = desk.folder / ".unfinished-left", desk.folder / ".unfinished-coming"
    for file in (left, coming):
        file.write_bytes(b"half")
    os.utime(left, (0, 0))
    await desk.save(b"second")
    assert not left.exists()
    assert coming.exists()


async def test_no_link_leads_a_file_out_of_the_workspace(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    desk.folder.symlink_to(outside)
    with pytest.raises(NotSaved):
        await desk.save(b"secret")
    desk.folder.unlink()
    path = await desk.save(b"first")
    target = outside / "target"
    target.write_text("untouched")
    (desk.workspace / path).unlink()
    (desk.workspace / path).symlink_to(target)
    await desk.save(b"first")
    assert target.read_text() == "untouched"
    assert not (desk.workspace / path).is_symlink()


async def test_what_cannot_be_read_or_written_leaves_nothing_behind(desk: Desk) -> None:
    missing = BlobRef(digest="0" * 64, size_bytes=3)
    with pytest.raises(NotSaved):
        await desk.inbox.save(missing, name="a.txt", extension=None)
    assert desk.names() == []
    desk.folder.rmdir()
    desk.folder.write_text("no folder")
    with pytest.raises(NotSaved) as refused:
        await desk.save(b"content", name="private name.txt")
    assert "private" not in str(refused.value)


class Stuck:
    """A store that hands out the beginning of a file, and no more."""

    def __init__(self) -> None:
        self.read = anyio.Event()

    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with aclosing(self._pieces()) as pieces:
            yield pieces

    async def _pieces(self) -> AsyncGenerator[bytes]:
        yield b"begun"
        self.read.set()
        await anyio.sleep_forever()


async def test_a_cancelled_save_leaves_nothing_behind(desk: Desk) -> None:
    blobs = Stuck()
    inbox = FolderInbox(places=desk.places, blobs=blobs, ids=CountedIds())

    async def save() -> None:
        await inbox.save(BlobRef(digest="0" * 64, size_bytes=9), name=None, extension="bin")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(save)
            await blobs.read.wait()
            tasks.cancel_scope.cancel()
    assert desk.names() == []
