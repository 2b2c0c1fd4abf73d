"""The transcriber in memory under the hands of the suite, as it is or with a planted fault."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.transcription import Transcriber
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_transcriber import MemoryTranscriber, ScriptedListener

SECRET = "k3y-of-the-scripted-listener"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What a saboteur may know of the far side."""

    listener: ScriptedListener
    blobs: Blobs
    tasks: TaskGroup


Sabotage = Callable[[Transcriber, Behind], Transcriber]


def faultless(transcriber: Transcriber, behind: Behind) -> Transcriber:
    return transcriber


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMemory:
    transcriber: Transcriber
    blobs: Blobs
    listener: ScriptedListener
    secrets: tuple[str, ...]


class MemoryHarness:
    """A `TranscriberHarness` in memory; `secrets` are what a saboteur may spill."""

    def __init__(self, sabotage: Sabotage = faultless, *, secrets: tuple[str, ...] = ()) -> None:
        self._sabotage = sabotage
        self._secrets = secrets

    @property
    def recording(self) -> bytes:
        return b"OggS a recording"

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=0.5)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenMemory]:
        listener = ScriptedListener()
        blobs = MemoryBlobs(clock=StoppedClock())
        async with anyio.create_task_group() as tasks:
            behind = Behind(listener=listener, blobs=blobs, tasks=tasks)
            transcriber = MemoryTranscriber(listener, blobs=blobs, impatient=impatient)
            yield OpenMemory(
                transcriber=self._sabotage(transcriber, behind),
                blobs=blobs,
                listener=listener,
                secrets=self._secrets,
            )
            tasks.cancel_scope.cancel()
