"""Flags: exactly what they say, or a sentence that names the flag."""

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.setup.answers import (
    Answers,
    ChannelAnswer,
    ProviderAnswer,
    TranscriptionAnswer,
)
from fermix.entrypoints.cli.setup.flags import CHANNEL_FLAGS, SECRET_FLAGS, answers_of
from fermix.entrypoints.cli.setup.options import ANSWERS
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.values import Unfit, is_secret

NOTHING = Present()


def present(text: str) -> Present:
    return Present(table=tomllib.loads(text))


def test_a_key_alone_names_its_provider_and_chooses_nobody() -> None:
    told = answers_of({"xai_api_key": " xai-1\n", "mistral_api_key": "m-1"}, NOTHING)
    assert told == Answers(
        providers=(
            ProviderAnswer(name="xai", api_key="xai-1"),
            ProviderAnswer(name="mistral", api_key="m-1"),
        )
    )


def test_the_provider_that_is_named_is_chosen_and_what_is_said_is_its_own() -> None:
    told = answers_of(
        {
            "provider": "mine",
            "base_url": "http://127.0.0.1:8000/v1",
            "api_key": "k",
            "default_model": "m",
            "reasoning_effort": "high",
            "openai_api_key": "o",
        },
        NOTHING,
    )
    assert told.providers == (
        ProviderAnswer(
            name="mine",
            api_key="k",
            base_url="http://127.0.0.1:8000/v1",
            default_model="m",
            reasoning_effort="high",
            chosen=True,
        ),
        ProviderAnswer(name="openai", api_key="o"),
    )


def test_a_model_goes_to_the_only_provider_there_can_be() -> None:
    one = present('[fermix_core.providers.openai]\napi_key = "k"\n')
    assert answers_of({"default_model": "m"}, one).providers == (
        ProviderAnswer(name="openai", default_model="m"),
    )
    told = answers_of({"default_model": "m", "ollama_base_url": "http://localhost:11434/v1"}, one)
    assert told.providers == (
        ProviderAnswer(name="ollama", base_url="http://localhost:11434/v1", default_model="m"),
    )


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            {"provider": "opnai"},
            'another one needs an address (--base-url); did you mean "openai"?',
        ),
        ({"provider": "anthropic", "api_key": "k"}, "anthropic cannot run in this version"),
        ({"anthropic_api_key": "k"}, "anthropic cannot run in this version"),
        ({"auth_mode": "oauth"}, "--auth-mode: signing in with a subscription"),
        ({"provider": "openai_codex"}, "openai_codex cannot run in this version"),
        ({"provider": "venice", "api_key": "k"}, "venice has no address"),
        ({"provider": "bad name!"}, "the name of a provider has letters"),
        ({"provider": "ollama"}, "ollama needs a model (--default-model)"),
        ({"provider": "mine", "base_url": "http://127.0.0.1/v1"}, "mine needs a model"),
        ({"provider": "openai", "base_url": "http://127.0.0.1/v1"}, "openai needs a model"),
        ({"base_url": "http://127.0.0.1/v1"}, "--base-url: say with --provider whose it is"),
        ({"default_model": "m"}, "--default-model: say with --provider whose it is"),
        ({"default_model": "m", "xai_api_key": "a", "openai_api_key": "b"}, "--default-model: say with"),
        ({"provider": "xai", "api_key": "a", "xai_api_key": "b"}, "--xai-api-key says the same"),
        ({"provider": "mistral", "api_key": "a", "reasoning_effort": "high"}, "takes no reasoning effort"),
        ({"provider": "local", "default_model": "m"}, "local is the built-in model"),
        ({"openai_api_key": " "}, "--openai-api-key: must not be empty"),
        ({"telegram_owner_user_id": "@ada"}, "--telegram-owner-user-id: a Telegram id is a number"),
        ({"transcription_api_key": "k"}, "--transcription-api-key: say with --transcription-backend"),
        ({"transcription_backend": "whisper"}, "--transcription-backend: must be one of"),
        (
            {"transcription_backend": "xai", "transcription_model": "m"},
            "--transcription-model: means nothing",
        ),
        ({"transcription_backend": "none", "transcription_api_key": "k"}, "means nothing to none"),
        ({"transcription_backend": "local", "transcription_api_key": "k"}, "means nothing to local"),
    ],
)
def test_what_cannot_be_followed_is_said_in_a_sentence(told: dict[str, str], reason: str) -> None:
    with pytest.raises(Unfit) as refused:
        answers_of(told, NOTHING)
    assert reason in str(refused.value)


def test_every_messenger_can_be_told_by_flags() -> None:
    samples = {
        "bot_token": "12345:AA",
        "owner_user_id": "4915123456",
        "account": "+4915123456",
        "phone_number_id": "77",
    }
    told = {name: samples.get(key, "some-secret") for name, (_, key) in CHANNEL_FLAGS.items()}
    told |= {"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1", "slack_owner_user_id": "U1A"}
    found = answers_of(told, NOTHING).channels
    assert [answer.name for answer in found] == ["telegram", "whatsapp", "discord", "slack", "signal"]
    assert sum(len(answer.values) for answer in found) == len(CHANNEL_FLAGS)


def test_an_app_token_of_slack_alone_means_socket_mode() -> None:
    told = answers_of({"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}, NOTHING)
    assert told.channels == (
        ChannelAnswer(name="slack", values={"bot_token": "xoxb-1", "app_token": "xapp-1", "mode": "socket"}),
    )


@pytest.mark.requirement("media.transcription.setup_and_doctor")
def test_the_transcription_is_told_by_backend_model_and_key() -> None:
    told = {
        "transcription_backend": "deepgram",
        "transcription_model": "nova-3",
        "transcription_api_key": "dg-1",
    }
    assert answers_of(told, NOTHING).transcription == TranscriptionAnswer(
        backend="deepgram", model="nova-3", api_key="dg-1"
    )
    set_up = present('[fermix_core.transcription]\nbackend = "openai"\n')
    assert answers_of({"transcription_model": "m"}, set_up).transcription == TranscriptionAnswer(
        backend="openai", model="m"
    )
    assert answers_of({"transcription_backend": "none"}, set_up).transcription == TranscriptionAnswer(
        backend=None
    )


@given(st.dictionaries(st.sampled_from(ANSWERS), st.text(max_size=12), max_size=5))
def test_flags_are_followed_or_refused_and_nothing_else(told: dict[str, str]) -> None:
    with suppress(Unfit):
        assert isinstance(answers_of(told, NOTHING), Answers)


def test_every_flag_for_a_secret_may_be_read_from_standard_input() -> None:
    of_channels = {
        name for name, (channel, key) in CHANNEL_FLAGS.items() if is_secret(("fermix_channels", channel, key))
    }
    keys = {name for name in ANSWERS if name.endswith("api_key") and name != "anthropic_api_key"}
    assert set(SECRET_FLAGS) == of_channels | keys
