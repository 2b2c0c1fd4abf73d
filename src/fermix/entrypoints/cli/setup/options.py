"""The flags of `fermix setup`, as click has them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from fermix.entrypoints.cli.setup.flags import flag
from fermix.entrypoints.cli.setup.given import in_order

F = TypeVar("F", bound=Callable[..., Any])

_TEXTS: Sequence[tuple[str, str, str]] = (
    ("provider", "NAME", "Set this provider up, and let it answer from now on."),
    ("api_key", "KEY", "Its key, for one without a flag of its own."),
    ("base_url", "URL", "Its address; any server that speaks the OpenAI protocol."),
    ("default_model", "MODEL", "The model to ask."),
    ("reasoning_effort", "WORD", "How much the model thinks."),
    ("openai_api_key", "KEY", "Key of OpenAI."),
    ("xai_api_key", "KEY", "Key of xAI."),
    ("openrouter_api_key", "KEY", "Key of OpenRouter."),
    ("mistral_api_key", "KEY", "Key of Mistral."),
    ("ollama_base_url", "URL", "Address of Ollama, up to /v1."),
    ("transcription_backend", "NAME", "Who turns speech into text: openai, xai, deepgram, local or none."),
    ("transcription_model", "MODEL", "Its model, for openai and deepgram."),
    ("transcription_api_key", "KEY", "Its key, where it has one of its own."),
    ("telegram_bot_token", "TOKEN", "Token of the bot, from @BotFather."),
    ("telegram_owner_user_id", "ID", "Your number there, as @userinfobot tells it."),
    ("whatsapp_access_token", "TOKEN", "Token of the Cloud API."),
    ("whatsapp_phone_number_id", "ID", "Id of the business phone number."),
    ("whatsapp_verify_token", "WORD", "The word that Meta repeats when the webhook is set up."),
    ("whatsapp_app_secret", "SECRET", "Secret of the app, which requests are signed with."),
    ("whatsapp_owner_user_id", "NUMBER", "Your phone number, with its country code."),
    ("discord_bot_token", "TOKEN", "Token of the bot."),
    ("discord_bot_user_id", "ID", "The bot's own id, for a token that does not hold it."),
    ("discord_owner_user_id", "ID", "Your id there."),
    ("slack_bot_token", "TOKEN", "Token of the bot (xoxb-…)."),
    ("slack_signing_secret", "SECRET", "Secret that requests are signed with."),
    ("slack_app_token", "TOKEN", "Token of the app (xapp-…): Socket Mode, without a public address."),
    ("slack_owner_user_id", "ID", "Your member id there."),
    ("signal_account", "NUMBER", "Phone number of the account."),
    ("signal_owner_user_id", "NUMBER", "Your phone number or UUID."),
)
_HIDDEN = ("anthropic_api_key", "auth_mode")
"""Known from other installations; answered with what this version cannot do."""

ANSWERS: Sequence[str] = (*(name for name, _, _ in _TEXTS), *_HIDDEN)
"""The flags that answer a question, so that none is asked."""


def with_answer_flags(command: F) -> F:
    """Give a command a flag for every answer; a secret's value `-` is read from standard input."""
    for name in reversed(_HIDDEN):
        command = click.option(flag(name), name, callback=in_order, hidden=True)(command)
    for name, metavar, text in reversed(_TEXTS):
        command = click.option(flag(name), name, metavar=metavar, callback=in_order, help=text)(command)
    return command
