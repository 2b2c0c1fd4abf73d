"""The row about who turns voice notes into text. Nobody is asked, and no model is loaded: this works offline."""

from fermix.application.operations.doctor.report import Finding, fail, ok, skip, warn
from fermix.entrypoints.doctor_rows.configured import NEEDS_SETTINGS
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.entrypoints.transcribers import local_installed, local_speech_model
from fermix.infrastructure.settings.loading import LoadedSettings
from fermix.infrastructure.settings.transcription_choice import (
    LOCAL,
    NoTranscription,
    TranscriptionChoice,
    choose_transcription,
)

_IGNORED = "take it out, or choose the backend that it is for"


def transcription(situation: Situation) -> Finding:
    """Which backend is in force, and whether its credential is there; a refused one shows with the first voice."""
    if situation.loaded is None:
        return skip(NEEDS_SETTINGS)
    settings = situation.loaded.settings
    choice = choose_transcription(settings, local_installed=local_installed(settings))
    if isinstance(choice, NoTranscription):
        return _nobody(choice, situation.loaded)
    trouble = local_speech_model(choice).trouble if choice.backend == LOCAL else None
    if trouble is not None:
        return fail(trouble, remedy="correct fermix_core.transcription.model_path")
    sentence = _sentence(choice, is_chosen=settings.core.transcription.backend is not None)
    if choice.ignored:
        details = [f"{key} means nothing to {choice.backend}" for key in choice.ignored]
        return warn(sentence, details=details, remedy=_IGNORED)
    return ok(sentence)


def _nobody(choice: NoTranscription, loaded: LoadedSettings) -> Finding:
    if choice.backend is None:
        return skip(f"{choice.reason}: voice notes are answered with how to set one; {choice.remedy}")
    unread = loaded.unread.get(choice.lacks or "")
    details = [] if unread is None else [unread.state]
    return fail(f"voice notes cannot be transcribed: {choice.reason}", details=details, remedy=choice.remedy)


def _sentence(choice: TranscriptionChoice, *, is_chosen: bool) -> str:
    because = "because it is set" if is_chosen else "because no backend is set"
    if choice.backend == LOCAL:
        model = local_speech_model(choice)
        languages = "it understands English only" if model.languages else "in the languages of its model"
        return f"local transcribes with {model.name}, offline, {because}; {languages}"
    model_name = "" if choice.model is None else f" with {choice.model}"
    where = "" if choice.base_url is None else f" at {choice.base_url}"
    key = "it is asked without a key" if choice.api_key is None else "its key is there"
    return f"{choice.backend} transcribes{model_name}{where}, {because}; {key}"
