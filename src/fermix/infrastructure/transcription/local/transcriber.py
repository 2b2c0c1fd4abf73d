"""The `local` backend: one listening process, lent to one recording after another, ended when nobody speaks."""

from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.transcription import (
    Audio,
    EmptyTranscript,
    NotUnderstood,
    RecordingTooLong,
    TranscriberProfile,
    Transcript,
    TranscriptionUnavailable,
    UnreadableAudio,
)
from fermix.infrastructure.system.child_python import Launch
from fermix.infrastructure.transcription.local.models import SpeechModel
from fermix.infrastructure.transcription.local.process import Child, ChildGone, ListenOrder, start_child

_BASE_MEMORY = 2 * 1024**3
_MEMORY_FACTOR = 4
_LOADING = {
    "package_missing": "it needs more packages: pip install 'fermix-agent[stt]'",
    "load_failed": "the model cannot be loaded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningLimits:
    """How long things may take, in seconds.

    Attributes:
        load: from the start of the process until it listens.
        wait: for recordings that came earlier.
        work: on one recording.
        idle: without a recording, after which the process is ended and its memory given back.
        longest: of what is heard in a recording; its size is no measure of that.
    """

    load: float = 60.0
    wait: float = 300.0
    work: float = 600.0
    idle: float = 300.0
    longest: float = 30 * 60.0


class LocalTranscriber:
    """The `Transcriber` port over a process of our own. `run` must run beside it: see `open_local_transcriber`."""

    def __init__(
        self, *, blobs: ReadsBlobs, model: SpeechModel, launch: Launch, limits: ListeningLimits
    ) -> None:
        self._blobs = blobs
        self._model = model
        self._launch = launch
        self._limits = limits
        self._profile = TranscriberProfile(backend="local", model=model.name, languages=model.languages)
        self._turn = anyio.Semaphore(1, max_value=1)
        self._used = anyio.Event()
        self._child: Child | None = None
        self._closed = False

    @property
    def profile(self) -> TranscriberProfile:
        """See `Transcriber.profile`; the built-in model understands English only."""
        return self._profile

    @property
    def pid(self) -> int | None:
        """The id of the listening process while there is one; for status displays and tests."""
        return self._child.pid if self._child is not None else None

    async def transcribe(self, audio: Audio) -> Transcript:
        """See `Transcriber.transcribe`; one recording at a time, in the order they came."""
        if audio.content.size_bytes == 0:
            raise UnreadableAudio("the recording is empty")
        await self._take_turn()
        try:
            child = await self._listening()
            return self._judge(await self._heard(child, audio))
        finally:
            self._turn.release()
            self._mark_use()

    async def run(self) -> None:
        """End a process that nobody has used for long, until cancelled; leaves none behind."""
        try:
            while True:
                used = self._used
                with anyio.move_on_after(self._limits.idle if self._child is not None else float("inf")):
                    await used.wait()
                    continue
                try:
                    self._turn.acquire_nowait()
                except anyio.WouldBlock:
                    continue
                try:
                    await self._end()
                finally:
                    self._turn.release()
        finally:
            self._closed = True
            await self._end()

    def _mark_use(self) -> None:
        self._used.set()
        self._used = anyio.Event()

    async def _take_turn(self) -> None:
        with anyio.move_on_after(self._limits.wait) as scope:
            await self._turn.acquire()
        if scope.cancelled_caught:
            raise TranscriptionUnavailable(
                f"local hears one recording at a time and was busy for {self._limits.wait:g} s"
            )

    async def _listening(self) -> Child:
        """The process, started where there is none."""
        if self._child is not None and self._child.is_running:
            return self._child
        await self._end()
        if self._closed:
            raise TranscriptionUnavailable("local is shut down")
        try:
            child = self._child = await start_child(self._launch)
        except OSError as exc:
            raise TranscriptionUnavailable("local: the process could not be started") from exc
        self._mark_use()
        order = ListenOrder(
            model=str(self._model.folder),
            longest=self._limits.longest,
            memory=_BASE_MEMORY + _MEMORY_FACTOR * self._model.size_bytes,
        )
        answer = await self._within(self._limits.load, child.begin(order), "was not ready")
        if answer.get("ready") is not True:
            await self._end()
            reason = _LOADING.get(str(answer.get("error")), "the process makes no sense")
            raise TranscriptionUnavailable(f"local: {reason}")
        return child

    async def _heard(self, child: Child, audio: Audio) -> Mapping[str, Any]:
        async def give() -> Mapping[str, Any]:
            async with self._blobs.open(audio.content) as pieces:
                return await child.hear(audio.content.size_bytes, pieces)

        return await self._within(self._limits.work, give(), "had no transcript")

    async def _within(
        self, seconds: float, work: Awaitable[Mapping[str, Any]], what: str
    ) -> Mapping[str, Any]:
        """Do something with the process; whatever goes wrong, or whoever leaves, it is ended with that."""
        try:
            with anyio.fail_after(seconds):
                return await work
        except BaseException as exc:
            await self._end()
            if isinstance(exc, ChildGone):
                raise TranscriptionUnavailable(f"local: {exc}") from exc
            if isinstance(exc, TimeoutError):
                raise TranscriptionUnavailable(f"local {what} within {seconds:g} s") from exc
            raise

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    def _judge(self, answer: Mapping[str, Any]) -> Transcript:
        match answer:
            case {"text": str(text), "language": str() | None as language}:
                if text.strip():
                    return Transcript(text=text.strip(), language=language)
                if answer.get("doubtful") is True:
                    raise NotUnderstood(self._what_it_knows())
                raise EmptyTranscript("local heard no words")
            case {"error": "no_audio"}:
                raise UnreadableAudio("local finds no sound in the recording")
            case {"error": "too_long"}:
                raise RecordingTooLong(limit=timedelta(seconds=self._limits.longest))
            case _:
                raise TranscriptionUnavailable(f"local failed: {answer.get('detail', 'no answer')}")

    def _what_it_knows(self) -> str:
        only = ", ".join(sorted(self._profile.languages or ()))
        return "local made out no words" + (f"; its model understands only: {only}" if only else "")


@asynccontextmanager
async def open_local_transcriber(
    *,
    blobs: ReadsBlobs,
    model: SpeechModel,
    launch: Launch | None = None,
    limits: ListeningLimits | None = None,
) -> AsyncGenerator[LocalTranscriber]:
    """A local transcriber for as long as the block lasts. Nothing starts before the first recording.

    Args:
        blobs: the store that holds the recordings.
        model: what listens.
        launch: how to start the process; by default this Python with an empty environment.
        limits: the defaults are the product's.
    """
    transcriber = LocalTranscriber(
        blobs=blobs, model=model, launch=launch or Launch(), limits=limits or ListeningLimits()
    )
    async with anyio.create_task_group() as group:
        group.start_soon(transcriber.run, name="local transcriber")
        try:
            yield transcriber
        finally:
            group.cancel_scope.cancel()
