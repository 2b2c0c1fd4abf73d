"""The listening process seen from the gateway: start it, give it a recording, take its answer, end it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from fermix.infrastructure.system.child_python import Launch

_PROGRAM = "fermix.infrastructure.transcription.local.child"
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    # Only the model computes; what makes numbers ready for it needs no pool of threads per processor.
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOrder:
    """What the process is to listen with.

    Attributes:
        model: the model's folder.
        longest: seconds of sound that it takes.
        memory: bytes that it may hold.
    """

    model: str
    longest: float
    memory: int

    def line(self) -> bytes:
        """The first line that the process reads."""
        order = {"model": self.model, "longest": self.longest, "memory": self.memory}
        return json.dumps(order).encode() + b"\n"


class ChildGone(Exception):
    """The process ended, or says what makes no sense; the text says how, for operators."""


class Child:
    """One running process. Not for two recordings at once, and of no more use after an error."""

    def __init__(self, process: Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process must have two pipes")
        self._process = process
        self._orders = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was when the system last told."""
        return self._process.returncode is None

    async def begin(self, order: ListenOrder) -> Mapping[str, Any]:
        """Hand over the order and wait for the answer to it.

        Raises:
            ChildGone: none came.
        """
        try:
            await self._orders.send(order.line())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ChildGone(await self._how_it_ended()) from None
        return await self._answer()

    async def hear(self, size: int, content: AsyncIterator[bytes]) -> Mapping[str, Any]:
        """Give it a recording of so many bytes and wait for the answer.

        Raises:
            ChildGone: none came. What `content` raises comes out as it is.
        """
        try:
            await self._orders.send(json.dumps({"size": size}).encode() + b"\n")
            async for piece in content:
                await self._orders.send(piece)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ChildGone(await self._how_it_ended()) from None
        return await self._answer()

    async def end(self) -> None:
        """End it at once: it holds nothing that anybody needs."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            await self._process.aclose()

    async def _answer(self) -> Mapping[str, Any]:
        try:
            line = await self._answers.receive_until(b"\n", _MAX_ANSWER_BYTES)
        except (
            anyio.BrokenResourceError,
            anyio.EndOfStream,
            anyio.IncompleteRead,
            anyio.DelimiterNotFound,
        ):
            raise ChildGone(await self._how_it_ended()) from None
        answer: object = None
        with suppress(ValueError):
            answer = json.loads(line)
        if not isinstance(answer, dict):
            raise ChildGone("its answer makes no sense")
        return answer

    async def _how_it_ended(self) -> str:
        """A process whose pipe closed ends at once, unless it is only that pipe that it closed."""
        with anyio.move_on_after(1):
            status = await self._process.wait()
            return f"it ended with {f'signal {-status}' if status < 0 else f'exit code {status}'}"
        return "it stopped listening"


async def start_child(launch: Launch) -> Child:
    """Start the process, which waits for its order and asks no network for models. The caller must `end` it.

    Raises:
        OSError: no process could be started.
    """
    return Child(await launch.start(_PROGRAM, environment=_ENVIRONMENT))
