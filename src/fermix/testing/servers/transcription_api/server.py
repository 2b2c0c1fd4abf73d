"""Three transcription services on the loopback interface, which take nothing that they do not document.

    with transcription_server(key="k") as server:
        server.will(Heard(text="Buy milk tomorrow."))
        ...  # ask at server.base_url

Left alone it says how many bytes it was given. A file that does not begin as audio does is refused.
"""

import json
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, assert_never

from typing_extensions import override

from fermix.testing.servers.loopback import ClientLeft, Endpoint, Request, Served
from fermix.testing.servers.transcription_api.services import NAMES, SERVICES, Refused, Service
from fermix.testing.servers.transcription_api.world import Deed, Raw, World
from fermix.testing.transcriber_harness import Heard, HearingTrouble

_BEGINNINGS = (b"OggS", b"RIFF", b"ID3", b"fLaC", b"\x1aE\xdf\xa3")


class TranscriptionServer(Served[World]):
    """The server in the hands of a test.

    Attributes:
        base_url: what all three services are reached at.
    """

    def __init__(self, world: World, port: int) -> None:
        super().__init__(world, _Endpoint, port)
        self.base_url = f"{self.address}/v1"

    def will(self, *deeds: Deed) -> None:
        """Do these with the next recordings."""
        with self._world.changed:
            self._world.script.extend(deeds)

    @property
    def recordings(self) -> tuple[bytes, ...]:
        """What arrived whole and rightly asked, in order."""
        with self._world.changed:
            return tuple(self._world.recordings)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why requests were not what their service documents."""
        with self._world.changed:
            return tuple(self._world.refusals)

    async def until_recordings(self, count: int) -> None:
        """Wait until so many recordings have arrived."""
        await self.until(
            lambda: self.wait(
                lambda: len(self._world.recordings), lambda found: found >= count, f"{count} recordings"
            )
        )

    async def until_left(self) -> None:
        """Wait until somebody has gone before the answer; each is seen once."""
        await self.until(lambda: self.wait(lambda: self._world.left, bool, "an asker who leaves"))
        with self._world.changed:
            self._world.left -= 1


@contextmanager
def transcription_server(*, key: str, port: int = 0) -> Generator[TranscriptionServer]:
    """Run a server until left; it takes one key."""
    server = TranscriptionServer(World(key=key), port)
    try:
        yield server
    finally:
        server.close()


class _Endpoint(Endpoint[World]):
    @override
    def serve(self, request: Request) -> None:
        service = SERVICES.get(request.path)
        if service is None or request.method != "POST":
            self._json(404, {"error": "not found"})
            return
        given = request.headers.get("authorization")
        if given != f"{service.scheme} {self.world.key}":
            self._json(401, service.refusal("invalid_api_key", f"incorrect key provided: {given}"))
            return
        try:
            content = service.recording(request, self.world.models.get(NAMES[request.path], ""))
        except Refused as refused:
            with self.world.changed:
                self.world.refusals.append(refused.why)
            self._json(refused.status, service.refusal(refused.code, refused.why))
            return
        self._hear(service, content)

    def _hear(self, service: Service, content: bytes) -> None:
        with self.world.changed:
            self.world.recordings.append(content)
            deed = self.world.script.popleft() if self.world.script else None
            self.world.changed.notify_all()
        if deed is None and not content.startswith(_BEGINNINGS):
            deed = HearingTrouble.UNREADABLE
        match deed:
            case None:
                self._json(200, service.answer(f"A recording of {len(content)} bytes.", None))
            case Heard():
                self._json(200, service.answer(deed.text, deed.language))
            case Raw():
                self.reply(deed.status, deed.body, more=deed.headers)
            case HearingTrouble():
                self._suffer(service, deed)
            case _:
                assert_never(deed)

    def _suffer(self, service: Service, trouble: HearingTrouble) -> None:
        words = f"no, not for {self.world.key}"
        match trouble:
            case HearingTrouble.KEY_REFUSED:
                self._json(401, service.refusal("invalid_api_key", words))
            case HearingTrouble.UNREADABLE:
                self._json(400, service.refusal("invalid_value", words))
            case HearingTrouble.BUSY:
                self._json(429, service.refusal("rate_limit_exceeded", words))
            case HearingTrouble.UNREACHABLE | HearingTrouble.SILENT:
                self._wait()
            case HearingTrouble.CUT:
                whole = json.dumps(service.answer("words that break off", "en")).encode()
                self.head(200, {"Content-Type": "application/json", "Content-Length": str(len(whole))})
                self.wfile.write(whole[:-3])
                self.cut()
            case HearingTrouble.NONSENSE:
                self._json(200, {"ok": True, "note": words})
            case _:
                assert_never(trouble)

    def _wait(self) -> None:
        try:
            self.hang(math.inf)
        except ClientLeft:
            with self.world.changed:
                self.world.left += 1
                self.world.changed.notify_all()
            raise

    def _json(self, status: int, value: Mapping[str, Any]) -> None:
        self.reply(status, json.dumps(value).encode())
