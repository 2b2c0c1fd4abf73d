"""Who turns speech into text, and with which key: decided from settings alone, before anything is opened."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import SecretStr

from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.providers import ProviderSettings

LOCAL = "local"
INSTALL_LOCAL = "pip install 'fermix-agent[stt]'"

_SECTION = ("fermix_core", "transcription")
_WITH_A_MODEL = frozenset({"openai", "deepgram"})
_OF_OURS = frozenset({"openai", "xai", "deepgram", LOCAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionChoice:
    """A backend, ready to be built.

    Attributes:
        backend: its name in the settings.
        model: the model to name; `None`: its usual one, or it has no choice.
        base_url: a compatible server; `None`: the backend's own.
        api_key: the key; `None` where none is sent.
        model_path: the absolute folder of another model, for `local`.
        ignored: keys of the section that are set and mean nothing to this backend.
    """

    backend: str
    model: str | None
    base_url: str | None
    api_key: SecretStr | None = field(default=None)
    model_path: Path | None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTranscription:
    """Nobody transcribes.

    Attributes:
        backend: the one that was asked for and cannot; `None` where none was.
        reason: why, in a sentence without its full stop that never holds a secret.
        remedy: what its owner can do.
        lacks: the key of the settings that is missing, if one is.
    """

    backend: str | None
    reason: str
    remedy: str
    lacks: str | None = None


Transcription: TypeAlias = TranscriptionChoice | NoTranscription


def choose_transcription(settings: Settings, *, local_installed: bool) -> Transcription:
    """Choose who transcribes: the backend that is set; else openai with a key; else `local` where it is installed.

    Args:
        settings: the checked settings.
        local_installed: whether the libraries of `local`, and a model, are there.
    """
    section = settings.core.transcription
    backend: str | None = section.backend
    if backend is None:
        if isinstance(_key_of("openai", settings), SecretStr):
            backend = "openai"
        elif local_installed:
            backend = LOCAL
        else:
            return NoTranscription(
                backend=None,
                reason="no transcription backend is configured",
                remedy=f"set {dotted((*_SECTION, 'backend'))} and its key, or {INSTALL_LOCAL}",
            )
    if backend == LOCAL and not local_installed:
        return NoTranscription(
            backend=LOCAL, reason="local speech to text is not installed", remedy=INSTALL_LOCAL
        )
    key = _key_of(backend, settings) if backend in _OF_OURS - {LOCAL} else None
    if isinstance(key, NoTranscription):
        return key
    return TranscriptionChoice(
        backend=backend,
        model=None if backend in {"xai", LOCAL} else section.model,
        base_url=None if backend == LOCAL else section.base_url,
        api_key=key,
        model_path=settings.absolute(section.model_path) if section.model_path else None,
        ignored=_ignored(backend, settings),
    )


def _key_of(backend: str, settings: Settings) -> SecretStr | NoTranscription | None:
    """The key of a service of ours; `None` where a server of one's own is asked without one."""
    section = settings.core.transcription
    name = f"{backend}_api_key"
    own: SecretStr | None = getattr(section, name)
    if own is not None:
        return own
    provider = settings.core.providers.get(backend) or ProviderSettings()
    if provider.api_key is not None and provider.auth_mode == "api_key":
        # A key is for the server it was given for, and is shown to no other.
        if section.base_url == provider.base_url:
            return provider.api_key
    elif provider.auth_mode == "oauth":
        return _missing(
            backend,
            f'{backend} signs in with a subscription (auth_mode = "oauth"), which does not cover speech to text',
        )
    if section.base_url is not None and backend == "openai":
        return None
    return _missing(backend, f"the key of {backend} is missing")


def _missing(backend: str, reason: str) -> NoTranscription:
    lacks = dotted((*_SECTION, f"{backend}_api_key"))
    return NoTranscription(backend=backend, reason=reason, remedy=f"set {lacks}", lacks=lacks)


def _ignored(backend: str, settings: Settings) -> tuple[str, ...]:
    section = settings.core.transcription
    if backend not in _OF_OURS:
        return ()
    unused = {
        "model": section.model is not None and backend not in _WITH_A_MODEL,
        "base_url": section.base_url is not None and backend == LOCAL,
        "model_path": section.model_path is not None and backend != LOCAL,
    }
    return tuple(dotted((*_SECTION, name)) for name, is_unused in unused.items() if is_unused)
