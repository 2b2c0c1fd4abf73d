"""After saving: what was entered is tried, each thing with a limit. Nothing that was saved is undone by it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from fermix.application.operations.doctor.channels import misconfiguration
from fermix.application.operations.doctor.report import Finding, RowStatus, fail, ok
from fermix.application.ports.model import ModelError, ModelRequest
from fermix.domain import wording
from fermix.domain.failure import FailureKind
from fermix.domain.history import UserEntry
from fermix.entrypoints.cli.setup.answers import Answers
from fermix.entrypoints.cli.setup.platforms import Looked, judge, questions_of
from fermix.entrypoints.cli.setup.providers import facts
from fermix.entrypoints.doctor_rows import configured, local_model, signal_program, transcription
from fermix.entrypoints.doctor_rows.situation import Situation, gather
from fermix.entrypoints.models import remote_model
from fermix.entrypoints.preparation import secrets_of
from fermix.entrypoints.surroundings import Surroundings, surroundings_of
from fermix.infrastructure.http_client.asking import NotReached, Question, Reply, ask
from fermix.infrastructure.settings.channels import ChannelSettings, SignalSettings
from fermix.infrastructure.settings.choice import (
    MissingCredentialError,
    ProviderChoice,
    ProviderChoiceError,
    choose_provider,
)
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.telemetry.redaction import Redactor

MODEL_SECONDS = 30.0
"""How long a model may take to say one word: some think first."""

PLATFORM_SECONDS = 10.0

_CREDENTIALS = frozenset({FailureKind.CREDENTIAL_MISSING, FailureKind.CREDENTIAL_REFUSED})
_ONE_WORD = ModelRequest(system="Answer with one word.", entries=(UserEntry(text="Say OK."),))


def try_answers(home: Path, environ: Mapping[str, str], answers: Answers) -> tuple[Looked, ...]:
    """Try the providers and messengers that were told of. Blocks; what may be shown of it holds no secret."""
    situation = gather(home, environ)
    if situation.loaded is None:
        return (Looked(name="config", finding=configured.config(situation)),)
    settings = situation.loaded.settings
    looked = anyio.run(_all, situation, settings, answers)
    redactor = Redactor()
    for secret in secrets_of(settings):
        redactor.register(secret)
    return tuple(_redacted(one, redactor.redact) for one in looked)


async def _all(situation: Situation, settings: Settings, answers: Answers) -> Sequence[Looked]:
    around = surroundings_of(situation.home.path, situation.environ)
    looked = [await _provider(situation, settings, answer.name) for answer in answers.providers]
    looked += [await _channel(answer.name, situation, settings, around) for answer in answers.channels]
    if answers.transcription is not None:
        found = transcription.transcription(situation)
        looked.append(Looked(name="transcription", finding=found))
    return looked


async def _provider(situation: Situation, settings: Settings, name: str) -> Looked:
    row = f"provider {name}"
    if name == LOCAL:
        return Looked(name="local model", finding=local_model.local_model(situation))
    try:
        choice = choose_provider(settings, local_available=True, model=f"{name}/{_model(settings, name)}")
    except MissingCredentialError as exc:
        return Looked(name=row, finding=fail(str(exc), remedy=None), refused=True)
    except ProviderChoiceError as exc:
        return Looked(name=row, finding=fail(str(exc), remedy=None))
    return await _asked(choice, row)


def _model(settings: Settings, name: str) -> str:
    """What it is asked for; with an address of its own a provider was not taken without one."""
    section = settings.core.providers.get(name)
    named = None if section is None else section.default_model
    return named or facts(name).default_model or "default"


async def _asked(choice: ProviderChoice, row: str) -> Looked:
    model = remote_model(choice)
    try:
        with anyio.move_on_after(MODEL_SECONDS):
            await model.complete(_ONE_WORD, on_text=lambda _: None)
            return Looked(name=row, finding=ok(f"{choice.name} answers with {choice.model}"))
    except ModelError as exc:
        found = fail(wording.failed(exc.failure).rstrip("."), remedy=None)
        return Looked(name=row, finding=found, refused=exc.kind in _CREDENTIALS)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await model.aclose()
    return Looked(
        name=row, finding=fail(f"{choice.name} gave no answer within {MODEL_SECONDS:g} s", remedy=None)
    )


async def _channel(name: str, situation: Situation, settings: Settings, around: Surroundings) -> Looked:
    row = f"channel {name}"
    own: ChannelSettings = settings.channels.by_name()[name]
    if situation.loaded is None or not own.enabled:
        return Looked(name=row, finding=fail("is not enabled: not all that it needs is set", remedy=None))
    begun = configured.begun_channels(situation.loaded, situation.environ)
    facts_of_it = next((facts for facts in begun if facts.name == name), None)
    if facts_of_it is not None and facts_of_it.kept_elsewhere:
        keys = " and ".join(facts_of_it.kept_elsewhere)
        unread = fail(
            f"{keys} could not be read back from the secret store", remedy="`fermix doctor` says why"
        )
        return Looked(name=row, finding=unread)
    if isinstance(own, SignalSettings):
        return Looked(name=row, finding=signal_program.look_at(own.cli_path, situation.environ))
    looked = Looked(name=row, finding=ok("all that it needs is set"))
    for question in questions_of(own):
        looked = await _platform(name, question, around)
        if looked.finding.status is RowStatus.FAIL:
            return looked
    broken = None if facts_of_it is None else misconfiguration(facts_of_it)
    return looked if broken is None else Looked(name=row, finding=fail(broken, remedy=None))


async def _platform(name: str, question: Question, around: Surroundings) -> Looked:
    try:
        reply: Reply = await ask(question, seconds=PLATFORM_SECONDS, proxy=around.proxy_for(question.url))
    except NotReached as exc:
        sentence = f"{name.capitalize()} could not be reached: {exc}"
        found = fail(sentence, remedy="check the network; what was entered is saved all the same")
        return Looked(name=f"channel {name}", finding=found)
    return judge(name, reply)


def _redacted(one: Looked, redact: Callable[[str], str]) -> Looked:
    finding = Finding(
        status=one.finding.status,
        sentence=redact(one.finding.sentence),
        details=tuple(redact(detail) for detail in one.finding.details),
        remedy=None if one.finding.remedy is None else redact(one.finding.remedy),
    )
    return Looked(name=one.name, finding=finding, refused=one.refused)
