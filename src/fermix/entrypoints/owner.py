"""Owning a home: the lock, the container, the listeners, and the end in order."""

import logging
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from fermix.application.gateway.serve import serve
from fermix.application.operations.control import Operations
from fermix.application.ports.control import OwnerKind
from fermix.application.ports.ledger_errors import LedgerBroken
from fermix.application.ports.webhooks import webhooks_of
from fermix.entrypoints.channels import with_cursors
from fermix.entrypoints.container import Container
from fermix.entrypoints.lifespan import Override, no_override, open_container
from fermix.entrypoints.plugin_channels import webhook_paths
from fermix.infrastructure.http.app import Endpoints, Places
from fermix.infrastructure.http.listening import CannotListen, PortTaken
from fermix.infrastructure.http.server import serve_http
from fermix.infrastructure.http.token import TokenUnusable, open_token
from fermix.infrastructure.local_socket import server as control_socket
from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.local_socket.daemon_file import DaemonFile, remove_daemon_file, write_daemon_file
from fermix.infrastructure.local_socket.place import make_private, socket_place
from fermix.infrastructure.persistence.sqlite.errors import LedgerDamaged
from fermix.infrastructure.settings.loading import LoadedSettings
from fermix.infrastructure.settings.watching import watch_policies
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.footprint import settle_garbage
from fermix.infrastructure.system.home import Home, home_unusable
from fermix.infrastructure.system.lock import Holder, HomeBusy, hold_home, hold_home_within
from fermix.infrastructure.system.signals import wait_for_stop_signal

_log = logging.getLogger("fermix.owner")

HANDOVER_LIMIT = timedelta(seconds=60)
"""How long a daemon waits for a command that answers in-process to finish and leave."""


LEDGER_FILE = "ledger_file"
"""The component that stands for what is on disk already; that writes succeed does not heal it."""


