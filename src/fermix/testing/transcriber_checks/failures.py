"""Checks of failures: each kind told apart, asked once, survived, and silent about secrets and words."""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from typing_extensions import override

from fermix.application.ports.transcription import (
    TranscriptionError,
    TranscriptionRefused,
    TranscriptionUnavailable,
    UnreadableAudio,
)
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import PromiseBroken, must_be, must_equal
from fermix.testing.transcriber_checks.check import TranscriberCheck, ask, failure_of, proves
from fermix.testing.transcriber_harness import Heard, HearingTrouble, OpenTranscriber, TranscriberHarness

WORDS = "confidential plans for Thursday"
"""What is said where nobody else may learn it."""


def _fails(
    trouble: HearingTrouble, kind: type[TranscriptionError], *, name: str, promise: str
) -> TranscriberCheck:
    async def run(harness: TranscriberHarness) -> None:
        async with harness.open(impatient=True) as opened:
            opened.listener.will(trouble)
            must_be(await failure_of(opened, harness.recording), kind, name)

    run.__name__, run.__doc__ = name, promise
    return proves()(run)


def _troubles(opened: OpenTranscriber) -> Iterator[HearingTrouble]:
    """Every trouble that the backend can be brought to, arranged for the next recording."""
    met = 0
    for trouble in HearingTrouble:
        try:
            opened.listener.will(trouble)
        except CannotArrange:
            continue
        met += 1
        yield trouble
    if not met:
        raise CannotArrange("this backend cannot be brought into any trouble")


@proves()
async def a_recording_is_sent_once(harness: TranscriberHarness) -> None:
    """What was refused or broke off is not sent a second time by the adapter."""
    for trouble in (HearingTrouble.BUSY, HearingTrouble.CUT):
        async with harness.open(impatient=True) as opened:
            opened.listener.will(trouble)
            await failure_of(opened, harness.recording)
            must_equal(len(opened.listener.recordings), 1, f"recordings that arrived ({trouble})")


@proves()
async def the_next_recording_is_heard(harness: TranscriberHarness) -> None:
    """Whatever went wrong with one recording, the next one is transcribed."""
    async with harness.open(impatient=True) as opened:
        for _ in _troubles(opened):
            await failure_of(opened, harness.recording)
            await ask(opened, harness.recording)


@proves()
async def no_secret_shows_in_a_failure(harness: TranscriberHarness) -> None:
    """Neither an error, its causes nor the log hold the key, though the backend repeats it."""
    async with harness.open(impatient=True) as opened:
        if not opened.secrets:
            raise CannotArrange("this transcriber knows no secret")
        with _logged() as lines:
            for trouble in _troubles(opened):
                failed = await failure_of(opened, harness.recording)
                texts = [*([] if failed is None else texts_of(failed)), *lines]
                shown = any(secret in text for secret in opened.secrets for text in texts)
                must_equal(shown, False, f"whether a secret shows ({trouble})")


@proves()
async def no_word_that_was_said_is_logged(harness: TranscriberHarness) -> None:
    """A transcript goes to whoever asked for it, and into no line of the log."""
    async with harness.open() as opened:
        opened.listener.will(Heard(text=WORDS))
        with _logged() as lines:
            must_equal((await ask(opened, harness.recording)).text, WORDS, "the transcript")
    if any(WORDS in line for line in lines):
        raise PromiseBroken("what was said stands in the log")


class _Lines(logging.Handler):
    """Keeps each record with all it carries."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {record.__dict__!r}")


@contextmanager
def _logged() -> Generator[list[str]]:
    """Every line that is logged inside, of any level that its logger does not drop by itself."""
    root, handler = logging.getLogger(), _Lines()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.lines
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


CHECKS: tuple[TranscriberCheck, ...] = (
    _fails(
        HearingTrouble.KEY_REFUSED,
        TranscriptionRefused,
        name="a_refused_key_is_told",
        promise="A credential that the backend does not take is told apart from every other refusal.",
    ),
    _fails(
        HearingTrouble.UNREADABLE,
        UnreadableAudio,
        name="what_is_no_audio_is_told",
        promise="A file that the backend cannot read is told apart from a backend that fails.",
    ),
    _fails(
        HearingTrouble.BUSY,
        TranscriptionUnavailable,
        name="a_busy_backend_is_unavailable",
        promise="A backend that takes nothing now is unavailable.",
    ),
    _fails(
        HearingTrouble.UNREACHABLE,
        TranscriptionUnavailable,
        name="nobody_there_is_unavailable",
        promise="A backend that cannot be reached is unavailable.",
    ),
    _fails(
        HearingTrouble.SILENT,
        TranscriptionUnavailable,
        name="silence_ends_in_time",
        promise="A backend that takes a recording and says nothing is left within the time limit.",
    ),
    _fails(
        HearingTrouble.CUT,
        TranscriptionUnavailable,
        name="half_an_answer_is_none",
        promise="An answer that breaks off is no transcript, though words of it came.",
    ),
    _fails(
        HearingTrouble.NONSENSE,
        TranscriptionUnavailable,
        name="nonsense_is_no_transcript",
        promise="An answer that looks like success and holds no transcript is a backend that fails.",
    ),
    a_recording_is_sent_once,
    the_next_recording_is_heard,
    no_secret_shows_in_a_failure,
    no_word_that_was_said_is_logged,
)
