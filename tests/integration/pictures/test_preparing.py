"""Pictures from the store to the store, through a real process that decodes them."""

import io
import json
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path

import anyio
import pytest
from PIL import Image

from fermix.application.ports.blobs import BlobMissing
from fermix.application.ports.pictures import (
    PictureError,
    PicturesUnavailable,
    PictureTooLarge,
    TooManyPixels,
    UnreadablePicture,
)
from fermix.domain.blob import BlobRef
from fermix.infrastructure.pictures.decoding import PROGRAM
from fermix.infrastructure.pictures.limits import LIMITS, MIB, Limits
from fermix.infrastructure.pictures.preparing import DecodedPictures
from fermix.infrastructure.system.child_python import Launch, child_environment
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from tests.unit.infrastructure.pictures.files import HEIC, bomb, noise, photographed, saved, scene

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("media.decoders_run_in_a_child")]
ON_BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"], scope="module")


class Desk:
    """Pictures over a store in memory."""

    def __init__(self, *, limits: Limits = LIMITS, launch: Launch | None = None) -> None:
        self.blobs = MemoryBlobs(clock=StoppedClock())
        self.pictures = DecodedPictures(blobs=self.blobs, launch=launch or Launch(), limits=limits)

    async def put(self, content: bytes) -> BlobRef:
        return await self.blobs.store(_once(content), limit=len(content))

    async def show(self, blob: BlobRef) -> Image.Image:
        async with self.blobs.open(blob) as pieces:
            return Image.open(io.BytesIO(b"".join([piece async for piece in pieces])))

    async def refusal(self, content: bytes, kind: type[PictureError] = UnreadablePicture) -> str:
        """Why a file is no picture; whatever the reason, nothing is kept but the file."""
        source = await self.put(content)
        before = dict(self.blobs._kept)
        with anyio.fail_after(30), pytest.raises(kind) as refused:
            await self.pictures.prepare(source)
        assert self.blobs._kept == before
        return str(refused.value)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


HEARD = 'import json, sys; sys.stdin.buffer.read(json.loads(sys.stdin.buffer.readline())["size"]); '


def a_decoder(folder: Path, body: str) -> Launch:
    """A decoder that behaves as a test wants it to."""
    program = folder / "a_decoder"
    program.write_text(f"#!{sys.executable}\n{textwrap.dedent(body)}")
    program.chmod(0o700)
    return Launch(python=str(program))


@ON_BOTH
async def test_a_photograph_comes_out_upright_small_and_says_nothing_of_where_it_was(
    anyio_backend: str,
) -> None:
    desk = Desk()
    source = await desk.put(photographed(scene(3000, 2000), 6))
    with anyio.fail_after(30):
        picture = await desk.pictures.prepare(source)
    image = await desk.show(picture.content)
    assert (picture.mime_type, picture.width, picture.height) == ("image/jpeg", 2048, 1365)
    assert image.size == (2048, 1365)
    assert not image.getexif()


async def test_the_same_picture_is_made_twice_and_kept_once() -> None:
    desk = Desk()
    source = await desk.put(saved(scene(40, 40), "JPEG"))
    with anyio.fail_after(30):
        assert await desk.pictures.prepare(source) == await desk.pictures.prepare(source)
    assert len(desk.blobs._kept) == 2


async def test_pictures_at_once_wait_for_each_other() -> None:
    desk = Desk()
    sources = [await desk.put(saved(scene(40 + number, 40), "GIF")) for number in range(4)]
    widths: list[int] = []

    async def prepare(source: BlobRef) -> None:
        widths.append((await desk.pictures.prepare(source)).width)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as together:
            for source in sources:
                together.start_soon(prepare, source)
    assert sorted(widths) == [40, 41, 42, 43]


async def test_a_heic_picture_is_refused_by_its_name_without_a_process() -> None:
    desk = Desk(launch=Launch(python="/nonexistent/python"))
    assert "a HEIC picture" in await desk.refusal(HEIC)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"<!DOCTYPE html><html><body>Please log in</body></html>", "a web page"),
        (saved(noise(200, 200), "JPEG")[:9000], "cannot be decoded"),
        (b"\xff\xd8\xff" + bytes(5000), "cannot be decoded"),
    ],
    ids=["nothing", "a login page", "cut off", "a lie"],
)
async def test_what_is_no_picture_is_refused_and_leaves_nothing(content: bytes, reason: str) -> None:
    assert reason in await Desk().refusal(content)


@pytest.mark.parametrize("side", [8000, 30_000])
async def test_a_picture_of_too_many_pixels_is_refused_as_such(side: int) -> None:
    assert "more than 50000000" in await Desk().refusal(bomb(side, side), TooManyPixels)


async def test_a_picture_whose_decoder_wants_memory_beyond_the_limit_is_refused() -> None:
    limits = replace(LIMITS, pixels=2**40, memory_bytes=200 * MIB)
    assert "more memory than allowed" in await Desk(limits=limits).refusal(bomb(12_000, 12_000))


async def test_the_largest_picture_that_is_allowed_can_be_decoded() -> None:
    desk = Desk()
    source = await desk.put(bomb(8000, 6250))
    with anyio.fail_after(60):
        picture = await desk.pictures.prepare(source)
    assert (picture.width, picture.height) == (2048, 1600)


