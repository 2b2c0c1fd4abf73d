"""The models that the settings can reach, built when they are first asked for."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from fermix.application.ports.model import Model, ModelError, ModelProfile
from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.openai.factory import OpenAIModel
from fermix.infrastructure.settings.choice import (
    MissingCredentialError,
    MissingModelError,
    ModelNameError,
    NoProviderError,
    ProviderChoice,
    ProviderChoiceError,
    UnsupportedProviderError,
)

Choose = Callable[[str | None], ProviderChoice]
Build = Callable[[ProviderChoice], OpenAIModel]

_KINDS: dict[type[ProviderChoiceError], FailureKind] = {
    MissingCredentialError: FailureKind.CREDENTIAL_MISSING,
    MissingModelError: FailureKind.UNKNOWN_MODEL,
    ModelNameError: FailureKind.UNKNOWN_MODEL,
    NoProviderError: FailureKind.NO_MODEL,
    UnsupportedProviderError: FailureKind.UNKNOWN_MODEL,
}


class ConfiguredModels:
    """The `Models` port over the settings."""

    def __init__(self, *, choose: Choose, build: Build) -> None:
        self._choose = choose
        self._build = build
        self._models: dict[tuple[str, str], OpenAIModel] = {}
        self._default: OpenAIModel | None = None

    def resolve(self, requested: str | None) -> Model:
        """The model for a turn; see the `Models` port.

        What was chosen once when nothing was requested stays chosen: looking for the local model's file at every
        turn would cost more than the turn's own commits.
        """
        if requested is None and self._default is not None:
            return self._default
        try:
            choice = self._choose(requested)
        except ProviderChoiceError as exc:
            kind = _KINDS.get(type(exc), FailureKind.PROVIDER_FAILED)
            detail = None if kind is FailureKind.NO_MODEL else str(exc)
            raise ModelError(
                Failure(kind=kind, provider=exc.provider, model=requested, detail=detail)
            ) from exc
        key = (choice.name, choice.model)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = self._build(choice)
        if requested is None:
            self._default = model
        return model

    def primary(self) -> ModelProfile | None:
        """The route that answers when nothing is requested; `None` when there is none."""
        try:
            return self.resolve(None).profile
        except ModelError:
            return None

    async def aclose(self) -> None:
        """Close every connection."""
        self._default = None
        while self._models:
            _, model = self._models.popitem()
            await model.aclose()


@asynccontextmanager
async def open_models(*, choose: Choose, build: Build) -> AsyncGenerator[ConfiguredModels]:
    """Models for as long as the block lasts."""
    models = ConfiguredModels(choose=choose, build=build)
    try:
        yield models
    finally:
        await models.aclose()
