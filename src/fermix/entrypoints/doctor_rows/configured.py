"""Rows about what the settings say: the file itself, who answers, and the channels."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from fermix.application.operations.doctor.channels import ChannelFacts, judge_channels
from fermix.application.operations.doctor.report import Finding, fail, ok, skip, warn
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.entrypoints.messengers import BUILDERS, WITH_DRAFTS
from fermix.infrastructure.settings.advice import odd_ids
from fermix.infrastructure.settings.channels import ChannelSettings, SignalSettings, SlackSettings
from fermix.infrastructure.settings.choice import (
    ProviderChoice,
    ProviderChoiceError,
    choose_provider,
    configured_providers,
)
from fermix.infrastructure.settings.environment import read_environment
from fermix.infrastructure.settings.foreign_sections import UnreadChannel
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.settings.loading import LoadedSettings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import KeyPath, dotted

NEEDS_SETTINGS = "needs the settings, which are broken"

CREDENTIALS = {
    "telegram": ("bot_token",),
    "whatsapp": ("access_token", "phone_number_id", "verify_token", "app_secret"),
    "slack": ("bot_token", "signing_secret"),
    "discord": ("bot_token",),
    "signal": ("account",),
}
"""What each channel of ours cannot do without; those of other packages say it themselves."""


def config(situation: Situation) -> Finding:
    """The configuration file and the environment: every problem, or every warning."""
    if situation.loaded is None:
        count = len(situation.problems)
        return fail(
            "1 problem stops every start" if count == 1 else f"{count} problems stop every start",
            details=[str(problem) for problem in situation.problems],
            remedy="correct what is named; `fermix config validate` looks again",
        )
    loaded = situation.loaded
    warnings = [*loaded.warnings, *_open_to_others(loaded)]
    for name, channel in loaded.settings.channels.by_name().items():
        warnings.extend(odd_ids(name, channel))
    state = f"{loaded.path} is valid" if loaded.exists else f"there is no {loaded.path}, so the defaults hold"
    if warnings:
        return warn(
            f"{state}; {'1 warning' if len(warnings) == 1 else f'{len(warnings)} warnings'}",
            details=warnings,
            remedy="correct what is named; `fermix config show --origin` says what is in force",
        )
    return ok(state)


def _open_to_others(loaded: LoadedSettings) -> list[str]:
    if not loaded.exists:
        return []
    mode = stat.S_IMODE(loaded.path.stat().st_mode)
    return [f"{loaded.path}: other users may open it (mode {mode:04o}); chmod 600"] if mode & 0o077 else []


def provider(situation: Situation) -> Finding:
    """Who would answer, why, and where its key comes from. Nobody is asked: this works offline."""
    if situation.loaded is None:
        return skip(NEEDS_SETTINGS)
    settings = situation.loaded.settings
    try:
        choice = choose_provider(settings, local_available=True)
    except ProviderChoiceError as exc:
        return fail(str(exc), details=_stored_key(situation.loaded, exc.provider), remedy=_REMEDY)
    if choice.name == LOCAL:
        return ok(f"the local model {choice.model} answers, {_reason(settings, choice)}")
    where = "" if choice.base_url is None else f" at {choice.base_url}"
    sentence = (
        f"{choice.name} answers with {choice.model}{where}, {_reason(settings, choice)}; "
        f"{_key_origin(situation, choice)}"
    )
    return ok(sentence) if choice.note is None else warn(sentence, details=[choice.note], remedy=_CHOOSE)


_REMEDY = "set what is named with `fermix config set`, or another provider"
_CHOOSE = "mark one provider as primary"


def _reason(settings: Settings, choice: ProviderChoice) -> str:
    core = settings.core
    if core.override.provider:
        return "because FERMIX_PROVIDER names it"
    if any(section.primary for section in core.providers.values()):
        return "because it is primary"
    if core.agent.provider:
        return "because fermix_core.agent.provider names it"
    if choice.name == LOCAL:
        return "because no provider is configured"
    only = len(configured_providers(settings)) == 1
    return "because it is the only one configured" if only else "because it is the first one configured"


def _key_origin(situation: Situation, choice: ProviderChoice) -> str:
    if choice.api_key is None:
        return "it is asked without a key"
    path: KeyPath = ("fermix_core", "providers", choice.name, "api_key")
    variable = read_environment(situation.environ).origins.get(path)
    if variable is None and situation.loaded is not None:
        places = {each.key: each.place for each in situation.loaded.stored}
        return f"its key is there, from {places.get(path, 'config.toml')}"
    return f"its key is there, from {variable}"


def _stored_key(loaded: LoadedSettings, name: str | None) -> list[str]:
    key = dotted(("fermix_core", "providers", name or "", "api_key"))
    unread = loaded.unread.get(key)
    return [] if unread is None else [unread.state]


def channels(situation: Situation) -> Finding:
    """Every channel that is enabled and that somebody has begun to set up."""
    if situation.loaded is None:
        return skip(NEEDS_SETTINGS)
    return judge_channels(begun_channels(situation.loaded, situation.environ))


def begun_channels(loaded: LoadedSettings, environ: Mapping[str, str]) -> list[ChannelFacts]:
    """Those that are enabled and that somebody has begun to set up, in the order of the settings."""
    return [
        _facts(name, channel, loaded, environ)
        for name, channel in loaded.settings.channels.by_name().items()
        if channel.enabled and _begun(name, channel, loaded)
    ]


def _begun(name: str, channel: ChannelSettings, loaded: LoadedSettings) -> bool:
    """Telegram is enabled by default, which alone is no wish for it."""
    chosen = "enabled" in channel.model_fields_set or channel.has_access or bool(channel.odd_entries)
    credentials = _needed(name, channel, loaded)
    return (
        chosen
        or len(_missing(name, channel, loaded)) < len(credentials)
        or bool(_stored(name, channel, loaded))
    )


def _facts(
    name: str, channel: ChannelSettings, loaded: LoadedSettings, environ: Mapping[str, str]
) -> ChannelFacts:
    missing = _missing(name, channel, loaded)
    stored = _stored(name, channel, loaded)
    plugin = loaded.plugins.get(name)
    has_drafts = name in WITH_DRAFTS if plugin is None else plugin.shows_drafts
    return ChannelFacts(
        name=name,
        has_owner=channel.owner is not None,
        allowed=len(channel.allowed_ids),
        allowlist_key=type(channel).model_fields["allowlist"].alias or "allowlist",
        missing=missing,
        kept_elsewhere=tuple(key for key in missing if key in stored),
        served=name in BUILDERS or plugin is not None,
        drafts_in_vain=channel.streaming == "draft" and not has_drafts,
        absent_program=_absent_program(channel, environ),
        unusable=channel.trouble if isinstance(channel, UnreadChannel) else None,
    )


def _absent_program(channel: ChannelSettings, environ: Mapping[str, str]) -> str | None:
    """What of Signal's is not there, as its owner wrote it; other channels start no program."""
    if not isinstance(channel, SignalSettings):
        return None
    program = str(Path(channel.cli_path).expanduser()) if "/" in channel.cli_path else channel.cli_path
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    return None if found else f"{channel.cli_path!r} (cli_path): install signal-cli, or set its path"


def _needed(name: str, channel: ChannelSettings, loaded: LoadedSettings) -> tuple[str, ...]:
    if isinstance(channel, SlackSettings) and channel.mode == "socket":
        return ("bot_token", "app_token")
    plugin = loaded.plugins.get(name)
    if plugin is not None and not isinstance(channel, UnreadChannel):
        return plugin.requires
    return CREDENTIALS.get(name, ())


def _missing(name: str, channel: ChannelSettings, loaded: LoadedSettings) -> tuple[str, ...]:
    return tuple(key for key in _needed(name, channel, loaded) if not _text(getattr(channel, key)))


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value or "")


def _stored(name: str, channel: ChannelSettings, loaded: LoadedSettings) -> tuple[str, ...]:
    unread = loaded.unread
    needed = _needed(name, channel, loaded)
    return tuple(key for key in needed if dotted(("fermix_channels", name, key)) in unread)
