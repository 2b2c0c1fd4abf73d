from pathlib import Path
from typing import Any

import pytest

from fermix.infrastructure.settings.choice import (
    MissingCredentialError,
    MissingModelError,
    ModelNameError,
    NoProviderError,
    ProviderChoice,
    ProviderChoiceError,
    UnsupportedProviderError,
    choose_provider,
    configured_providers,
)
from fermix.infrastructure.settings.known_providers import KNOWN_PROVIDERS, LOCAL
from tests.unit.infrastructure.settings.conftest import Load


def section(name: str, **keys: Any) -> str:
    pairs = [
        f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
        for key, value in keys.items()
    ]
    return f"[fermix_core.providers.{name}]\n" + "\n".join(pairs) + "\n"


def choose(
    load: Load, text: str = "", /, *, local: bool = True, model: str | None = None, **environ: str
) -> ProviderChoice:
    """Keywords in capitals are the environment."""
    return choose_provider(load(text, environ).settings, local_available=local, model=model)


def test_with_nothing_configured_the_local_model_answers(load: Load) -> None:
    choice = choose(load)
    assert (choice.name, choice.wire, choice.base_url, choice.api_key) == (
        "local",
        "chat_completions",
        None,
        None,
    )
    assert (choice.timeout_seconds, choice.vision, choice.note, choice.model_path) == (300, False, None, None)


def test_without_any_model_the_choice_fails(load: Load) -> None:
    with pytest.raises(NoProviderError):
        choose(load, local=False)
    with pytest.raises(NoProviderError):
        choose(load, section("local", primary=True), local=False, OPENAI_API_KEY="sk-1")


def test_a_key_in_the_environment_is_enough(load: Load) -> None:
    choice = choose(load, local=False, OPENAI_API_KEY="sk-1\n")
    assert (choice.name, choice.wire, choice.base_url, choice.note) == ("openai", "responses", None, None)
    assert choice.model == KNOWN_PROVIDERS["openai"].default_model
    assert choice.api_key is not None
    assert choice.api_key.get_secret_value() == "sk-1"
    assert "sk-1" not in repr(choice)


def test_primary_wins_over_the_order(load: Load) -> None:
    text = section("mistral", primary=True, api_key="m") + section("openai", api_key="o")
    choice = choose(load, text)
    assert (choice.name, choice.note) == ("mistral", None)


def test_the_environment_names_the_primary(load: Load) -> None:
    text = section("mistral", primary=True, api_key="m") + section("openai", api_key="o")
    choice = choose(
        load, text, FERMIX_PROVIDER="openai", FERMIX_DEFAULT_MODEL="gpt-z", FERMIX_REASONING_EFFORT="low"
    )
    assert (choice.name, choice.model, choice.reasoning_effort) == ("openai", "gpt-z", "low")
    assert choose(load, text, FERMIX_PROVIDER="local").name == "local"


def test_the_old_way_to_name_the_primary_counts_only_without_the_new_one(load: Load) -> None:
    old = "[fermix_core.agent]\nprovider = 'xai'\n"
    keys = section("openai", api_key="o") + section("xai", api_key="x")
    assert choose(load, old + keys).name == "xai"
    assert choose(load, old + keys.replace("api_key = 'o'", "api_key = 'o'\nprimary = true")).name == "openai"


def test_without_primary_the_first_in_the_known_order_answers_with_one_note(load: Load) -> None:
    text = section("box", base_url="http://box/v1", default_model="m") + section("ollama", default_model="m")
    choice = choose(load, text, XAI_API_KEY="x", MISTRAL_API_KEY="m")
    assert choice.name == "xai"
    assert choice.note == (
        "xai, mistral, ollama, box are configured and none is primary; xai answers "
        "(set fermix_core.providers.xai.primary = true)"
    )


def test_what_is_only_configured_and_cannot_run_is_skipped_with_a_note(load: Load) -> None:
    choice = choose(
        load, section("openai_codex", auth_mode="oauth"), ANTHROPIC_API_KEY="a", OPENROUTER_API_KEY="r"
    )
    assert choice.name == "openrouter"
    assert choice.note is not None
    assert "anthropic is skipped" in choice.note
    assert "openai_codex is skipped" in choice.note
    alone = choose(load, CLAUDE_CODE_OAUTH_TOKEN="t")
    assert alone.name == "local"
    assert alone.note is not None
    assert "anthropic is skipped" in alone.note


