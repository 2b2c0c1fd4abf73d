"""A runtime over any file, and a client for what it lends."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.local.files import ModelFile
from fermix.infrastructure.providers.local.runtime import LocalRuntime, open_local_runtime
from fermix.infrastructure.providers.local.serving import Endpoint, LocalServer, RuntimeLimits
from fermix.infrastructure.system.child_python import Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyFile:
    """A file nobody checks, so that what the library makes of it can be seen."""

    path: Path

    def check(self) -> None:
        """Nothing is wrong with any file."""

    def unloadable(self) -> tuple[FailureKind, str]:
        return FailureKind.NO_MODEL, "could not be loaded"


def server_for(file: ModelFile) -> LocalServer:
    return LocalServer(file=file, model="tested", context_window=1024, threads=1)


@asynccontextmanager
async def runtime_for(
    file: ModelFile, *, launch: Launch | None = None, **limits: float
) -> AsyncGenerator[LocalRuntime]:
    async with open_local_runtime(
        server=server_for(file),
        new_key=lambda: secrets.token_urlsafe(32),
        launch=launch,
        limits=RuntimeLimits(**limits),
    ) as runtime:
        yield runtime


def client_for(endpoint: Endpoint) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {endpoint.api_key}"}
    return httpx.AsyncClient(base_url=endpoint.base_url, headers=headers, timeout=30, trust_env=False)
