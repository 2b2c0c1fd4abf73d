"""The environment as a layer of settings: exactly these names, and no others under any rule.

There is no `FERMIX_A__B` scheme: a variable that nobody thought of must not change what an agent does. The token
of the Telegram bot has no name here on purpose, so that a stray variable cannot point two installations at one
bot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from pydantic import SecretStr

from fermix.infrastructure.settings.nearest import nearest_name
from fermix.infrastructure.settings.problems import ENVIRONMENT, KeyPath, Problem

_PREFIX = "FERMIX_"
_HOME = "FERMIX_HOME"
_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off"})


class Kind(Enum):
    """How a variable's text is read."""

    TEXT = auto()
    SECRET = auto()
    SWITCH = auto()
    NUMBER = auto()
    IDS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One name that is read, and the key it sets."""

    name: str
    path: tuple[str, ...]
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentLayer:
    """What the environment says; `repr` shows names only.

    Attributes:
        table: in the shape of the file, values read; secrets are wrapped.
        origins: which variable set a key.
        problems: values that cannot be read.
        warnings: one line for each `FERMIX_…` name that means nothing.
    """

    table: Mapping[str, Any] = field(repr=False)
    origins: Mapping[KeyPath, str]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def _provider(name: str, provider: str) -> Variable:
    return Variable(name=name, path=("fermix_core", "providers", provider, "api_key"), kind=Kind.SECRET)


def _channel(name: str, channel: str, key: str, kind: Kind = Kind.TEXT) -> Variable:
    return Variable(name=name, path=("fermix_channels", channel, key), kind=kind)


def _opik(name: str, key: str, kind: Kind = Kind.TEXT) -> Variable:
    return Variable(name=name, path=("fermix_core", "telemetry", "opik", key), kind=kind)


VARIABLES: tuple[Variable, ...] = (
    Variable(name="FERMIX_PROVIDER", path=("fermix_core", "override", "provider")),
    Variable(name="FERMIX_DEFAULT_MODEL", path=("fermix_core", "override", "default_model")),
    Variable(name="FERMIX_REASONING_EFFORT", path=("fermix_core", "override", "reasoning_effort")),
    _provider("OPENAI_API_KEY", "openai"),
    _provider("ANTHROPIC_API_KEY", "anthropic"),
    _provider("XAI_API_KEY", "xai"),
    _provider("OPENROUTER_API_KEY", "openrouter"),
    _provider("MISTRAL_API_KEY", "mistral"),
    Variable(name="OLLAMA_BASE_URL", path=("fermix_core", "providers", "ollama", "base_url")),
    Variable(
        name="CLAUDE_CODE_OAUTH_TOKEN",
        path=("fermix_core", "providers", "anthropic", "oauth_token"),
        kind=Kind.SECRET,
    ),
    _channel("TELEGRAM_ALLOWED_USER_IDS", "telegram", "allowed_user_ids", Kind.IDS),
    _channel("WHATSAPP_ACCESS_TOKEN", "whatsapp", "access_token", Kind.SECRET),
    _channel("WHATSAPP_PHONE_NUMBER_ID", "whatsapp", "phone_number_id"),
    _channel("WHATSAPP_VERIFY_TOKEN", "whatsapp", "verify_token", Kind.SECRET),
    _channel("WHATSAPP_APP_SECRET", "whatsapp", "app_secret", Kind.SECRET),
    _channel("WHATSAPP_ALLOWED_SENDER_IDS", "whatsapp", "allowed_sender_ids", Kind.IDS),
    _channel("SLACK_BOT_TOKEN", "slack", "bot_token", Kind.SECRET),
    _channel("SLACK_SIGNING_SECRET", "slack", "signing_secret", Kind.SECRET),
    _channel("SLACK_ALLOWED_USER_IDS", "slack", "allowed_user_ids", Kind.IDS),
    _channel("DISCORD_BOT_TOKEN", "discord", "bot_token", Kind.SECRET),
    _channel("DISCORD_BOT_USER_ID", "discord", "bot_user_id"),
    _channel("DISCORD_ALLOWED_USER_IDS", "discord", "allowed_user_ids", Kind.IDS),
    _channel("SIGNAL_ACCOUNT", "signal", "account"),
    _channel("SIGNAL_CLI_PATH", "signal", "cli_path"),
    _channel("SIGNAL_ALLOWED_SENDER_IDS", "signal", "allowed_sender_ids", Kind.IDS),
    Variable(name="PORT", path=("fermix_web", "port"), kind=Kind.NUMBER),
    Variable(
        name="FERMIX_TRACE_CONTENT", path=("fermix_core", "telemetry", "trace_content"), kind=Kind.SWITCH
    ),
    _opik("FERMIX_OPIK_ENABLED", "enabled", Kind.SWITCH),
    _opik("FERMIX_OPIK_BASE_URL", "base_url"),
    _opik("FERMIX_OPIK_PROJECT", "project"),
    _opik("FERMIX_OPIK_API_KEY", "api_key", Kind.SECRET),
    _opik("FERMIX_OPIK_WORKSPACE", "workspace"),
)


def read_environment(environ: Mapping[str, str]) -> EnvironmentLayer:
    """Read every variable that has a meaning; blank ones count as unset."""
    table: dict[str, Any] = {}
    origins: dict[KeyPath, str] = {}
    problems: list[Problem] = []
    for variable in VARIABLES:
        text = environ.get(variable.name, "").strip()
        if not text:
            continue
        try:
            value = _value(text, variable.kind)
        except ValueError as exc:
            problems.append(Problem(source=ENVIRONMENT, key=variable.name, text=str(exc)))
            continue
        origins[variable.path] = variable.name
        inner = table
        for part in variable.path[:-1]:
            inner = inner.setdefault(part, {})
        inner[variable.path[-1]] = value
    return EnvironmentLayer(
        table=table, origins=origins, problems=tuple(problems), warnings=tuple(_unknown_names(environ))
    )


def _value(text: str, kind: Kind) -> Any:
    match kind:
        case Kind.TEXT:
            return text
        case Kind.SECRET:
            return SecretStr(text)
        case Kind.IDS:
            return tuple(entry.strip() for entry in text.split(",") if entry.strip())
        case Kind.NUMBER:
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise ValueError("must be a whole number")
            return int(text)
        case Kind.SWITCH:
            if text.casefold() not in _ON | _OFF:
                raise ValueError("must be 1 or 0 (also true and false, yes and no, on and off)")
            return text.casefold() in _ON


def _unknown_names(environ: Mapping[str, str]) -> list[str]:
    known = {variable.name for variable in VARIABLES} | {_HOME}
    unknown = sorted(name for name in environ if name.startswith(_PREFIX) and name not in known)
    return [f"{ENVIRONMENT}: {_shown(name)}: is not read{_hint(name, known)}" for name in unknown]


def _hint(name: str, known: set[str]) -> str:
    bare = name.removeprefix(_PREFIX)
    if bare == "TELEGRAM_BOT_TOKEN":
        return "; the token comes only from fermix_channels.telegram.bot_token in config.toml"
    if bare in known:
        return f'; did you mean "{bare}"?'
    ours = {other.removeprefix(_PREFIX) for other in known if other.startswith(_PREFIX)}
    near = nearest_name(bare, ours)
    return f'; did you mean "{_PREFIX}{near}"?' if near else ""


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)
