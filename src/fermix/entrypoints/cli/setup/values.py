"""One value as it was typed or pasted: trimmed, and checked by the rules of its key. Pure."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel, ValidationError

from fermix.entrypoints.cli.setup.present import CHANNELS, PROVIDERS, TRANSCRIPTION
from fermix.infrastructure.settings.channels import (
    ChannelSettings,
    DiscordSettings,
    SignalSettings,
    SlackSettings,
    TelegramSettings,
    WhatsAppSettings,
)
from fermix.infrastructure.settings.explain import findings_of
from fermix.infrastructure.settings.key_names import NamePath, ValueKind, find_key
from fermix.infrastructure.settings.providers import ProviderSettings
from fermix.infrastructure.settings.stored import sentinel_in
from fermix.infrastructure.settings.transcription import TranscriptionSettings

MAX_CHARACTERS = 16_384
"""Of one value; keys of service accounts take some 2,500."""

_PASTE_MARKS = re.compile(r"\x1b\[20[01]~")
_AROUND = re.compile(r"^[\s\u200b-\u200d\u2060\ufeff]+|[\s\u200b-\u200d\u2060\ufeff]+$")

SECTIONS: Mapping[str, type[ChannelSettings]] = MappingProxyType(
    {
        "telegram": TelegramSettings,
        "whatsapp": WhatsAppSettings,
        "discord": DiscordSettings,
        "slack": SlackSettings,
        "signal": SignalSettings,
    }
)
"""The messengers that can be set up, in the order in which they are offered."""

OWNER = "owner_user_id"

NO_ID: Mapping[str, str] = MappingProxyType(
    {
        "telegram": "a Telegram id is a number such as 123456789, not a name; @userinfobot there tells yours",
        "whatsapp": "a WhatsApp sender is a phone number with its country code, such as +49 151 2345678",
        "discord": "a Discord id is a long number: switch on Developer Mode, right-click your name, Copy User ID",
        "slack": "a Slack member id begins with U or W: open your profile there, the three dots, Copy member ID",
        "signal": "a Signal sender is a phone number with its country code, or the account's UUID",
    }
)

_FORMS: Mapping[tuple[str, str], tuple[re.Pattern[str], str]] = MappingProxyType(
    {
        ("telegram", OWNER): (re.compile(r"[1-9]\d*", re.ASCII), NO_ID["telegram"]),
        ("slack", OWNER): (re.compile(r"[UW][A-Z0-9]+", re.ASCII), NO_ID["slack"]),
        ("telegram", "bot_token"): (
            re.compile(r"\d+:[A-Za-z0-9_-]+", re.ASCII),
            "a token of a Telegram bot looks like 123456789:AAF… ; copy the whole line from @BotFather",
        ),
        ("slack", "bot_token"): (
            re.compile(r"xoxb-.+"),
            "a bot token of Slack begins with xoxb- ; it stands under OAuth & Permissions",
        ),
        ("slack", "app_token"): (
            re.compile(r"xapp-.+"),
            "an app-level token of Slack begins with xapp- ; it stands under Basic Information",
        ),
        ("signal", "account"): (
            re.compile(r"\+\d[\d ().-]*", re.ASCII),
            "the account is a phone number with its country code, such as +4915123456789",
        ),
    }
)


class Unfit(Exception):
    """A value that cannot be taken; the text says why and never repeats it, since it may be a secret."""


def cleaned(text: str) -> str:
    """Without what pasting leaves around a value: blanks, line ends, marks of a paste, invisible spaces."""
    bare = _PASTE_MARKS.sub("", text)
    return _AROUND.sub("", _AROUND.sub("", bare))


def fitting(path: NamePath, text: str) -> str:
    """The value that a text stands for, as the file is to have it.

    Raises:
        Unfit: it is none for that key.
    """
    value = cleaned(text)
    if not value:
        raise Unfit("must not be empty")
    if len(value) > MAX_CHARACTERS:
        raise Unfit(f"must not be longer than {MAX_CHARACTERS} characters")
    if sentinel_in(value) is not None:
        raise Unfit("says in the file where a value is kept; what is wanted here is the value itself")
    key = path[-1]
    section = _read(_model_of(path), key, value)
    if isinstance(section, ChannelSettings):
        _check_form(path[-2], key, value)
        if key == OWNER and section.owner is None:
            raise Unfit(NO_ID[path[-2]])
    return value


def _check_form(channel: str, key: str, value: str) -> None:
    if (channel, key) in _FORMS:
        form, reason = _FORMS[channel, key]
        if form.fullmatch(value) is None:
            raise Unfit(reason)


def _read(model: type[BaseModel], key: str, value: str) -> BaseModel:
    problem: str
    try:
        return model.model_validate({key: value})
    except ValidationError as exc:
        (found, *_) = findings_of(exc, tables=({key: value},))
        hint = f'; did you mean "{found.suggestion}"?' if found.suggestion else ""
        problem = f"{found.text}{hint}"
    # Not in the handler: pydantic's error holds the value.
    raise Unfit(problem)


def _model_of(path: NamePath) -> type[BaseModel]:
    match path[:-1]:
        case (*above, _) if tuple(above) == PROVIDERS:
            return ProviderSettings
        case (*above, name) if tuple(above) == CHANNELS:
            return SECTIONS[name]
        case above if above == TRANSCRIPTION:
            return TranscriptionSettings
        case _:
            raise AssertionError(path)


def is_secret(path: NamePath) -> bool:
    """Whether the key's value is a secret, which goes to a store and is never shown."""
    return find_key(path).kind is ValueKind.SECRET
