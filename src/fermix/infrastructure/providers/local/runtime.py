"""The local model as a service: lent to one request at a time, started on first use, ended when idle."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import assert_never

import anyio

from fermix.application.ports.model import ModelError
from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.local.life import Holders, Life, Unusable
from fermix.infrastructure.providers.local.serving import PROVIDER, Endpoint, LocalServer, RuntimeLimits
from fermix.infrastructure.system.child_python import Launch

__all__ = [
    "Endpoint",
    "LocalModelError",
    "LocalRuntime",
    "LocalServer",
    "RuntimeLimits",
    "open_local_runtime",
]

# A client whose request came to nothing may know it before the child's end is seen here.
_DEATH_SEEN_SECONDS = 1.0


class LocalModelError(Exception):
    """What happened to the model's process, for the operator; the cause of the `ModelError` that is raised."""


class LocalRuntime:
    """Lends the local model to one request at a time. `run` must be running; `open_local_runtime` sees to it."""

    def __init__(
        self, *, server: LocalServer, new_key: Callable[[], str], launch: Launch, limits: RuntimeLimits
    ) -> None:
        self._server = server
        self._new_key = new_key
        self._launch = launch
        self._limits = limits
        self._turn = anyio.Semaphore(1, max_value=1)
        self._holders = Holders()
        self._life: Life | None = None
        self._wanted = anyio.Event()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one; for status displays and tests."""
        return self._life.pid if self._life is not None else None

    def failure_cause(self) -> str | None:
        """Why the last child failed or died, in the operator's words; `None` since the last good start."""
        return self._life.cause if self._life is not None else None

    @asynccontextmanager
    async def lease(self) -> AsyncGenerator[Endpoint]:
        """Wait for the model's turn, start it when needed, and hold it for one request.

        A `ModelError` that the body raises because the child died under it leaves as `PROVIDER_FAILED`. A child
        that let a request time out, or could not be reached, is ended: the next lease starts a fresh one.

        Raises:
            ModelError: TIMED_OUT when another request held the model for `limits.wait` seconds or it was not
                loaded within `limits.load`; NO_MODEL when the package or the file is missing or unusable;
                PROVIDER_FAILED when the process died.
        """
        self._holders.change(+1)
        try:
            await self._take_turn()
            try:
                life = self._current_life()
                endpoint = await self._endpoint(life)
                try:
                    yield endpoint
                except ModelError as error:
                    await self._judge(life, error)
                    raise
            finally:
                self._turn.release()
        finally:
            self._holders.change(-1)

    async def run(self) -> None:
        """Start and end children as they are wanted, one at a time, until cancelled; leaves none behind."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                life = self._life
                if life is not None and not life.ended.is_set():
                    await life.live(self._holders)
        finally:
            self._closed = True

    async def _take_turn(self) -> None:
        with anyio.move_on_after(self._limits.wait) as scope:
            await self._turn.acquire()
        if scope.cancelled_caught:
            wait = f"{self._limits.wait:g} s"
            raise self._error(
                FailureKind.TIMED_OUT,
                f"The local model answers one request at a time and was busy for {wait}.",
            )

    def _current_life(self) -> Life:
        """The life that serves or will serve, begun here when there is none. Never awaits: no two can begin."""
        life = self._life
        if life is None or life.retired.is_set():
            life = self._life = Life(
                server=self._server, launch=self._launch, limits=self._limits, key=self._new_key()
            )
            self._wanted.set()
        return life

    async def _endpoint(self, life: Life) -> Endpoint:
        # The life bounds its load; the margin is for the file's check and the end of the life before.
        with anyio.move_on_after(self._limits.load + 5 * self._limits.end):
            if not self._closed:
                await life.started.wait()
        match life.start:
            case Endpoint():
                return life.start
            case Unusable(failure=failure, cause=cause):
                raise ModelError(failure) from LocalModelError(cause)
            case None:
                kind = FailureKind.PROVIDER_FAILED if self._closed else FailureKind.TIMED_OUT
                words = "is shut down" if self._closed else "did not start in time"
                raise self._error(kind, f"The local model {words}.")
            case _:
                assert_never(life.start)

    async def _judge(self, life: Life, error: ModelError) -> None:
        """Turn what the client saw into what happened, when the child died; retire one that hangs."""
        if error.kind in {FailureKind.UNREACHABLE, FailureKind.PROVIDER_FAILED}:
            with anyio.move_on_after(_DEATH_SEEN_SECONDS):
                await life.ended.wait()
        if life.ended.is_set():
            cause = LocalModelError(life.cause or "the process ended")
            cause.__cause__ = error
            raise self._error(
                FailureKind.PROVIDER_FAILED, "The local model's process ended in the middle of the answer."
            ) from cause
        if error.kind in {FailureKind.TIMED_OUT, FailureKind.UNREACHABLE}:
            life.retired.set()

    def _error(self, kind: FailureKind, detail: str) -> ModelError:
        return ModelError(Failure(kind=kind, provider=PROVIDER, model=self._server.model, detail=detail))


@asynccontextmanager
async def open_local_runtime(
    *,
    server: LocalServer,
    new_key: Callable[[], str],
    launch: Launch | None = None,
    limits: RuntimeLimits | None = None,
) -> AsyncGenerator[LocalRuntime]:
    """A local runtime for as long as the block lasts. Nothing starts before the first lease.

    Args:
        server: which model, served how.
        new_key: a fresh secret for each start of the process, e.g. `secrets.token_urlsafe`.
        launch: how to start it; by default this Python with an empty environment.
        limits: times; the defaults are the product's.
    """
    runtime = LocalRuntime(
        server=server, new_key=new_key, launch=launch or Launch(), limits=limits or RuntimeLimits()
    )
    async with anyio.create_task_group() as group:
        group.start_soon(runtime.run, name="local model")
        try:
            yield runtime
        finally:
            group.cancel_scope.cancel()
