"""`fermix setup --print-state`: what is set up and what is missing, without a secret. Pure."""

from collections.abc import Mapping
from typing import Any

from fermix.entrypoints.cli.setup.answers import ChannelAnswer
from fermix.entrypoints.cli.setup.changes import missing_credentials
from fermix.entrypoints.cli.setup.channel_questions import FIELDS, SLACK_BY_SOCKET, is_begun
from fermix.entrypoints.cli.setup.present import CHANNELS, PROVIDERS, TRANSCRIPTION, Present
from fermix.entrypoints.cli.setup.providers import facts, needs_key
from fermix.entrypoints.cli.setup.values import OWNER, SECTIONS, is_secret
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.stored import KEYCHAIN, sentinel_in
from fermix.infrastructure.settings.transcription_choice import NoTranscription, choose_transcription


def state_document(present: Present, settings: Settings, *, local_speech: bool) -> dict[str, Any]:
    """Everything for a program.

    Args:
        present: the file and the environment.
        settings: what is in force.
        local_speech: whether `local` transcription is installed.
    """
    providers = [_provider(name, present) for name in _provider_names(present)]
    channels = [_channel(name, present, settings) for name in SECTIONS]
    answering, trouble = _answering(settings)
    speech = _transcription(present, settings, local_speech=local_speech)
    missing = [key for each in (*providers, *channels, speech) for key in each["missing"]]
    return {
        "answers": answering,
        "trouble": trouble,
        "providers": providers,
        "channels": channels,
        "transcription": speech,
        "missing": missing,
    }


def state_text(document: Mapping[str, Any]) -> str:
    """The same for a person."""
    lines = [f"answers        {document['answers'] or 'nobody'}"]
    if document["trouble"]:
        lines.append(f"               {document['trouble']}")
    for kind, width in (("providers", "provider"), ("channels", "channel")):
        lines += [_line(width, each) for each in document[kind]]
    lines.append(_line("transcription", document["transcription"]))
    missing = document["missing"]
    lines.append(f"missing        {', '.join(missing) if missing else 'nothing'}")
    return "".join(f"{line}\n" for line in lines)


def _line(kind: str, each: Mapping[str, Any]) -> str:
    keys = ", ".join(f"{name} {words}" for name, words in each["keys"].items())
    return f"{kind:<14} {each['name']}: {each['status']}{f' ({keys})' if keys else ''}"


def _provider_names(present: Present) -> list[str]:
    by_variable = [path[2] for path in present.variables if path[:2] == PROVIDERS and len(path) > 3]
    return list(dict.fromkeys([*present.providers, *map(str, by_variable)]))


def _provider(name: str, present: Present) -> dict[str, Any]:
    section = (*PROVIDERS, name)
    shown = ("default_model", "base_url", "reasoning_effort")
    keys = {key: text for key in shown if (text := present.text((*section, key))) is not None}
    where = _where((*section, "api_key"), present)
    if where is not None:
        keys["api_key"] = where
    has_address = present.has((*section, "base_url"))
    needed = name != LOCAL and needs_key(name, has_address=has_address) and where is None
    missing = [dotted((*section, "api_key"))] if needed else []
    runs = facts(name).runs or has_address
    status = "cannot run in this version" if not runs else "incomplete" if missing else "ready"
    if present.primary == name:
        status += ", primary"
    return {
        "name": name,
        "status": status,
        "primary": present.primary == name,
        "keys": keys,
        "missing": missing,
    }


def _channel(name: str, present: Present, settings: Settings) -> dict[str, Any]:
    own = settings.channels.by_name()[name]
    if not is_begun(name, present):
        return {"name": name, "status": "not set up", "keys": {}, "missing": []}
    section = (*CHANNELS, name)
    fields = dict.fromkeys(
        field.key for field in (*FIELDS[name], *(SLACK_BY_SOCKET if name == "slack" else ()))
    )
    keys = {key: words for key in fields if (words := _words((*section, key), present)) is not None}
    missing = [
        dotted((*section, key)) for key in missing_credentials(ChannelAnswer(name=name, values={}), present)
    ]
    if not own.has_access:
        missing.append(dotted((*section, OWNER)))
    status = "disabled" if not own.enabled else "incomplete" if missing else "ready"
    return {"name": name, "status": status, "keys": keys, "missing": missing}


def _transcription(present: Present, settings: Settings, *, local_speech: bool) -> dict[str, Any]:
    keys = {
        key: words
        for key in ("model", "openai_api_key", "xai_api_key", "deepgram_api_key")
        if (words := _words((*TRANSCRIPTION, key), present)) is not None
    }
    choice = choose_transcription(settings, local_installed=local_speech)
    if not isinstance(choice, NoTranscription):
        return {"name": choice.backend, "status": "ready", "keys": keys, "missing": []}
    lacks = [] if choice.lacks is None or present.has(_path(choice.lacks)) else [choice.lacks]
    status = "incomplete" if choice.backend else "not set up"
    return {"name": choice.backend or "nobody", "status": status, "keys": keys, "missing": lacks}


def _path(key: str) -> NamePath:
    return tuple(key.split("."))


def _words(path: NamePath, present: Present) -> str | None:
    return _where(path, present) if is_secret(path) else _plain(path, present)


def _plain(path: NamePath, present: Present) -> str | None:
    return f"from {present.variables[path]}" if path in present.variables else present.text(path)


def _where(path: NamePath, present: Present) -> str | None:
    """Where a secret is; never the secret."""
    if path in present.variables:
        return f"from {present.variables[path]}"
    value = present.value(path)
    if value is None:
        return None
    sentinel = sentinel_in(value)
    if sentinel is None:
        return "in config.toml as plain text"
    return "in the keychain" if sentinel == KEYCHAIN else "in the private file"


def _answering(settings: Settings) -> tuple[str | None, str | None]:
    try:
        choice = choose_provider(settings, local_available=True)
    except ProviderChoiceError as exc:
        return None, str(exc)
    return f"{choice.name}/{choice.model}", choice.note


def answering_name(settings: Settings) -> str:
    """The provider that would answer, or the one that was meant to."""
    try:
        return choose_provider(settings, local_available=True).name
    except ProviderChoiceError as exc:
        return exc.provider or LOCAL