@pytest.mark.parametrize(
    "text",
    [
        section("anthropic", primary=True, api_key="a"),
        section("anthropic", primary=True, api_key="a", base_url="http://h/v1"),
        section("openai_codex", primary=True),
        section("venice", primary=True, api_key="v"),
        section("xai", primary=True, auth_mode="oauth"),
        section("xai", primary=True, auth_mode="oauth", api_key="x"),
    ],
)
def test_a_primary_that_cannot_run_is_an_error_that_names_it(load: Load, text: str) -> None:
    for key in ("", "sk-1"):
        with pytest.raises(UnsupportedProviderError) as caught:
            choose(load, text, OPENAI_API_KEY=key)
        assert caught.value.provider
        assert f"the provider {caught.value.provider} " in str(caught.value)
        assert caught.value.provider in text


def test_a_primary_named_by_the_environment_that_cannot_run_is_an_error(load: Load) -> None:
    with pytest.raises(UnsupportedProviderError, match="the provider anthropic speaks a protocol"):
        choose(load, FERMIX_PROVIDER="anthropic", ANTHROPIC_API_KEY="a", OPENAI_API_KEY="o")


def test_a_foreign_name_runs_as_a_compatible_server_when_both_are_said(load: Load) -> None:
    text = section(
        "anthropic", primary=True, base_url="http://h/v1", wire="chat_completions", default_model="c"
    )
    assert choose(load, text).base_url == "http://h/v1"
    assert choose(load, section("venice", base_url="http://v/v1", default_model="m")).name == "venice"


def test_a_primary_without_a_key_says_where_to_put_it(load: Load) -> None:
    with pytest.raises(MissingCredentialError) as caught:
        choose(load, section("openai", primary=True))
    assert str(caught.value) == (
        "the provider openai has no key; set fermix_core.providers.openai.api_key in config.toml, "
        "or OPENAI_API_KEY in the environment"
    )


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("xai", "https://api.x.ai/v1"),
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("mistral", "https://api.mistral.ai/v1"),
        ("ollama", "http://localhost:11434/v1"),
    ],
)
def test_known_providers_have_their_address(load: Load, name: str, base_url: str) -> None:
    text = section(name, api_key="k", default_model="m")
    assert choose(load, text).base_url == base_url
    own = choose(load, section(name, api_key="k", default_model="m", base_url="http://own:1/v1/"))
    assert (own.base_url, own.wire) == ("http://own:1/v1", "chat_completions")


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        (section("openai", api_key="k"), "responses"),
        (section("xai", api_key="k"), "responses"),
        (section("openai", api_key="k", base_url="http://h", default_model="m"), "chat_completions"),
        (
            section("openai", api_key="k", base_url="http://h", default_model="m", wire="responses"),
            "responses",
        ),
        (section("openai", api_key="k", wire="chat_completions"), "chat_completions"),
        (section("mistral", api_key="k"), "chat_completions"),
        (section("box", base_url="http://h", default_model="m"), "chat_completions"),
    ],
)
def test_the_wire_follows_the_provider_and_its_address(load: Load, text: str, wire: str) -> None:
    assert choose(load, text).wire == wire


def test_ollama_needs_no_key_and_is_patient(load: Load) -> None:
    choice = choose(load, section("ollama", default_model="m"), OLLAMA_BASE_URL="http://there:11434/v1")
    assert (choice.base_url, choice.api_key, choice.timeout_seconds) == ("http://there:11434/v1", None, 300)
    assert choose(
        load, section("ollama", vision=True, primary=True, default_model="m", timeout_seconds=5)
    ).vision


def test_a_provider_without_any_model_names_the_key(load: Load) -> None:
    for text, name in [
        (section("ollama", base_url="http://h/v1"), "ollama"),
        (section("openai", base_url="http://h/v1"), "openai"),
        (section("my-box", base_url="http://h/v1"), "my-box"),
    ]:
        with pytest.raises(MissingModelError, match=f"set fermix_core.providers.{name}.default_model"):
            choose(load, text)
        assert choose(load, text, model="m").model == "m"
        assert choose(load, text, FERMIX_DEFAULT_MODEL="m").model == "m"


