"""Which provider answers, and with what: decided from settings alone, before anything is opened.

The order of reasons: the model asked for by name, `FERMIX_PROVIDER`, `primary = true`, the old `agent.provider`,
the only configured one, the first configured one in the known order (with a note), and `local` when nothing is
configured. What was named and cannot answer is an error; it is never replaced by something else in silence.
"""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from fermix.infrastructure.settings.known_providers import (
    EFFORTLESS,
    KNOWN_NAMES,
    KNOWN_PROVIDERS,
    LOCAL,
    OTHER,
    KnownProvider,
)
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.providers import ProviderSettings, ReasoningEffort, Wire


class ProviderChoiceError(Exception):
    """No provider can be chosen; the text says why and what to do. `provider` is the one that was meant."""

    def __init__(self, text: str, *, provider: str | None = None) -> None:
        super().__init__(text)
        self.provider = provider


class UnsupportedProviderError(ProviderChoiceError):
    """The provider that was named cannot run in this version (exit code 7)."""


class MissingModelError(ProviderChoiceError):
    """The provider has no usual model and none is set (exit code 7)."""


class MissingCredentialError(ProviderChoiceError):
    """The provider that was named has no key (exit code 4)."""


class NoProviderError(ProviderChoiceError):
    """Nothing is configured, or `local` is wanted, and there is no local model (exit code 6)."""


