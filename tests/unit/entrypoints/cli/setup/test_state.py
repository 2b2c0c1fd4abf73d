"""What is set up and what is missing, without a secret."""

import tomllib
from pathlib import Path
from typing import Any

from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.state import state_document, state_text
from fermix.infrastructure.settings.environment import read_environment
from fermix.infrastructure.settings.loading import load_settings


def state(home: Path, text: str, **environ: str) -> dict[str, Any]:
    (home / "config.toml").write_text(text)
    present = Present(table=tomllib.loads(text), variables=read_environment(environ).origins)
    settings = load_settings(home, environ).settings
    return state_document(present, settings, local_speech=False)


def test_a_fresh_home_lacks_nothing_and_the_local_model_answers(tmp_path: Path) -> None:
    found = state(tmp_path, "")
    assert found["answers"].startswith("local/")
    assert found["providers"] == []
    assert {each["status"] for each in found["channels"]} == {"not set up"}
    assert found["transcription"]["status"] == "not set up"
    assert found["missing"] == []


def test_what_is_missing_is_named_and_where_secrets_are(tmp_path: Path) -> None:
    found = state(
        tmp_path,
        "[fermix_core.providers.openai]\nprimary = true\n"
        '[fermix_core.providers.xai]\napi_key = "planted-secret"\n'
        '[fermix_core.providers.mistral]\napi_key = "@keyring"\n'
        '[fermix_channels.telegram]\nbot_token = "@file"\n'
        "[fermix_channels.whatsapp]\nowner_user_id = 4915\n"
        '[fermix_core.transcription]\nbackend = "deepgram"\n',
        OPENROUTER_API_KEY="planted-too",
    )
    keys = {each["name"]: each["keys"].get("api_key") for each in found["providers"]}
    assert keys == {
        "openai": None,
        "xai": "in config.toml as plain text",
        "mistral": "in the keychain",
        "openrouter": "from OPENROUTER_API_KEY",
    }
    assert found["missing"] == [
        "fermix_core.providers.openai.api_key",
        "fermix_channels.telegram.owner_user_id",
        "fermix_channels.whatsapp.access_token",
        "fermix_channels.whatsapp.phone_number_id",
        "fermix_channels.whatsapp.verify_token",
        "fermix_channels.whatsapp.app_secret",
        "fermix_core.transcription.deepgram_api_key",
    ]
    text = state_text(found)
    assert "planted" not in text + repr(found)
    assert "telegram: incomplete" in text
    assert "whatsapp: disabled" in text
