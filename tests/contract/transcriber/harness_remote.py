"""The three services' wires under the hands of the suite: real requests to a server that takes nothing inexact."""

import socket
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.transcription import Audio, Transcriber, TranscriberProfile
from fermix.infrastructure.transcription.asking import open_remote_transcriber
from fermix.infrastructure.transcription.deepgram import MODEL as NOVA
from fermix.infrastructure.transcription.deepgram import DeepgramWire
from fermix.infrastructure.transcription.limits import AskingLimits
from fermix.infrastructure.transcription.openai import MODEL as GPT
from fermix.infrastructure.transcription.openai import OpenAIWire
from fermix.infrastructure.transcription.wire import Question, Said, Service, Wire
from fermix.infrastructure.transcription.xai import XaiWire
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.transcription_api.server import TranscriptionServer, transcription_server
from fermix.testing.transcriber_conformance import HearingDeed, HearingTrouble

KEY = "Tr0ub4dor&3-correct/horse+battery=staple"
SHORT = AskingLimits(whole=0.6, silence=0.3, connect=0.3)
LONG = AskingLimits(whole=60, silence=60, connect=10)

WIRES: Mapping[str, Callable[[Service], Wire]] = {
    "openai": lambda service: OpenAIWire(service, model=GPT),
    "xai": XaiWire,
    "deepgram": lambda service: DeepgramWire(service, model=NOVA),
}


class TroubledWire:
    """A wire that leads to nobody when it was told to."""

    def __init__(self, wire: Wire, elsewhere: Wire) -> None:
        self._wire = wire
        self._elsewhere = elsewhere
        self.script: deque[bool] = deque()

    @property
    def profile(self) -> TranscriberProfile:
        return self._wire.profile

    def question(self, audio: Audio) -> Question:
        astray = bool(self.script) and self.script.popleft()
        return (self._elsewhere if astray else self._wire).question(audio)

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        return self._wire.said(answer)

    def blames_the_request(self, answer: Mapping[str, Any]) -> bool:
        return self._wire.blames_the_request(answer)


class RemoteListener:
    """The `Listener` behind a wire: the server, and the way to it."""

    def __init__(self, server: TranscriptionServer, wire: TroubledWire) -> None:
        self._server = server
        self._wire = wire

    def will(self, *deeds: HearingDeed) -> None:
        for deed in deeds:
            self._wire.script.append(deed is HearingTrouble.UNREACHABLE)
            if deed is not HearingTrouble.UNREACHABLE:
                self._server.will(deed)

    async def asked(self, times: int) -> None:
        await self._server.until_recordings(times)

    @property
    def recordings(self) -> tuple[bytes, ...]:
        return self._server.recordings

    async def left(self) -> None:
        await self._server.until_left()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRemote:
    transcriber: Transcriber
    blobs: Blobs
    listener: RemoteListener
    secrets: tuple[str, ...] = (KEY, KEY[8:20])


class RemoteHarness:
    """A `TranscriberHarness` over one of the services."""

    def __init__(self, backend: str) -> None:
        self._make = WIRES[backend]

    @property
    def recording(self) -> bytes:
        return b"OggS a recording"

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=10)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenRemote]:
        blobs = MemoryBlobs(clock=StoppedClock())
        with ExitStack() as stack:
            server = stack.enter_context(transcription_server(key=KEY))
            service = Service(base_url=server.base_url, api_key=KEY)
            nobody = replace(service, base_url=stack.enter_context(closed_port()))
            wire = TroubledWire(self._make(service), self._make(nobody))
            async with open_remote_transcriber(
                wire, blobs=blobs, limits=SHORT if impatient else LONG
            ) as transcriber:
                yield OpenRemote(transcriber=transcriber, blobs=blobs, listener=RemoteListener(server, wire))


@contextmanager
def closed_port() -> Generator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
