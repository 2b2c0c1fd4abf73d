"""What the recordings of a test hold, told to the transcriber of `tests.e2e.hearing_daemon` by two files."""

from dataclasses import dataclass
from pathlib import Path

from tests.e2e.harness.homes import until


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """Words for one recording after the other; a transcriber without words waits for them.

    Attributes:
        ear: the folder that it and the transcriber share.
    """

    ear: Path

    def says(self, words: str) -> None:
        """What the next recording holds."""
        begun = self.ear / "words.unfinished"
        begun.write_text(words)
        begun.rename(self.ear / "words")

    def heard(self, times: int) -> list[str]:
        """What the transcriber was asked, once it was so often."""
        return until(
            lambda: lines if len(lines := self.asked()) >= times else [], what=f"transcription {times}"
        )

    def asked(self) -> list[str]:
        """File name, type and size of each recording that the transcriber was given so far."""
        asked = self.ear / "asked"
        return asked.read_text().splitlines() if asked.exists() else []

    def is_silent(self) -> bool:
        """Whether nothing is left to be heard."""
        return not (self.ear / "words").exists()