class ModelNameError(ProviderChoiceError):
    """What was asked for is not the name of a model (exit code 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChoice:
    """A provider route, ready to be built.

    Attributes:
        name: the provider's name in the settings.
        model: the model id to send.
        wire: the protocol.
        base_url: the address; `None` for `local`, and for openai at its own address.
        api_key: the key; `None` where none is needed.
        context_window: tokens the model can see; `None`: not known.
        vision: whether pictures may be sent.
        timeout_seconds: how long one request may stay silent.
        reasoning_effort: what to ask for; `None`: nothing.
        model_path: the absolute path of another model file for `local`.
        note: one line for stderr about how the choice was made, when that is not plain.
    """

    name: str
    model: str
    wire: Wire
    base_url: str | None
    api_key: SecretStr | None = field(default=None)
    context_window: int | None
    vision: bool
    timeout_seconds: float
    reasoning_effort: ReasoningEffort | None
    model_path: Path | None
    note: str | None


def choose_provider(settings: Settings, *, local_available: bool, model: str | None = None) -> ProviderChoice:
    """Choose who answers.

    Args:
        settings: the checked settings.
        local_available: whether a local model can run, or can be fetched by whoever asks.
        model: what `--model` says: `provider/model`, or a model of the provider that would answer anyway. What
            stands before a slash is a provider only if a configured or known one has that name, and a known one
            that is not configured gives way to a server whose own model ids have slashes (openrouter, anything
            with a `base_url`).

    Raises:
        ProviderChoiceError: one of its kinds, by remedy.
    """
    wanted = None if model is None else model.strip()
    if wanted is not None and (not wanted or not wanted.isprintable() or wanted.endswith("/")):
        raise ModelNameError(f"{model!r} is not the name of a model")
    named = _named_in(wanted, settings) if wanted else None
    if named is not None:
        name, wanted = named
        note = None
    else:
        name, note = _answering(settings)
    if name == LOCAL and not local_available:
        raise NoProviderError(
            "there is no model: no provider is configured and no local model is there", provider=LOCAL
        )
    _refuse_unusable(name, settings)
    return _route(name, settings, model=wanted, note=note)


def configured_providers(settings: Settings) -> tuple[str, ...]:
    """Every configured provider that this version can run, in the order in which they are tried."""
    return tuple(name for name in _configured(settings) if _obstacle(name, _section(name, settings)) is None)


def _configured(settings: Settings) -> list[str]:
    known = [name for name in KNOWN_PROVIDERS if name != LOCAL]
    others = [name for name in settings.core.providers if name not in KNOWN_NAMES]
    return [name for name in (*known, *others) if _is_configured(name, settings)]


def _is_configured(name: str, settings: Settings) -> bool:
    section = settings.core.providers.get(name)
    if section is None:
        return False
    if section.base_url or section.api_key or section.oauth_token or section.auth_mode == "oauth":
        return True
    return _facts(name).keyless and (section.primary or section.default_model is not None)


def _named_in(wanted: str, settings: Settings) -> tuple[str, str] | None:
    provider, slash, model = wanted.partition("/")
    if not slash or not model:
        return None
    if provider == LOCAL or provider in settings.core.providers:
        return provider, model
    if provider not in KNOWN_NAMES:
        return None
    primary = _primary(settings) or next(iter(configured_providers(settings)), LOCAL)
    slashes_are_its_own = primary == "openrouter" or _section(primary, settings).base_url is not None
    return None if slashes_are_its_own else (provider, model)


def _primary(settings: Settings) -> str | None:
    if settings.core.override.provider:
        return settings.core.override.provider
    marked = (name for name, section in settings.core.providers.items() if section.primary)
    return next(marked, settings.core.agent.provider)


def _answering(settings: Settings) -> tuple[str, str | None]:
    primary = _primary(settings)
    if primary is not None:
        return primary, None
    notes = []
    usable = []
    for name in _configured(settings):
        obstacle = _obstacle(name, _section(name, settings))
        if obstacle is None:
            usable.append(name)
        else:
            notes.append(f"{name} is skipped: it {obstacle}")
    chosen = usable[0] if usable else LOCAL
    if len(usable) > 1:
        key = dotted(("fermix_core", "providers", chosen, "primary"))
        names = ", ".join(usable)
        notes.insert(0, f"{names} are configured and none is primary; {chosen} answers (set {key} = true)")
    return chosen, "; ".join(notes) or None


def _obstacle(name: str, section: ProviderSettings) -> str | None:
    """Why this version cannot run a provider, as the end of a sentence that begins with its name."""
    facts = _facts(name)
    if name == LOCAL:
        return None
    if section.auth_mode == "oauth":
        return 'signs in with a subscription (auth_mode = "oauth"), which this version cannot do'
    if not facts.runs and not (section.base_url and section.wire):
        remedy = "for a compatible server set both base_url and wire"
        return f"speaks a protocol that this version does not have; {remedy}"
    if section.base_url is None and facts.base_url is None and not facts.responses:
        return "has no address that this version knows; set its base_url"
    return None


def _refuse_unusable(name: str, settings: Settings) -> None:
    section = _section(name, settings)
    obstacle = _obstacle(name, section)
    if obstacle is not None:
        raise UnsupportedProviderError(f"the provider {name} {obstacle}", provider=name)
    facts = _facts(name)
    if section.api_key or section.base_url or facts.keyless:
        return
    key = dotted(("fermix_core", "providers", name, "api_key"))
    raise MissingCredentialError(
        f"the provider {name} has no key; set {key} in config.toml, or {facts.variable} in the environment",
        provider=name,
    )


def _route(name: str, settings: Settings, *, model: str | None, note: str | None) -> ProviderChoice:
    section = _section(name, settings)
    facts = _facts(name)
    own_address = section.base_url is None
    effort = settings.core.override.reasoning_effort or section.reasoning_effort
    return ProviderChoice(
        name=name,
        model=model or _default_model(name, settings),
        wire=section.wire or ("responses" if facts.responses and own_address else "chat_completions"),
        base_url=section.base_url or facts.base_url,
        api_key=section.api_key,
        context_window=section.context_window,
        vision=section.vision if section.vision is not None else facts.vision and own_address,
        timeout_seconds=section.timeout_seconds or facts.timeout_seconds,
        reasoning_effort=None if name in EFFORTLESS else effort,
        model_path=settings.absolute(section.model_path) if section.model_path else None,
        note=note,
    )


def _default_model(name: str, settings: Settings) -> str:
    section = _section(name, settings)
    if name == LOCAL:
        own = section.model_path.stem if section.model_path else KNOWN_PROVIDERS[LOCAL].default_model
        return section.default_model or own or LOCAL
    usual = None if section.base_url else _facts(name).default_model
    model = settings.core.override.default_model or section.default_model or usual
    if model is None:
        key = dotted(("fermix_core", "providers", name, "default_model"))
        raise MissingModelError(f"the provider {name} needs a model; set {key} in config.toml", provider=name)
    return model


def _section(name: str, settings: Settings) -> ProviderSettings:
    return settings.core.providers.get(name) or ProviderSettings()


def _facts(name: str) -> KnownProvider:
    return KNOWN_PROVIDERS.get(name, OTHER)
