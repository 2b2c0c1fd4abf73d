"""Whisper, in the child process: samples in, words out, and none that it only made up."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from fermix.infrastructure.transcription.local.decoding import Samples, in_pieces

INAUDIBLE = "[inaudible]"
"""Stands for what was said and not understood, where more was."""

_LEAST_SURE = -1.0
_MOST_REPETITIVE = 2.4
_SURE_OF_LANGUAGE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What was heard.

    Attributes:
        text: blank where no words were understood.
        language: where the model can tell, and is sure.
        is_doubtful: whether something was said that was not understood.
    """

    text: str
    language: str | None
    is_doubtful: bool


class Ear:
    """A loaded model. Listens on the processor alone, with weights of eight bits.

    Faced with a language it does not know, or with noise, Whisper makes up fluent sentences. Its own measures tell
    them: how probable it finds its words, and how much they repeat themselves. The limits are its authors'.
    """

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._model = WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True
        )
        self._is_multilingual = bool(self._model.model.is_multilingual)

    def listen(self, samples: Samples) -> Understood:
        """Write down what is said."""
        parts: list[str] = []
        told: str | None = None
        language = None if self._is_multilingual else "en"
        for piece in in_pieces(samples):
            segments, about = self._model.transcribe(
                piece.astype(np.float32) / 32_768,
                language=language,
                # A small model finds no better words by looking wider, and takes four times as long.
                beam_size=5 if self._is_multilingual else 1,
                # Guessing again at random would make an answer of noise, and take five times as long.
                temperature=0.0,
                condition_on_previous_text=False,
            )
            for segment in segments:
                sure = segment.avg_logprob >= _LEAST_SURE and segment.compression_ratio <= _MOST_REPETITIVE
                part = segment.text.strip() if sure else INAUDIBLE
                if part and not (part == INAUDIBLE and parts[-1:] == [INAUDIBLE]):
                    parts.append(part)
            if language is None and about.language_probability >= _SURE_OF_LANGUAGE:
                language = told = about.language
        words = [part for part in parts if part != INAUDIBLE]
        return Understood(
            text=" ".join(parts) if words else "", language=told, is_doubtful=len(words) < len(parts)
        )