def test_what_a_section_says_reaches_the_choice(load: Load) -> None:
    text = section(
        "openai", api_key="k", reasoning_effort="high", context_window=9000, vision=False, timeout_seconds=7
    )
    choice = choose(load, text)
    assert (choice.reasoning_effort, choice.context_window) == ("high", 9000)
    assert (choice.vision, choice.timeout_seconds) == (False, 7)


def test_an_effort_from_the_environment_skips_providers_without_one(load: Load) -> None:
    assert choose(load, MISTRAL_API_KEY="m", FERMIX_REASONING_EFFORT="low").reasoning_effort is None


def test_another_local_file_is_found_from_the_home(load: Load) -> None:
    choice = choose(
        load, section("local", model_path="models/big.gguf", context_window=512), FERMIX_DEFAULT_MODEL="gpt"
    )
    assert choice.model == "big"
    assert choice.context_window == 512
    assert choice.model_path is not None
    assert choice.model_path.is_absolute()
    tilde = choose(load, section("local", model_path="~/big.gguf"))
    assert tilde.model_path == Path("/people/ada/big.gguf")


@pytest.mark.parametrize(
    ("model", "environ", "expected"),
    [
        ("gpt-x", {"OPENAI_API_KEY": "o"}, ("openai", "gpt-x")),
        ("openai/gpt-x", {"OPENAI_API_KEY": "o", "XAI_API_KEY": "x"}, ("openai", "gpt-x")),
        ("xai/grok-x", {"OPENAI_API_KEY": "o", "XAI_API_KEY": "x"}, ("xai", "grok-x")),
        ("meta-llama/x", {"OPENROUTER_API_KEY": "r"}, ("openrouter", "meta-llama/x")),
        ("openrouter/meta-llama/x", {"OPENROUTER_API_KEY": "r"}, ("openrouter", "meta-llama/x")),
        ("openai/gpt-x", {"OPENROUTER_API_KEY": "r"}, ("openrouter", "openai/gpt-x")),
        (
            "openrouter/openai/gpt-x",
            {"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"},
            ("openrouter", "openai/gpt-x"),
        ),
        ("local/any", {"OPENAI_API_KEY": "o"}, ("local", "any")),
        (" gpt-x ", {"OPENAI_API_KEY": "o", "FERMIX_DEFAULT_MODEL": "other"}, ("openai", "gpt-x")),
        ("/absolute", {"OPENAI_API_KEY": "o"}, ("openai", "/absolute")),
    ],
)
def test_a_model_is_one_of_the_primary_or_names_its_provider(
    load: Load, model: str, environ: dict[str, str], expected: tuple[str, str]
) -> None:
    choice = choose_provider(load("", environ).settings, local_available=True, model=model)
    assert (choice.name, choice.model) == expected


def test_a_known_provider_that_is_asked_for_and_has_no_key_is_an_error(load: Load) -> None:
    with pytest.raises(MissingCredentialError, match="the provider xai has no key"):
        choose(load, model="xai/grok", OPENAI_API_KEY="o")
    with pytest.raises(UnsupportedProviderError, match="the provider anthropic "):
        choose(load, model="anthropic/claude", OPENAI_API_KEY="o")


def test_a_provider_that_is_asked_for_works_beside_a_broken_primary(load: Load) -> None:
    text = section("anthropic", primary=True, api_key="a")
    assert choose(load, text, model="openai/gpt-x", OPENAI_API_KEY="o").name == "openai"


@pytest.mark.parametrize("model", ["", "  ", "openai/", "a\nb", "a\x00"])
def test_what_is_no_model_name_is_refused(load: Load, model: str) -> None:
    with pytest.raises(ModelNameError):
        choose(load, model=model, OPENAI_API_KEY="o")


def test_configured_providers_are_listed_in_order_without_those_that_cannot_run(load: Load) -> None:
    text = (
        section("box", base_url="http://b/v1")
        + section("anthropic", api_key="a")
        + section("openai", api_key="o")
    )
    loaded = load(text, {"XAI_API_KEY": "x"})
    assert configured_providers(loaded.settings) == ("openai", "xai", "box")
    assert configured_providers(load("").settings) == ()


def test_every_error_is_one_kind_of_choice_error() -> None:
    kinds = (
        UnsupportedProviderError,
        MissingModelError,
        MissingCredentialError,
        NoProviderError,
        ModelNameError,
    )
    assert all(issubclass(kind, ProviderChoiceError) for kind in kinds)
    assert LOCAL in KNOWN_PROVIDERS
