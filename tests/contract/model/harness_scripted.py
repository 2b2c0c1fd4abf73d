"""The scripted model under the hands of the suite, as it is or with a planted fault."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from fermix.application.ports.model import Model, ModelProfile
from fermix.testing.scripted_model import ScriptedModel, ScriptedProvider

SECRET = "k3y-of-the-scripted-provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What a saboteur may know of the far side."""

    provider: ScriptedProvider
    tasks: TaskGroup


Sabotage = Callable[[Model, Behind], Model]


def faultless(model: Model, behind: Behind) -> Model:
    return model


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenScripted:
    model: Model
    elsewhere: Model
    provider: ScriptedProvider
    secrets: tuple[str, ...]


class ScriptedHarness:
    """A `ModelHarness` in memory; `secrets` are what a saboteur may spill."""

    def __init__(self, sabotage: Sabotage = faultless, *, secrets: tuple[str, ...] = ()) -> None:
        self._sabotage = sabotage
        self._secrets = secrets

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=0.5)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenScripted]:
        provider = ScriptedProvider()
        other = ModelProfile(provider="another", model="scripted-1")
        async with anyio.create_task_group() as tasks:
            behind = Behind(provider=provider, tasks=tasks)
            yield OpenScripted(
                model=self._sabotage(ScriptedModel(provider, impatient=impatient), behind),
                elsewhere=self._sabotage(ScriptedModel(provider, profile=other), behind),
                provider=provider,
                secrets=self._secrets,
            )
            tasks.cancel_scope.cancel()
