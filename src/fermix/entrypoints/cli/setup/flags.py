"""Answers out of the flags of the command line: exactly what they say, checked first. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from fermix.entrypoints.cli.setup.answers import Answers, ChannelAnswer, ProviderAnswer, TranscriptionAnswer
from fermix.entrypoints.cli.setup.present import CHANNELS, PROVIDERS, TRANSCRIPTION, Present
from fermix.entrypoints.cli.setup.providers import OAUTH, check_name, check_provider, check_spelling
from fermix.entrypoints.cli.setup.values import SECTIONS, Unfit, fitting
from fermix.infrastructure.settings.known_providers import LOCAL

KEY_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "openai_api_key": "openai",
        "xai_api_key": "xai",
        "openrouter_api_key": "openrouter",
        "mistral_api_key": "mistral",
    }
)
CHANNEL_FLAGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "telegram_bot_token": ("telegram", "bot_token"),
        "telegram_owner_user_id": ("telegram", "owner_user_id"),
        "whatsapp_access_token": ("whatsapp", "access_token"),
        "whatsapp_phone_number_id": ("whatsapp", "phone_number_id"),
        "whatsapp_verify_token": ("whatsapp", "verify_token"),
        "whatsapp_app_secret": ("whatsapp", "app_secret"),
        "whatsapp_owner_user_id": ("whatsapp", "owner_user_id"),
        "discord_bot_token": ("discord", "bot_token"),
        "discord_bot_user_id": ("discord", "bot_user_id"),
        "discord_owner_user_id": ("discord", "owner_user_id"),
        "slack_bot_token": ("slack", "bot_token"),
        "slack_signing_secret": ("slack", "signing_secret"),
        "slack_app_token": ("slack", "app_token"),
        "slack_owner_user_id": ("slack", "owner_user_id"),
        "signal_account": ("signal", "account"),
        "signal_owner_user_id": ("signal", "owner_user_id"),
    }
)
SECRET_FLAGS: Sequence[str] = (
    "api_key",
    *KEY_FLAGS,
    "telegram_bot_token",
    "whatsapp_access_token",
    "whatsapp_verify_token",
    "whatsapp_app_secret",
    "discord_bot_token",
    "slack_bot_token",
    "slack_signing_secret",
    "slack_app_token",
    "transcription_api_key",
)
_WITH_A_MODEL = ("openai", "deepgram")
OF_ONE = ("api_key", "base_url", "default_model", "reasoning_effort")
"""Flags that speak of the provider that `--provider` names, and are called like the keys of its section."""

NOBODY = "none"
"""Stands for no transcription backend."""


def flag(name: str) -> str:
    """A flag as it is typed."""
    return f"--{name.replace('_', '-')}"


def answers_of(given: Mapping[str, str], present: Present) -> Answers:
    """What the flags say.

    Args:
        given: the flags that were used, by their names with underscores; secrets already read from where `-` says.
        present: what stands there.

    Raises:
        Unfit: they cannot be followed; the text names the flag, and never a value that may be a secret.
    """
    providers = _providers(given, present)
    for answer in providers:
        check_provider(answer, present)
    return Answers(
        providers=providers, channels=_channels(given), transcription=_transcription(given, present)
    )


def _value(name: str, path: tuple[str, ...], given: Mapping[str, str]) -> str | None:
    if name not in given:
        return None
    problem: str
    try:
        return fitting(path, given[name])
    except Unfit as exc:
        problem = str(exc)
    raise Unfit(f"{flag(name)}: {problem}")


def _providers(given: Mapping[str, str], present: Present) -> tuple[ProviderAnswer, ...]:
    for name, problem in (("anthropic_api_key", None), ("auth_mode", OAUTH)):
        if name in given and given[name] != "api_key":
            check_name("anthropic", has_address=False) if problem is None else _refuse(name, problem)
    named = _named(given)
    by_flag = [provider for name, provider in KEY_FLAGS.items() if name in given]
    if "ollama_base_url" in given:
        by_flag.append("ollama")
    names = list(dict.fromkeys([*([] if named is None else [named]), *by_flag]))
    meant = named or _meant(given, names, present)
    if meant is not None and meant not in names:
        names.append(meant)
    return tuple(
        _own(name, given, present, chosen=name == named) if name == meant else _by_flag(name, given)
        for name in names
    )


def _by_flag(name: str, given: Mapping[str, str]) -> ProviderAnswer:
    """What the flags say that name a provider themselves."""
    key_flag, section = f"{name}_api_key", (*PROVIDERS, name)
    return ProviderAnswer(
        name=name,
        api_key=_value(key_flag, (*section, "api_key"), given) if key_flag in KEY_FLAGS else None,
        base_url=_value("ollama_base_url", (*section, "base_url"), given) if name == "ollama" else None,
    )


def _own(name: str, given: Mapping[str, str], present: Present, *, chosen: bool) -> ProviderAnswer:
    """The same with the flags that speak of whichever provider is meant."""
    by_flag = _by_flag(name, given)
    section = (*PROVIDERS, name)
    told = {key: _value(key, (*section, key), given) for key in OF_ONE}
    if by_flag.api_key is not None and told["api_key"] is not None:
        _refuse("api_key", f"{flag(f'{name}_api_key')} says the same; use one")
    if by_flag.base_url is not None and told["base_url"] is not None:
        _refuse("base_url", "--ollama-base-url says the same; use one")
    base_url = told["base_url"] or by_flag.base_url
    check_name(name, has_address=base_url is not None or present.has((*section, "base_url")))
    return ProviderAnswer(
        name=name,
        api_key=told["api_key"] or by_flag.api_key,
        base_url=base_url,
        default_model=told["default_model"],
        reasoning_effort=told["reasoning_effort"],
        chosen=chosen,
    )


def _refuse(name: str, problem: str) -> NoReturn:
    raise Unfit(f"{flag(name)}: {problem}")


def _named(given: Mapping[str, str]) -> str | None:
    if "provider" not in given:
        return None
    name = given["provider"].strip()
    check_spelling(name)
    return name


def _meant(given: Mapping[str, str], names: Sequence[str], present: Present) -> str | None:
    """Whose model, effort, address or key is told, where `--provider` names nobody."""
    told = [name for name in OF_ONE if name in given]
    if not told:
        return None
    candidates = list(names)
    if not candidates:
        candidates = [present.primary] if present.primary else list(present.providers)
    if len(candidates) != 1 or "base_url" in given:
        raise Unfit(f"{flag(told[0])}: say with --provider whose it is")
    return candidates[0]


def _channels(given: Mapping[str, str]) -> tuple[ChannelAnswer, ...]:
    values: dict[str, dict[str, str]] = {}
    for name, (channel, key) in CHANNEL_FLAGS.items():
        value = _value(name, (*CHANNELS, channel, key), given)
        if value is not None:
            values.setdefault(channel, {})[key] = value
    slack = values.get("slack", {})
    if "app_token" in slack and "signing_secret" not in slack:
        slack["mode"] = "socket"
    return tuple(ChannelAnswer(name=name, values=values[name]) for name in SECTIONS if name in values)


def _transcription(given: Mapping[str, str], present: Present) -> TranscriptionAnswer | None:
    told = [
        name
        for name in ("transcription_backend", "transcription_model", "transcription_api_key")
        if name in given
    ]
    if not told:
        return None
    before = present.text((*TRANSCRIPTION, "backend"))
    backend: str | None
    if given.get("transcription_backend", "").strip() == NOBODY:
        backend = None
    else:
        backend = _value("transcription_backend", (*TRANSCRIPTION, "backend"), given) or before
    if backend is None and "transcription_backend" not in given:
        _refuse(told[0], "say with --transcription-backend whose it is")
    for name in ("transcription_model", "transcription_api_key"):
        if name in given and not takes(backend, name.removeprefix("transcription_")):
            _refuse(name, f"means nothing to {backend or NOBODY}")
    return TranscriptionAnswer(
        backend=backend,
        model=_value("transcription_model", (*TRANSCRIPTION, "model"), given),
        api_key=_value("transcription_api_key", (*TRANSCRIPTION, f"{backend}_api_key"), given),
    )


def takes(backend: str | None, key: str) -> bool:
    """Whether a backend has a `model`, or an `api_key` of its own."""
    if key == "model":
        return backend in _WITH_A_MODEL or backend not in {None, "xai", LOCAL}
    return backend in {*_WITH_A_MODEL, "xai"}
