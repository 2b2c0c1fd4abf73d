"""What the transcribers' suite needs to know of an adapter: how to open it, and how to direct its backend."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.transcription import Transcriber


class HearingTrouble(StrEnum):
    """What can go wrong with one recording; the next one goes well again."""

    KEY_REFUSED = "key_refused"
    """The backend does not take our credential."""

    UNREADABLE = "unreadable"
    """The backend finds that it is no audio."""

    BUSY = "busy"
    """The backend takes nothing now."""

    UNREACHABLE = "unreachable"
    """Nobody listens where the backend should be."""

    SILENT = "silent"
    """The backend takes the recording and says nothing."""

    CUT = "cut"
    """The answer begins, then the line or the process ends."""

    NONSENSE = "nonsense"
    """An answer that looks like success and holds no transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A transcript as the backend gives it: perhaps blank, perhaps between blanks."""

    text: str
    language: str | None = None


HearingDeed: TypeAlias = Heard | HearingTrouble
"""What a backend does with one recording."""


class Listener(Protocol):
    """The far side. Left alone it answers every recording with some words that fit it."""

    def will(self, *deeds: HearingDeed) -> None:
        """Do these with the next recordings, one each.

        Raises:
            CannotArrange: this backend cannot be brought to one of them.
        """
        ...

    async def asked(self, times: int) -> None:
        """Wait until so many recordings have arrived since it was opened, each with its last byte.

        Raises:
            CannotArrange: that cannot be seen there.
        """
        ...

    @property
    def recordings(self) -> tuple[bytes, ...]:
        """The content of each recording that arrived.

        Raises:
            CannotArrange: that cannot be seen there.
        """
        ...

    async def left(self) -> None:
        """Wait until it has seen an asker leave before the end of an answer.

        Raises:
            CannotArrange: that cannot be seen there.
        """
        ...


class OpenTranscriber(Protocol):
    """A transcriber with the backend behind it."""

    @property
    def transcriber(self) -> Transcriber:
        """The adapter under test."""
        ...

    @property
    def blobs(self) -> Blobs:
        """The store it reads recordings from."""
        ...

    @property
    def listener(self) -> Listener:
        """Its far side."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must show nowhere; the backend repeats them in its refusals where it can."""
        ...


class TranscriberHarness(Protocol):
    """One kind of adapter, opened anew for each check."""

    @property
    def recording(self) -> bytes:
        """A recording that the backend can read, in which something is said."""
        ...

    @property
    def patience(self) -> timedelta:
        """How long at most the far side may take to notice something."""
        ...

    def open(self, *, impatient: bool = False) -> AbstractAsyncContextManager[OpenTranscriber]:
        """The adapter over a backend of its own.

        Args:
            impatient: with time limits that a test can wait for; else with none that it could reach.
        """
        ...