async def own(
    home: Home,
    loaded: LoadedSettings,
    *,
    kind: OwnerKind,
    environ: Mapping[str, str],
    override: Override = no_override,
    task_status: TaskStatus[Operations] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Own a home and serve it until its operations are told to stop; started once clients can connect.

    Args:
        kind: a daemon serves every channel, HTTP, and the stop signals; an in-process owner serves terminals
            only and leaves every other row to the next daemon.

    Raises:
        HomeBusy: another process owns the home.
        HomeUnusable: its lock or `daemon.json` cannot be written.
        LedgerError: the ledger cannot be opened, broke, or another process took the home.
        SocketUnavailable: the control socket cannot be opened.
    """
    async with AsyncExitStack() as stack:
        await _take_lock(stack, home, kind)
        broken = anyio.Event()
        container, takeover = await stack.enter_async_context(
            open_container(
                home,
                loaded.settings,
                kind=kind,
                environ=environ,
                on_broken=broken.set,
                override=override,
                plugins=loaded.plugins,
            )
        )
        operations = container.operations()
        _log.info(
            "gateway.started",
            extra={
                "home": str(home.path),
                "epoch": operations.identity.epoch,
                "kind": kind.value,
                "previous_end": "none" if takeover.first else "clean" if takeover.clean else "killed",
            },
        )
        async with anyio.create_task_group() as group:
            group.start_soon(_fail_when, broken)
            if takeover.rebooted and not takeover.first:
                group.start_soon(_check_file, container)
            if kind is OwnerKind.DAEMON:
                await group.start(_stop_on_signal, operations)
            group.start_soon(_watch_policies, container, loaded, environ)
            await _serve(container, operations, home, kind, environ, task_status)
            group.cancel_scope.cancel()
    _log.info("gateway.ended", extra={"home": str(home.path)})


async def _take_lock(stack: AsyncExitStack, home: Home, kind: OwnerKind) -> None:
    clock = SystemClock()
    holder = Holder(pid=os.getpid(), kind=kind, since=clock.now())
    try:
        stack.enter_context(hold_home(home.lock, holder))
    except HomeBusy as busy:
        others = busy.holder
        if kind is not OwnerKind.DAEMON or (others is not None and others.kind is OwnerKind.DAEMON):
            raise
        await anyio.to_thread.run_sync(_ask_to_leave, home.path)
        await stack.enter_async_context(
            hold_home_within(home.lock, holder, clock=clock, limit=HANDOVER_LIMIT)
        )


def _ask_to_leave(home: Path) -> None:
    """Tell a command that answers in-process that a daemon wants the home; it finishes its turn first."""
    try:
        with connect(home) as client:
            client.stop()
    except ClientError as exc:
        _log.info("owner.handover_not_asked", extra={"cause": str(exc)})


async def _serve(
    container: Container,
    operations: Operations,
    home: Home,
    kind: OwnerKind,
    environ: Mapping[str, str],
    task_status: TaskStatus[Operations],
) -> None:
    desk = _Desk(operations=operations, home=home, socket=_socket_path(home, environ))
    web = container.settings().web
    webhooks = webhooks_of(container.reachable())

    async def socket() -> None:
        async with anyio.create_task_group() as group:
            await group.start(_listen, desk)
            desk.announce()
            task_status.started(operations)
            if kind is OwnerKind.DAEMON:
                settle_garbage()

    async def http() -> None:
        try:
            await serve_http(
                Endpoints(
                    control=operations,
                    metrics=container.metrics().render,
                    clock=container.clock(),
                    webhooks=webhooks,
                    silent=webhook_paths(container.settings()),
                    places=Places(
                        home=str(home.path),
                        config=str(home.config),
                        workspace=str(container.settings().workspace),
                    ),
                ),
                bind=web.bind,
                port=web.port,
                token=await anyio.to_thread.run_sync(open_token, home.http_token),
                on_bound=desk.http_bound,
            )
        except (PortTaken, CannotListen, TokenUnusable) as exc:
            if webhooks:
                raise  # a platform that calls us would find nobody, or somebody else
            container.board().failing("http", str(exc))
            _log.warning("http.not_served", extra={"cause": str(exc)})

    try:
        await serve(
            container.core(),
            await with_cursors(container.served(), container.ledger().queue),
            [socket, http] if kind is OwnerKind.DAEMON else [socket],
            settings=container.serve_settings(),
            stopping=operations.stopping,
            answered=operations.ask_operation.idle,
        )
    finally:
        remove_daemon_file(home.path, operations.identity.instance)


@dataclass(slots=True, kw_only=True)
class _Desk:
    """Where this owner can be reached, told in `daemon.json` as it becomes known."""

    operations: Operations
    home: Home
    socket: Path
    listening: bool = False

    def http_bound(self, port: int) -> None:
        self.operations.http_port = port
        _log.info("http.serving", extra={"port": port})
        if self.listening:
            self.announce()

    def announce(self) -> None:
        self.listening = True
        identity = self.operations.identity
        content = DaemonFile(
            instance=identity.instance,
            epoch=identity.epoch,
            pid=identity.pid,
            socket=str(self.socket),
            http_port=self.operations.http_port,
        )
        try:
            write_daemon_file(self.home.path, content)
        except OSError as exc:
            raise home_unusable(self.home.path, exc) from exc


def _socket_path(home: Home, environ: Mapping[str, str]) -> Path:
    runtime = Path(environ.get("XDG_RUNTIME_DIR", "").strip() or "/nonexistent")
    place = socket_place(home.path, runtime if runtime.is_dir() else None, os.getuid())
    if place.private_folder is not None:
        make_private(place.private_folder, os.getuid())
    return place.path


async def _listen(desk: _Desk, *, task_status: TaskStatus[None]) -> None:
    await control_socket.serve(desk.socket, desk.operations, owner_uid=os.getuid(), task_status=task_status)


async def _fail_when(broken: anyio.Event) -> None:
    await broken.wait()
    raise LedgerBroken("the disk failed while a commit was written")


async def _check_file(container: Container) -> None:
    """After a reboot, look for damage beside the work: a power cut is possible."""
    try:
        await container.ledger().quick_check()
    except LedgerDamaged as exc:
        _log.error("ledger.damaged", extra={"cause": str(exc)})
        container.board().failing(LEDGER_FILE, str(exc))


async def _stop_on_signal(
    operations: Operations, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    number = await wait_for_stop_signal(task_status=task_status)
    _log.info("gateway.stopping", extra={"signal": number.name})
    operations.stopping.set()


async def _watch_policies(container: Container, loaded: LoadedSettings, environ: Mapping[str, str]) -> None:
    await watch_policies(
        loaded, environ=environ, replace=container.live_policies().replace, clock=container.clock()
    )
