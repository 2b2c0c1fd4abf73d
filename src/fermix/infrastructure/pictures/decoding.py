"""The process that decodes one picture, seen from the gateway: start it, feed it, hear it out, end it."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from fermix.application.ports.pictures import PicturesUnavailable, TooManyPixels, UnreadablePicture
from fermix.infrastructure.pictures.formats import Format
from fermix.infrastructure.pictures.limits import Limits
from fermix.infrastructure.system.child_python import Launch

PROGRAM = "fermix.infrastructure.pictures.decoder"
_LONGEST_LINE = 4096
_MADE = frozenset({"image/jpeg", "image/png"})
_CUT_OFF = (
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    ConnectionError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What the process made of a file."""

    content: bytes
    mime_type: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFile:
    """A file that is to be decoded: exactly `size` bytes, in pieces."""

    form: Format
    size: int
    pieces: AsyncIterator[bytes]


async def decode(file: PictureFile, *, launch: Launch, limits: Limits) -> Decoded:
    """Decode a file in a process that ends with this call, whatever happens.

    Each picture has a process of its own: one that a hostile file took over sees nobody else's picture, and
    starting it takes a twentieth of a second.

    Raises:
        UnreadablePicture: the file cannot be decoded, or not within the limits.
        TooManyPixels: it has more pixels than are decoded.
        PicturesUnavailable: the process could not be started, took too long, died, or gave no right answer.
        Exception: whatever the file's pieces raise.
    """
    try:
        process = await launch.start(PROGRAM)
    except OSError as exc:
        raise PicturesUnavailable(f"the decoder cannot be started: {exc.strerror}") from exc
    try:
        with anyio.fail_after(limits.seconds):
            await _feed(process, file, limits)
            return await _answer(process, limits)
    except TimeoutError as exc:
        raise PicturesUnavailable(f"the decoder took more than {limits.seconds} s") from exc
    except _CUT_OFF as exc:
        raise PicturesUnavailable(f"the decoder {await _death(process)}") from exc
    finally:
        await _end(process)


async def _feed(process: Process, file: PictureFile, limits: Limits) -> None:
    orders = process.stdin
    if orders is None:
        raise PicturesUnavailable("the decoder has no pipe to hear by")
    order = {"form": file.form.value, "size": file.size, "limits": asdict(limits)}
    await orders.send(json.dumps(order).encode() + b"\n")
    async for piece in file.pieces:
        await orders.send(piece)


async def _answer(process: Process, limits: Limits) -> Decoded:
    if process.stdout is None:
        raise PicturesUnavailable("the decoder has no pipe to answer by")
    answers = BufferedByteReceiveStream(process.stdout)
    line = await answers.receive_until(b"\n", _LONGEST_LINE)
    try:
        answer = json.loads(line)
        if "error" in answer:
            kind = TooManyPixels if answer.get("too_many_pixels") is True else UnreadablePicture
            raise kind(str(answer["error"]))
        size = int(answer["size"])
        width, height, mime_type = int(answer["width"]), int(answer["height"]), str(answer["mime_type"])
    except (ValueError, TypeError, KeyError) as exc:
        raise PicturesUnavailable("the decoder gave no right answer") from exc
    fits = 0 < size <= limits.result_bytes and min(width, height) > 0 and max(width, height) <= limits.side
    if not fits or mime_type not in _MADE:
        raise PicturesUnavailable("the decoder gave no right answer")
    content = await answers.receive_exactly(size)
    return Decoded(content=content, mime_type=mime_type, width=width, height=height)


async def _death(process: Process) -> str:
    """How a process ended whose pipes have; one that only closed them is made to."""
    with anyio.move_on_after(1):
        await process.wait()
    status = process.returncode
    if status is None:
        return "closed its pipes"
    return f"ended with {f'signal {-status}' if status < 0 else f'exit code {status}'}"


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.wait()
        await process.aclose()
