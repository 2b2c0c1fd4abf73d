"""From a provider choice to a model, the embedded one included."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec

from fermix.application.ports.model import ModelError, ModelProfile
from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.local.profile import LocalProfile, default_profile, other_profile
from fermix.infrastructure.providers.local.runtime import LocalRuntime, open_local_runtime
from fermix.infrastructure.providers.openai.endpoint import (
    ApiKey,
    Endpoint,
    EndpointSource,
    fixed_endpoint,
)
from fermix.infrastructure.providers.openai.factory import OpenAIModel, Wire, build_model
from fermix.infrastructure.settings.choice import ProviderChoice
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.providers import ProviderSettings
from fermix.infrastructure.system.child_python import Launch, child_environment
from fermix.infrastructure.system.home import Home


def local_profile(home: Home, settings: Settings) -> LocalProfile:
    """The local model this home uses: the default one, or the file that `model_path` names."""
    section = settings.core.providers.get(LOCAL) or ProviderSettings()
    if section.model_path is None:
        return default_profile(home.path)
    return other_profile(settings.absolute(section.model_path), context_window=section.context_window)


def local_available(home: Home, settings: Settings) -> bool:
    """Whether a local model could answer now: its library is installed and its file is there.

    A file that its owner named counts as there; if it is not, asking it says so better than "no model".
    """
    section = settings.core.providers.get(LOCAL) or ProviderSettings()
    if section.model_path is not None:
        return True
    return find_spec("xllamacpp") is not None and local_profile(home, settings).file.path.is_file()


def local_runtime(
    home: Home, settings: Settings, *, new_key: Callable[[], str], environ: Mapping[str, str]
) -> AbstractAsyncContextManager[LocalRuntime]:
    """The process of the local model, which starts when it is first asked."""
    return open_local_runtime(
        server=local_profile(home, settings).server(),
        new_key=new_key,
        launch=Launch(environment=child_environment(environ)),
    )


class ModelBuilder:
    """Builds the model of a choice; the local one is asked through its runtime, one request at a time."""

    def __init__(self, *, home: Home, settings: Settings, runtime: LocalRuntime) -> None:
        self._home = home
        self._settings = settings
        self._runtime = runtime

    def __call__(self, choice: ProviderChoice) -> OpenAIModel:
        """The model, with nothing opened yet."""
        return self._local(choice) if choice.name == LOCAL else remote_model(choice)

    def _local(self, choice: ProviderChoice) -> OpenAIModel:
        local = local_profile(self._home, self._settings)
        if choice.model != local.profile.model:
            raise ModelError(Failure(kind=FailureKind.UNKNOWN_MODEL, provider=LOCAL, model=choice.model))
        return build_model(
            profile=local.profile,
            wire=Wire.CHAT_COMPLETIONS,
            endpoint=_leased(self._runtime),
            timeout_seconds=choice.timeout_seconds,
            extra_body=local.sampling.body(),
        )


def _leased(runtime: LocalRuntime) -> EndpointSource:
    @asynccontextmanager
    async def source() -> AsyncGenerator[Endpoint]:
        async with runtime.lease() as leased:
            yield Endpoint(base_url=leased.base_url, api_key=ApiKey(leased.api_key))

    return source


def remote_model(choice: ProviderChoice) -> OpenAIModel:
    """The model of any choice but `local`, with nothing opened yet."""
    return build_model(
        profile=ModelProfile(
            provider=choice.name,
            model=choice.model,
            context_window=choice.context_window,
            vision=choice.vision,
        ),
        wire=Wire(choice.wire),
        endpoint=fixed_endpoint(
            choice.name,
            base_url=choice.base_url,
            api_key=None if choice.api_key is None else choice.api_key.get_secret_value(),
        ),
        timeout_seconds=choice.timeout_seconds,
        reasoning_effort=choice.reasoning_effort,
    )
