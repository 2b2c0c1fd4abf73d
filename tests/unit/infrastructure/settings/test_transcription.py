"""Who transcribes, as the settings say: the choice, whose key is used, and where a key never goes."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from fermix.infrastructure.settings.transcription_choice import (
    NoTranscription,
    Transcription,
    TranscriptionChoice,
    choose_transcription,
)
from tests.unit.infrastructure.settings.conftest import Load, Problems

SECTION = "[fermix_core.transcription]\n"


def choose(load: Load, text: str = "", *, local: bool = False, **environ: str) -> Transcription:
    return choose_transcription(load(text, environ).settings, local_installed=local)


def chosen(load: Load, text: str = "", *, local: bool = False, **environ: str) -> TranscriptionChoice:
    choice = choose(load, text, local=local, **environ)
    assert isinstance(choice, TranscriptionChoice), choice
    return choice


def refused(load: Load, text: str = "", *, local: bool = False, **environ: str) -> NoTranscription:
    choice = choose(load, text, local=local, **environ)
    assert isinstance(choice, NoTranscription), choice
    return choice


def key_of(choice: TranscriptionChoice) -> str | None:
    return None if choice.api_key is None else choice.api_key.get_secret_value()


@pytest.mark.requirement("media.transcription.default_backend")
@pytest.mark.parametrize(
    ("text", "local", "environ", "backend"),
    [
        ("", False, {}, None),
        ("", True, {}, "local"),
        ("", True, {"OPENAI_API_KEY": "sk-1"}, "openai"),
        (f"{SECTION}openai_api_key = 'sk-2'", True, {}, "openai"),
        ("[fermix_core.providers.openai]\napi_key = 'sk-3'", False, {}, "openai"),
        ("", False, {"XAI_API_KEY": "xai-1"}, None),
        (f"{SECTION}deepgram_api_key = 'dg'", False, {}, None),
        (f"{SECTION}backend = 'local'", True, {"OPENAI_API_KEY": "sk-1"}, "local"),
        (f"{SECTION}backend = 'xai'", True, {"XAI_API_KEY": "xai-1"}, "xai"),
    ],
)
def test_the_backend_that_is_set_else_openai_with_a_key_else_local_else_nobody(
    load: Load, text: str, local: bool, environ: dict[str, str], backend: str | None
) -> None:
    choice = choose(load, text, local=local, **environ)
    assert choice.backend == backend
    assert isinstance(choice, NoTranscription) == (backend is None)


@pytest.mark.parametrize("backend", ["openai", "xai"])
def test_the_key_of_the_provider_is_used_unless_the_section_has_its_own(load: Load, backend: str) -> None:
    provider = f"[fermix_core.providers.{backend}]\napi_key = 'of-the-provider'\n"
    section = f"{SECTION}backend = '{backend}'\n"
    assert key_of(chosen(load, provider + section)) == "of-the-provider"
    own = f"{section}{backend}_api_key = 'its-own'\n"
    assert key_of(chosen(load, provider + own)) == "its-own"


@pytest.mark.parametrize("backend", ["openai", "xai", "deepgram"])
def test_a_missing_key_is_named_with_what_sets_it(load: Load, backend: str) -> None:
    choice = refused(load, f"{SECTION}backend = '{backend}'", local=True)
    assert choice.lacks == f"fermix_core.transcription.{backend}_api_key"
    assert choice.lacks in choice.remedy
    assert backend in choice.reason


@pytest.mark.requirement("media.transcription.backends")
def test_a_login_by_subscription_does_not_cover_speech(load: Load) -> None:
    login = "[fermix_core.providers.xai]\nauth_mode = 'oauth'\n"
    section = f"{SECTION}backend = 'xai'\n"
    choice = refused(load, login + section)
    assert "subscription" in choice.reason
    assert "does not cover speech to text" in choice.reason
    assert key_of(chosen(load, f"{login}{section}xai_api_key = 'xai-1'")) == "xai-1"


@pytest.mark.parametrize(
    ("provider", "section", "key"),
    [
        ("https://mine.invalid/v1", None, None),
        (None, "https://mine.invalid/v1", None),
        ("https://mine.invalid/v1", "https://other.invalid/v1", None),
        ("https://mine.invalid/v1", "https://mine.invalid/v1", "sk-1"),
        (None, None, "sk-1"),
    ],
)
def test_a_key_goes_to_the_server_that_it_was_given_for_alone(
    load: Load, provider: str | None, section: str | None, key: str | None
) -> None:
    text = "[fermix_core.providers.openai]\napi_key = 'sk-1'\n"
    text += f"base_url = '{provider}'\n" if provider else ""
    text += f"{SECTION}backend = 'openai'\n"
    text += f"base_url = '{section}'\n" if section else ""
    choice = choose(load, text)
    assert (key_of(choice) if isinstance(choice, TranscriptionChoice) else None) == key


def test_a_server_of_ones_own_may_work_without_a_key(load: Load) -> None:
    choice = chosen(
        load, f"{SECTION}backend = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'whisper'"
    )
    assert (choice.base_url, choice.api_key, choice.model) == ("http://127.0.0.1:9/v1", None, "whisper")


def test_local_without_its_libraries_names_the_command(load: Load) -> None:
    assert refused(load, f"{SECTION}backend = 'local'").remedy == "pip install 'fermix-agent[stt]'"


def test_what_means_nothing_to_the_backend_is_named(load: Load, tmp_path: Path) -> None:
    keys = "model = 'm'\nbase_url = 'http://127.0.0.1:9'\nmodel_path = 'speech'\n"
    local = chosen(load, f"{SECTION}backend = 'local'\n{keys}", local=True)
    assert [key.rpartition(".")[2] for key in local.ignored] == ["model", "base_url"]
    assert (local.model, local.base_url, local.model_path) == (None, None, tmp_path / "speech")
    xai = chosen(load, f"{SECTION}backend = 'xai'\nxai_api_key = 'k'\n{keys}")
    assert [key.rpartition(".")[2] for key in xai.ignored] == ["model", "model_path"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("backend = 'opena'", 'did you mean "openai"?'),
        ("backend = 'whisper'", 'must be one of "openai", "xai", "deepgram", "local"'),
        ("max_file_mb = 0", "must be at least 1"),
        ("max_file_mb = '20'", "must be a whole number"),
        ("modle = 'm'", 'did you mean "model"?'),
    ],
)
def test_a_wrong_key_or_value_stops_the_start(problems: Problems, line: str, words: str) -> None:
    (problem,) = problems(SECTION + line)
    assert words in problem


def test_no_key_shows(load: Load) -> None:
    choice = chosen(load, f"{SECTION}openai_api_key = 'sk-planted'")
    assert isinstance(choice.api_key, SecretStr)
    assert "sk-planted" not in repr(choice)