async def test_a_file_beyond_the_limit_is_not_even_opened() -> None:
    desk = Desk(limits=replace(LIMITS, source_bytes=100))
    assert "more than" in await desk.refusal(saved(scene(400, 400), "BMP"), PictureTooLarge)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("time.sleep(600)", "took more than 5 s"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended with signal 11"),
        pytest.param(
            # Killed from outside once it holds a hundred megabytes, which is in the middle of its work.
            """
            decoder = os.getpid()
            if os.fork() == 0:
                while int(open(f"/proc/{decoder}/statm").read().split()[1]) * 4096 < 100_000_000:
                    time.sleep(0.001)
                os.kill(decoder, signal.SIGKILL)
                os._exit(0)
            """,
            "ended with signal 9",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="its memory is read from /proc"),
        ),
    ],
    ids=["hangs", "crashes", "is killed in the middle"],
)
async def test_a_decoder_that_is_lost_costs_its_own_picture_and_the_next_one_is_made(
    tmp_path: Path, trouble: str, reason: str
) -> None:
    once = tmp_path / "once"
    launch = a_decoder(
        tmp_path,
        "import os, signal, sys, time\n"
        f"if not os.path.exists({str(once)!r}):\n"
        f"    open({str(once)!r}, 'w').close()\n"
        + textwrap.indent(textwrap.dedent(trouble), "    ")
        + f"\nos.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])\n",
    )
    desk = Desk(limits=replace(LIMITS, seconds=5), launch=launch)
    large, small = await desk.put(bomb(8000, 6250)), await desk.put(saved(scene(9, 9), "PNG"))
    with anyio.fail_after(30):
        with pytest.raises(PicturesUnavailable, match=reason):
            await desk.pictures.prepare(large)
        assert (await desk.pictures.prepare(small)).width == 9


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with signal 9"),
        (
            "import os, signal, sys; sys.stdin.buffer.readline(); os.kill(os.getpid(), signal.SIGSEGV)",
            "ended with signal 11",
        ),
        (
            """import os
os.write(1, b'{"mime_type": "image/png", "width": 9, "height": 9, "size": 99}\\nhalf')
os._exit(3)""",
            "ended with exit code 3",
        ),
        (HEARD + "print('{}', flush=True)", "no right answer"),
        (HEARD + "print('[]', flush=True)", "no right answer"),
        ("print('x' * 100000, flush=True)", "ended with"),
        (
            HEARD
            + 'print(\'{"mime_type": "image/png", "width": 9, "height": 9, "size": 99999999999}\', flush=True)',
            "no right answer",
        ),
    ],
    ids=["killed", "crashed", "half an answer", "nothing", "no object", "no end of a line", "too much"],
)
async def test_a_decoder_that_dies_or_talks_nonsense_is_told_apart_from_a_bad_picture(
    tmp_path: Path, body: str, reason: str
) -> None:
    desk = Desk(launch=a_decoder(tmp_path, body))
    source = await desk.put(saved(noise(900, 900), "BMP"))
    with anyio.fail_after(20), pytest.raises(PicturesUnavailable, match=reason):
        await desk.pictures.prepare(source)


async def test_no_python_means_that_pictures_are_unavailable() -> None:
    desk = Desk(launch=Launch(python="/nonexistent/python"))
    with pytest.raises(PicturesUnavailable, match="cannot be started"):
        await desk.pictures.prepare(await desk.put(saved(scene(9, 9), "PNG")))


async def test_a_file_that_is_gone_is_the_stores_error() -> None:
    with pytest.raises(BlobMissing):
        await Desk().pictures.prepare(BlobRef(digest="ab" * 32, size_bytes=5))


async def test_who_stops_waiting_ends_the_decoder(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    launch = a_decoder(
        tmp_path,
        f"""
        import os, time
        with open({str(told)!r}, "w") as file:
            file.write(str(os.getpid()))
        os.rename({str(told)!r}, {str(told) + ".done"!r})
        time.sleep(600)
        """,
    )
    desk = Desk(launch=launch)
    source = await desk.put(saved(scene(9, 9), "PNG"))
    done = tmp_path / "pid.done"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(desk.pictures.prepare, source)
            while not done.exists():  # noqa: ASYNC110 -- another process makes it
                await anyio.sleep(0.01)
            waiting.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.read_text()), signal.SIGCONT)


async def test_a_decoder_whose_parent_is_gone_ends_without_an_answer() -> None:
    source = saved(noise(3000, 3000), "PNG")
    order = {"form": "PNG", "size": len(source), "limits": asdict(LIMITS)}
    with anyio.fail_after(20):
        ended = await anyio.run_process(
            [sys.executable, "-m", PROGRAM], input=json.dumps(order).encode() + b"\n" + source, check=False
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


async def test_the_decoder_inherits_no_secret(tmp_path: Path) -> None:
    launch = a_decoder(tmp_path, HEARD + "import os; print(json.dumps({'error': ' '.join(os.environ)}))")
    given = child_environment({"OPENAI_API_KEY": "sk-1", "HOME": "/home/me", "LANG": "C"})
    names = (await Desk(launch=replace(launch, environment=given)).refusal(saved(scene(9, 9), "PNG"))).split()
    assert {"LANG", "PYTHONPATH"} <= set(names)
    assert not {"OPENAI_API_KEY", "HOME"} & set(names)


async def test_the_gateway_itself_never_loads_pillow() -> None:
    script = (
        "import sys; import fermix.infrastructure.pictures.preparing; "
        "print([name for name in sys.modules if name.partition('.')[0] == 'PIL'])"
    )
    ended = await anyio.run_process([sys.executable, "-c", script])
    assert ended.stdout.decode().strip() == "[]"
