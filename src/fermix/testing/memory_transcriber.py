"""A transcriber in memory that answers by a script: for tests of everything around speech.

    listener = ScriptedListener()
    listener.will(Heard(text="Buy milk tomorrow."), HearingTrouble.BUSY)
    transcriber = MemoryTranscriber(listener, blobs=blobs)

Without a script it says how many bytes it was given. It passes the transcribers' conformance suite.
"""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import assert_never

import anyio
import anyio.lowlevel

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.transcription import (
    Audio,
    EmptyTranscript,
    TranscriberProfile,
    Transcript,
    TranscriptionError,
    TranscriptionRefused,
    TranscriptionUnavailable,
    UnreadableAudio,
)
from fermix.testing.transcriber_harness import Heard, HearingDeed, HearingTrouble

_PROFILE = TranscriberProfile(backend="memory", model="memory-1")


class ScriptedListener:
    """The far side of transcribers in memory; belongs to one event loop. See `Listener` of the suite.

    Attributes:
        audios: what was asked, in order.
    """

    def __init__(self) -> None:
        self.audios: list[Audio] = []
        self._recordings: list[bytes] = []
        self._script: deque[HearingDeed] = deque()
        self._arrived = anyio.Event()
        self._left = anyio.Event()

    def will(self, *deeds: HearingDeed) -> None:
        """See `Listener.will`."""
        self._script.extend(deeds)

    @property
    def next_deed(self) -> HearingDeed | None:
        """What the script says about the next recording."""
        return self._script[0] if self._script else None

    async def asked(self, times: int) -> None:
        """See `Listener.asked`."""
        while len(self._recordings) < times:
            await self._arrived.wait()

    @property
    def recordings(self) -> tuple[bytes, ...]:
        """See `Listener.recordings`."""
        return tuple(self._recordings)

    async def left(self) -> None:
        """See `Listener.left`; each leaving is seen once."""
        await self._left.wait()
        self._left = anyio.Event()

    def take(self) -> HearingDeed | None:
        """What happens to the next recording, taken off the script."""
        return self._script.popleft() if self._script else None

    @contextmanager
    def hearing(self, audio: Audio, content: bytes) -> Generator[None]:
        """Take a recording; inside, it is listened to."""
        self.audios.append(audio)
        self._recordings.append(content)
        arrived, self._arrived = self._arrived, anyio.Event()
        arrived.set()
        answered = False
        try:
            yield
            answered = True
        except TranscriptionError:
            answered = True
            raise
        finally:
            if not answered:
                self._left.set()


class MemoryTranscriber:
    """The `Transcriber` port over a scripted listener."""

    def __init__(
        self,
        listener: ScriptedListener,
        *,
        blobs: ReadsBlobs,
        profile: TranscriberProfile = _PROFILE,
        impatient: bool = False,
    ) -> None:
        self._listener = listener
        self._blobs = blobs
        self._profile = profile
        self._impatient = impatient

    @property
    def profile(self) -> TranscriberProfile:
        """See `Transcriber.profile`."""
        return self._profile

    async def transcribe(self, audio: Audio) -> Transcript:
        """See `Transcriber.transcribe`. A listener that falls silent is waited for, unless impatient."""
        await anyio.lowlevel.checkpoint()
        if audio.content.size_bytes == 0:
            raise UnreadableAudio("the recording is empty")
        async with self._blobs.open(audio.content) as pieces:
            content = b"".join([piece async for piece in pieces])
        deed = self._listener.take()
        if deed is HearingTrouble.UNREACHABLE:
            raise TranscriptionUnavailable("nobody is there")
        with self._listener.hearing(audio, content):
            await anyio.lowlevel.checkpoint()
            match deed:
                case None:
                    return Transcript(text=f"A recording of {len(content)} bytes.")
                case Heard():
                    return _understood(deed)
                case HearingTrouble():
                    if deed is HearingTrouble.SILENT and not self._impatient:
                        await anyio.sleep_forever()
                    raise _error(deed)
                case _:
                    assert_never(deed)


def _error(trouble: HearingTrouble) -> TranscriptionError:
    match trouble:
        case HearingTrouble.KEY_REFUSED:
            return TranscriptionRefused("the key is not taken")
        case HearingTrouble.UNREADABLE:
            return UnreadableAudio("this is no audio")
        case _:
            return TranscriptionUnavailable(f"no transcript came: {trouble}")


def _understood(heard: Heard) -> Transcript:
    text = heard.text.strip()
    if not text:
        raise EmptyTranscript("nothing was said")
    return Transcript(text=text, language=heard.language)
