"""Opening what a gateway needs, in order, and closing it in reverse: one stack, in one task."""

import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

from fermix.application.ports.control import Identity, OwnerKind
from fermix.application.ports.ownership import Takeover
from fermix.domain.lane import QueueLimits
from fermix.entrypoints.channels import open_channels
from fermix.entrypoints.container import Container
from fermix.entrypoints.models import ModelBuilder, local_available, local_runtime
from fermix.entrypoints.plugin_channels import NO_PLUGINS, Plugins
from fermix.entrypoints.preparation import secrets_of
from fermix.entrypoints.surroundings import surroundings_of
from fermix.entrypoints.transcribers import transcriber_of
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.infrastructure.persistence.sqlite.database import open_ledger
from fermix.infrastructure.providers.configured import open_models
from fermix.infrastructure.settings.choice import choose_provider
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.system.boot import kernel_boot_id
from fermix.infrastructure.system.home import Home
from fermix.infrastructure.telemetry.redaction import Redactor
from fermix.infrastructure.telemetry.traces import TraceFolder, TraceWriter, writing_traces
from fermix.infrastructure.workspace.folders import FolderWorkspace
from fermix.version import __version__

Override = Callable[[Container], None]
"""Replaces providers of one container before anything is built from them; tests put their own adapters in."""


def no_override(_container: Container) -> None:
    """The product as it is."""


@asynccontextmanager
async def open_container(
    home: Home,
    settings: Settings,
    *,
    kind: OwnerKind,
    environ: Mapping[str, str],
    on_broken: Callable[[], None],
    override: Override = no_override,
    plugins: Plugins = NO_PLUGINS,
) -> AsyncGenerator[tuple[Container, Takeover]]:
    """A complete gateway of one home, owned by this process from here on. Nothing runs yet.

    The caller holds the home's lock. Several homes may be open in one process.

    Args:
        environ: the environment; programs that are started get a small part of it.
        on_broken: called once, in the event loop, when the disk failed under a commit.
        override: see `Override`.
        plugins: the channels of other packages, as they were loaded with the settings.

    Raises:
        LedgerError: the ledger cannot be opened or taken over.
    """
    async with AsyncExitStack() as stack:
        container = Container(settings=settings, plugins=plugins)
        container.traces.override(stack.enter_context(_traces(home, settings)))
        queue = settings.core.queue
        ledger = await stack.enter_async_context(
            open_ledger(
                home.ledger,
                clock=container.clock(),
                ids=container.ids(),
                limits=QueueLimits(
                    per_conversation=queue.max_waiting_per_conversation, total=queue.max_waiting
                ),
                on_broken=on_broken,
            )
        )
        instance = container.ids().new()
        takeover = await ledger.ownership.take(instance=instance, boot=kernel_boot_id() or instance)
        runtime = await stack.enter_async_context(
            local_runtime(home, settings, new_key=partial(secrets.token_urlsafe, 32), environ=environ)
        )
        models = await stack.enter_async_context(
            open_models(
                choose=lambda model: choose_provider(
                    settings, local_available=local_available(home, settings), model=model
                ),
                build=ModelBuilder(home=home, settings=settings, runtime=runtime),
            )
        )
        container.ledger.override(ledger)
        container.models.override(models)
        blobs = FolderBlobs(home.blobs, clock=container.clock(), ids=container.ids())
        container.blobs.override(blobs)
        around = surroundings_of(home.path, environ, blobs=blobs)
        container.surroundings.override(around)
        container.environ.override(environ)
        container.workspace.override(FolderWorkspace(places=container.places(), clock=container.clock()))
        container.transcriber.override(
            await stack.enter_async_context(transcriber_of(settings, around=around))
        )
        container.identity.override(
            Identity(
                instance=instance,
                epoch=takeover.epoch,
                home=str(home.path),
                version=__version__,
                pid=os.getpid(),
                kind=kind,
            )
        )
        override(container)
        container.check_dependencies()
        foreign = container.foreign_channels().channels.keys()
        await open_channels(stack, container.remote_channels(), foreign=foreign)
        yield container, takeover


def _traces(home: Home, settings: Settings) -> AbstractContextManager[TraceWriter]:
    redactor = Redactor()
    for secret in secrets_of(settings):
        redactor.register(secret)
    folder = TraceFolder(path=home.traces, keep_days=settings.core.telemetry.trace_keep_days)
    return writing_traces(folder, redactor)
