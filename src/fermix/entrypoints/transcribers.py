"""From the settings to whoever turns recordings into text; only the backend that is chosen is loaded."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.util import find_spec

from fermix.application.ports.transcription import Transcriber, TranscriberPlace
from fermix.entrypoints.surroundings import Surroundings
from fermix.infrastructure.settings.entry_points import PackageUnusable, foreign_code
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.transcription import TRANSCRIBERS
from fermix.infrastructure.settings.transcription_choice import (
    LOCAL,
    NoTranscription,
    TranscriptionChoice,
    choose_transcription,
)
from fermix.infrastructure.system.child_python import Launch, child_environment
from fermix.infrastructure.transcription.local.models import (
    BUILT_IN_PACKAGE,
    SpeechModel,
    built_in_model,
    named_model,
)

_log = logging.getLogger("fermix.transcription")

_LIBRARY = "faster_whisper"


def local_installed(settings: Settings) -> bool:
    """Whether `local` can run: its library is there, and a model: the built-in one, or one that was named."""
    named = settings.core.transcription.model_path is not None
    return find_spec(_LIBRARY) is not None and (named or find_spec(BUILT_IN_PACKAGE) is not None)


def local_speech_model(choice: TranscriptionChoice) -> SpeechModel:
    """What `local` listens with: the folder that is named, else the built-in model."""
    return built_in_model() if choice.model_path is None else named_model(choice.model_path)


@asynccontextmanager
async def transcriber_of(settings: Settings, *, around: Surroundings) -> AsyncGenerator[Transcriber | None]:
    """The transcriber of a home for as long as the block lasts; nothing is asked or started before its first use.

    Args:
        settings: the checked settings.
        around: the store that recordings lie in, the way out, and what a child process may know.

    Yields:
        `None` where none is configured, or the one that is cannot run: why is logged once for the latter, and
        `fermix doctor` says it for both.
    """
    choice = choose_transcription(settings, local_installed=local_installed(settings))
    if isinstance(choice, NoTranscription):
        if choice.backend is not None:
            _log.warning("transcription.not_available", extra={"cause": f"{choice.reason}; {choice.remedy}"})
        yield None
        return
    async with AsyncExitStack() as stack:
        yield await _opened(stack, choice, around)


async def _opened(
    stack: AsyncExitStack, choice: TranscriptionChoice, around: Surroundings
) -> Transcriber | None:
    match choice.backend:
        case "openai" | "xai" | "deepgram":
            return await stack.enter_async_context(_remote(choice, around))
        case backend if backend == LOCAL:
            return await stack.enter_async_context(_local(choice, around))
        case _:
            return await _foreign(stack, choice, around)


def _remote(choice: TranscriptionChoice, around: Surroundings) -> AbstractAsyncContextManager[Transcriber]:
    from fermix.infrastructure.transcription import (  # noqa: PLC0415 - only where it is chosen
        asking,
        deepgram,
        openai,
        wire,
        xai,
    )

    usual = {"openai": openai.BASE_URL, "xai": xai.BASE_URL, "deepgram": deepgram.BASE_URL}
    service = wire.Service(
        base_url=choice.base_url or usual[choice.backend],
        api_key=None if choice.api_key is None else choice.api_key.get_secret_value(),
    )
    spoken: wire.Wire
    if choice.backend == "openai":
        spoken = openai.OpenAIWire(service, model=choice.model or openai.MODEL)
    elif choice.backend == "deepgram":
        spoken = deepgram.DeepgramWire(service, model=choice.model or deepgram.MODEL)
    else:
        spoken = xai.XaiWire(service)
    return asking.open_remote_transcriber(
        spoken, blobs=around.blobs, proxy=around.proxy_for(service.base_url)
    )


def _local(choice: TranscriptionChoice, around: Surroundings) -> AbstractAsyncContextManager[Transcriber]:
    from fermix.infrastructure.transcription.local import transcriber  # noqa: PLC0415 - only where it is chosen

    return transcriber.open_local_transcriber(
        blobs=around.blobs,
        model=local_speech_model(choice),
        launch=Launch(environment=child_environment(around.child_environment)),
    )


async def _foreign(
    stack: AsyncExitStack, choice: TranscriptionChoice, around: Surroundings
) -> Transcriber | None:
    """One that another package brings; the settings took its name because it is installed."""
    place = TranscriberPlace(
        blobs=around.blobs, model=choice.model, base_url=choice.base_url, model_path=choice.model_path
    )
    try:
        plugin = TRANSCRIBERS.load(choice.backend)
        with foreign_code(choice.backend):
            return await stack.enter_async_context(plugin.open(place))
    except PackageUnusable as exc:
        _log.warning("transcription.not_available", extra={"cause": str(exc)})
        return None
