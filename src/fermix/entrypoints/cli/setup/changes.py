"""From answers to the keys of the file that change. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fermix.entrypoints.cli.setup.answers import Answers, ChannelAnswer, ProviderAnswer, TranscriptionAnswer
from fermix.entrypoints.cli.setup.present import CHANNELS, PROVIDERS, TRANSCRIPTION, Present
from fermix.entrypoints.cli.setup.values import is_secret
from fermix.entrypoints.doctor_rows.configured import CREDENTIALS
from fermix.infrastructure.settings.document_edit import with_value, without_key
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.known_providers import LOCAL

_SLACK_BY_SOCKET = ("bot_token", "app_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A key gets a value; a secret's goes to a store, and what says so into the file."""

    path: NamePath
    value: str | bool = field(repr=False)
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """A key goes out of the file."""

    path: NamePath


Change: TypeAlias = Put | Take


def plan(answers: Answers, present: Present) -> tuple[Change, ...]:
    """Every change, in the order in which it is shown and written; nothing for what is so already.

    A secret that was told is always there: what a store holds cannot be compared.
    """
    wanted = [
        *(change for answer in answers.providers for change in _provider(answer, present)),
        *_primary(answers.providers, present),
        *(change for answer in answers.channels for change in _channel(answer, present)),
        *(() if answers.transcription is None else _transcription(answers.transcription, present)),
    ]
    return tuple(change for change in wanted if _matters(change, present))


def secrets_in(answers: Answers) -> Mapping[NamePath, str]:
    """The secrets that were told, by their keys: they do not depend on what stands in the file."""
    return {
        change.path: str(change.value)
        for change in plan(answers, Present())
        if isinstance(change, Put) and change.secret
    }


def applied(text: str, changes: Sequence[Change], sentinels: Mapping[NamePath, str]) -> str:
    """The document with all changes.

    Args:
        text: valid TOML.
        changes: as planned for that text.
        sentinels: what stands in place of each secret.

    Raises:
        EditRefused: one of them cannot be made there.
    """
    for change in changes:
        match change:
            case Put(path=path, value=value, secret=secret):
                text = with_value(text, path, sentinels[path] if secret else value)
            case Take(path=path):
                text = without_key(text, path)
    return text


def missing_credentials(answer: ChannelAnswer, present: Present) -> tuple[str, ...]:
    """Keys without which the channel cannot start, and that are neither told nor there."""
    section = (*CHANNELS, answer.name)
    needed = CREDENTIALS[answer.name]
    if answer.name == "slack" and slack_mode(answer, present) == "socket":
        needed = _SLACK_BY_SOCKET
    return tuple(key for key in needed if key not in answer.values and not present.has((*section, key)))


def slack_mode(answer: ChannelAnswer, present: Present) -> str:
    """How Slack's calls come in, as told or as the file has it."""
    return answer.values.get("mode") or present.text((*CHANNELS, "slack", "mode")) or "webhook"


def _matters(change: Change, present: Present) -> bool:
    match change:
        case Put(secret=True):
            return True
        case Put(path=path, value=bool(value)):
            return present.value(path) is not value
        case Put(path=path, value=value):
            return present.text(path) != value
        case Take(path=path):
            return path[-1] in present.section(path[:-1])


def _put(path: NamePath, value: str) -> Put:
    return Put(path=path, value=value, secret=is_secret(path))


def _provider(answer: ProviderAnswer, present: Present) -> Iterator[Change]:
    section = (*PROVIDERS, answer.name)
    told = {
        "base_url": answer.base_url,
        "api_key": answer.api_key,
        "default_model": answer.default_model,
        "reasoning_effort": answer.reasoning_effort,
    }
    for key, value in told.items():
        if value is not None:
            yield _put((*section, key), value)
    if answer.api_key is not None and present.text((*section, "auth_mode")) == "oauth":
        yield Take(path=(*section, "auth_mode"))


def _primary(answers: Sequence[ProviderAnswer], present: Present) -> Iterator[Change]:
    """The first one that is ever configured becomes primary; a later one only where it was chosen."""
    chosen = [answer.name for answer in answers if answer.chosen]
    if not chosen and not present.providers and present.primary is None:
        chosen = [answer.name for answer in answers[:1]]
    if not chosen:
        return
    name = chosen[-1]
    for other in present.section(PROVIDERS):
        if other != name and present.value((*PROVIDERS, other, "primary")) is True:
            yield Take(path=(*PROVIDERS, other, "primary"))
    yield Put(path=(*PROVIDERS, name, "primary"), value=True)


def _channel(answer: ChannelAnswer, present: Present) -> Iterator[Change]:
    section = (*CHANNELS, answer.name)
    for key, value in answer.values.items():
        yield _put((*section, key), value)
    is_off = present.value((*section, "enabled")) is not True
    if answer.name == "telegram":  # enabled as long as nobody says otherwise
        is_off = present.value((*section, "enabled")) is False
    if is_off and not missing_credentials(answer, present):
        yield Put(path=(*section, "enabled"), value=True)


def _transcription(answer: TranscriptionAnswer, present: Present) -> Iterator[Change]:
    before = present.text((*TRANSCRIPTION, "backend"))
    if answer.backend is None:
        yield Take(path=(*TRANSCRIPTION, "backend"))
    else:
        yield _put((*TRANSCRIPTION, "backend"), answer.backend)
        if answer.api_key is not None:
            yield _put((*TRANSCRIPTION, f"{answer.backend}_api_key"), answer.api_key)
    if answer.model is not None:
        yield _put((*TRANSCRIPTION, "model"), answer.model)
    elif answer.backend != before:
        yield Take(path=(*TRANSCRIPTION, "model"))
    if answer.backend != before and before is not None:
        yield Take(path=(*TRANSCRIPTION, "model_path" if before == LOCAL else "base_url"))
