from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.settings.environment import VARIABLES, read_environment
from tests.unit.infrastructure.settings.conftest import Load, Problems

NAMED = {
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY"),
    *("OLLAMA_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "PORT"),
    *("FERMIX_PROVIDER", "FERMIX_DEFAULT_MODEL", "FERMIX_REASONING_EFFORT", "FERMIX_TRACE_CONTENT"),
    *("FERMIX_OPIK_ENABLED", "FERMIX_OPIK_BASE_URL", "FERMIX_OPIK_PROJECT", "FERMIX_OPIK_API_KEY"),
    "FERMIX_OPIK_WORKSPACE",
    *("WHATSAPP_ACCESS_TOKEN", "WHATSAPP_PHONE_NUMBER_ID", "WHATSAPP_VERIFY_TOKEN", "WHATSAPP_APP_SECRET"),
    *("DISCORD_BOT_TOKEN", "DISCORD_BOT_USER_ID", "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"),
    *("SIGNAL_ACCOUNT", "SIGNAL_CLI_PATH"),
    *("TELEGRAM_ALLOWED_USER_IDS", "DISCORD_ALLOWED_USER_IDS", "SLACK_ALLOWED_USER_IDS"),
    *("WHATSAPP_ALLOWED_SENDER_IDS", "SIGNAL_ALLOWED_SENDER_IDS"),
}


def test_exactly_the_documented_names_are_read() -> None:
    assert {variable.name for variable in VARIABLES} == NAMED


@pytest.mark.requirement("config.environment.wins_over_file")
def test_the_environment_wins_over_the_file_and_the_file_over_defaults(load: Load) -> None:
    text = "[fermix_web]\nport = 5000\n[fermix_channels.telegram]\nallow_from = [1, 2]\nowner_user_id = 9\n"
    assert load().settings.web.port == 4030
    assert load(text).settings.web.port == 5000
    settings = load(text, {"PORT": "0", "TELEGRAM_ALLOWED_USER_IDS": "3, 4 ,,5"}).settings
    assert settings.web.port == 0
    assert settings.channels.telegram.allowlist == ("3", "4", "5")
    assert settings.channels.telegram.owner == "9"


@pytest.mark.requirement("config.environment.credentials", "config.environment.allowlists")
def test_every_variable_reaches_its_setting(load: Load) -> None:
    values = {"PORT": "5001", "FERMIX_TRACE_CONTENT": "1", "FERMIX_OPIK_ENABLED": "yes"} | {
        "OLLAMA_BASE_URL": "http://h:1/v1",
        "FERMIX_OPIK_BASE_URL": "http://h:2",
        "FERMIX_PROVIDER": "openai",
        "FERMIX_REASONING_EFFORT": "low",
    }
    environ = {name: values.get(name, "value-7") for name in NAMED}
    loaded = load("", environ)
    assert loaded.warnings == ()
    dump = loaded.settings.model_dump(by_alias=True)
    for variable in VARIABLES:
        value: Any = dump
        for part in variable.path:
            value = value[part]
        assert value not in (None, (), False), variable.name
    assert loaded.settings.core.providers["anthropic"].oauth_token is not None
    assert loaded.settings.core.telemetry.opik.enabled
    assert loaded.settings.channels.slack.allowed_ids == {"value-7"}


@pytest.mark.parametrize("blank", ["", " ", "\n", "\t \r\n"])
def test_a_blank_variable_leaves_the_file_as_it_is(load: Load, blank: str) -> None:
    text = '[fermix_core.providers.openai]\napi_key = "from-file"\n[fermix_web]\nport = 5000\n'
    settings = load(text, dict.fromkeys(NAMED, blank)).settings
    key = settings.core.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "from-file"
    assert settings == load(text).settings


def test_a_pasted_line_end_is_not_part_of_a_token(load: Load) -> None:
    token = load("", {"SLACK_BOT_TOKEN": "xoxb-test-000\n"}).settings.channels.slack.bot_token
    assert token is not None
    assert token.get_secret_value() == "xoxb-test-000"


def test_a_token_with_a_line_end_inside_names_the_variable_and_not_the_token(problems: Problems) -> None:
    assert problems("", {"SLACK_BOT_TOKEN": "xoxb-1\nxoxb-2"}) == [
        "environment: SLACK_BOT_TOKEN: has a line break or another control character inside; paste it again"
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PORT", "http", "must be a whole number"),
        ("PORT", "-1", "must be a whole number"),
        ("PORT", "65536", "must be at most 65535"),
        ("FERMIX_TRACE_CONTENT", "maybe", "must be 1 or 0 (also true and false, yes and no, on and off)"),
        (
            "OLLAMA_BASE_URL",
            "localhost:11434",
            "must be a whole address that begins with http:// or https://",
        ),
        ("FERMIX_PROVIDER", "opnai", 'names a provider that is not there; did you mean "openai"?'),
    ],
)
def test_a_wrong_value_is_named_by_its_variable(problems: Problems, name: str, value: str, text: str) -> None:
    assert problems("", {name: value}) == [f"environment: {name}: {text}"]


def test_a_wrong_word_in_a_variable_gets_the_nearest_right_one(problems: Problems) -> None:
    (line,) = problems("", {"FERMIX_REASONING_EFFORT": "hihg"})
    assert line.startswith("environment: FERMIX_REASONING_EFFORT: must be one of ")
    assert line.endswith('did you mean "high"?')


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("FERMIX_HOEM", '; did you mean "FERMIX_HOME"?'),
        ("FERMIX_MODEL", '; did you mean "FERMIX_DEFAULT_MODEL"?'),
        ("FERMIX_PORT", '; did you mean "PORT"?'),
        ("FERMIX_OPENAI_API_KEY", '; did you mean "OPENAI_API_KEY"?'),
        ("FERMIX_WEB__PORT", ""),
        (
            "FERMIX_TELEGRAM_BOT_TOKEN",
            "; the token comes only from fermix_channels.telegram.bot_token in config.toml",
        ),
    ],
)
def test_a_variable_that_means_nothing_is_named_once(load: Load, name: str, hint: str) -> None:
    (warning,) = load("", {name: "value"}).warnings
    assert warning.startswith(f"environment: {name}: is not read")
    if hint:
        assert warning.endswith(hint)


def test_variables_of_others_are_nobodys_business(load: Load) -> None:
    assert (
        load("", {"PATH": "/bin", "PORTS": "1", "fermix_home": "x", "TELEGRAM_BOT_TOKEN": "1:2"}).warnings
        == ()
    )


@pytest.mark.requirement("config.environment.never_the_telegram_token")
@given(st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ_telgramboken.", min_size=1, max_size=60))
def test_no_variable_sets_the_telegram_token(name: str) -> None:
    for candidate in (name, f"FERMIX_{name}", f"TELEGRAM_{name}", "FERMIX_CHANNELS__TELEGRAM__BOT_TOKEN"):
        channels = read_environment({candidate: "123:abc"}).table.get("fermix_channels", {})
        assert "bot_token" not in channels.get("telegram", {})
    assert not any(variable.path[1:] == ("telegram", "bot_token") for variable in VARIABLES)


def test_the_process_environment_is_never_read(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "FERMIX_CORE", "SANDBOX", "HOME_", "MCP", "WEB", "fermix_web", "PORT"):
        monkeypatch.setenv(name, '{"port": 1}')
    assert load().settings == load().settings.model_copy()
    assert load().settings.web.port == 4030
    assert load().settings.core.providers == {}
