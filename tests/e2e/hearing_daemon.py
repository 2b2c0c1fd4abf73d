"""The daemon with a transcriber that says what a test writes into a file, once it is there.

`python -m tests.e2e.hearing_daemon --ear FOLDER [--clock FILE]`: each recording adds a line to `FOLDER/asked`;
what was said in it is read from `FOLDER/words`, which is then taken away. The product itself knows nothing of any
of this.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from fermix.application.ports.transcription import Audio, TranscriberProfile, Transcript
from fermix.entrypoints.container import Container
from fermix.entrypoints.daemon import main as run_daemon
from tests.e2e.harness.shifted_clock import shift_clocks

LOOK_EVERY = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Ear:
    """The `Transcriber` port over two files."""

    folder: Path

    @property
    def profile(self) -> TranscriberProfile:
        return TranscriberProfile(backend="ear", languages=frozenset({"en"}))

    async def transcribe(self, audio: Audio) -> Transcript:
        with (self.folder / "asked").open("a") as asked:
            asked.write(f"{audio.file_name} {audio.mime_type} {audio.content.size_bytes}\n")
        words = self.folder / "words"
        while not words.exists():  # noqa: ASYNC110  # another process makes it
            await anyio.sleep(LOOK_EVERY)
        text = words.read_text()
        words.unlink()
        return Transcript(text=text, language="en")


def put_in(container: Container, *, ear: Ear) -> None:
    """Let the ear hear what people say."""
    container.transcriber.override(ear)


def main() -> int:
    """Run it; the exit status is the daemon's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ear", type=Path, required=True)
    parser.add_argument("--clock", type=Path)
    given = parser.parse_args()
    if given.clock is not None:
        shift_clocks(given.clock)
    return run_daemon([], override=partial(put_in, ear=Ear(folder=given.ear)))


if __name__ == "__main__":
    raise SystemExit(main())
