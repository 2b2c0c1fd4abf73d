"""One life of the model's process: checked, started, serving until idle, retired or dead, and ended."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

import anyio
import anyio.to_thread

from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.local.files import ModelFileError
from fermix.infrastructure.providers.local.process import (
    Listening,
    RefusalKind,
    Refused,
    ServerOrder,
    ServerProcess,
    start_server,
)
from fermix.infrastructure.providers.local.serving import PROVIDER, Endpoint, LocalServer, RuntimeLimits
from fermix.infrastructure.system.child_python import Launch

INSTALL_PACKAGE = "pip install 'fermix-agent[local]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A start that came to nothing; `cause` is the operator's."""

    failure: Failure
    cause: str


Start: TypeAlias = Endpoint | Unusable


class Holders:
    """How many hold the model or wait for it; tells when that stays nobody."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = anyio.Event()

    def change(self, by: int) -> None:
        """One more or one less."""
        self._count += by
        self._changed.set()
        self._changed = anyio.Event()

    async def none_for(self, seconds: float) -> None:
        """Return once there has been nobody for so long."""
        while True:
            changed = self._changed
            with anyio.move_on_after(float("inf") if self._count else seconds):
                await changed.wait()
            if changed is self._changed:
                return


class Life:
    """One child from the wish for it to its end.

    Attributes:
        start: what came of starting it; `None` while that is open.
        started: set with `start`.
        retired: set when nobody new may use it; setting it ends the child.
        ended: set when the child is gone.
        pid: the child's process id while there is one.
        cause: why it failed or died, in the operator's words.
    """

    def __init__(self, *, server: LocalServer, launch: Launch, limits: RuntimeLimits, key: str) -> None:
        self.start: Start | None = None
        self.started = anyio.Event()
        self.retired = anyio.Event()
        self.ended = anyio.Event()
        self.pid: int | None = None
        self.cause: str | None = None
        self._server = server
        self._launch = launch
        self._limits = limits
        self._key = key

    async def live(self, holders: Holders) -> None:
        """From the check of the file to the end of the child, which comes however this is left."""
        try:
            process = await self._begun()
            if process is not None:
                await self._watched(process, holders)
        finally:
            self.retired.set()
            self.ended.set()
            if self.start is None:
                self._fail(FailureKind.PROVIDER_FAILED, "The local model was shut down.", "closed")

    async def _begun(self) -> ServerProcess | None:
        try:
            await anyio.to_thread.run_sync(self._server.file.check)
            return await start_server(self._launch)
        except ModelFileError as error:
            self._fail(FailureKind.NO_MODEL, str(error), error.cause)
        except OSError as error:
            detail = "The local model's process could not be started."
            self._fail(FailureKind.PROVIDER_FAILED, detail, str(error))
        return None

    async def _watched(self, process: ServerProcess, holders: Holders) -> None:
        self.pid = process.pid
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(process.keep_last_words, name="local model errors")
                await self._serve(process, holders)
                group.cancel_scope.cancel()
        finally:
            self.retired.set()
            await process.end(patience=self._limits.end)
            self.pid = None

    async def _serve(self, process: ServerProcess, holders: Holders) -> None:
        """From the order to the moment the child is not wanted any more, or is gone."""
        order = ServerOrder(
            model_path=self._server.file.path,
            model=self._server.model,
            context_window=self._server.context_window,
            threads=self._server.threads,
            api_key=self._key,
        )
        match await process.report(order, within=self._limits.load):
            case Listening(port=port):
                url = f"http://127.0.0.1:{port}/v1"
                self._begin(Endpoint(base_url=url, api_key=self._key, model=self._server.model))
                await self._until_over(process, holders)
            case Refused() as refused:
                # A child that still loads has no last words yet.
                words = "" if refused.kind is RefusalKind.TOO_SLOW else await process.last_words()
                await self._explain(refused, f"{refused.cause}; {words}")

    async def _until_over(self, process: ServerProcess, holders: Holders) -> None:
        async with anyio.create_task_group() as group:

            async def see_it_end() -> None:
                words = await process.ended()
                self.cause = f"{words}; {await process.last_words()}"
                self.retired.set()
                self.ended.set()

            async def see_it_idle() -> None:
                await holders.none_for(self._limits.idle)
                self.retired.set()

            group.start_soon(see_it_end, name="local model end")
            group.start_soon(see_it_idle, name="local model idleness")
            await self.retired.wait()
            group.cancel_scope.cancel()

    async def _explain(self, refused: Refused, cause: str) -> None:
        match refused.kind:
            case RefusalKind.PACKAGE_MISSING:
                detail = f"The local model needs one more package: {INSTALL_PACKAGE}"
                self._fail(FailureKind.NO_MODEL, detail, cause)
            case RefusalKind.TOO_SLOW:
                detail = f"The local model was not loaded within {self._limits.load:g} s."
                self._fail(FailureKind.TIMED_OUT, detail, cause)
            case RefusalKind.DIED:
                detail = "The local model's process ended while it was loading."
                self._fail(FailureKind.PROVIDER_FAILED, detail, cause)
            case RefusalKind.LOAD_FAILED:
                await self._explain_load(cause)
            case _:
                assert_never(refused.kind)

    async def _explain_load(self, cause: str) -> None:
        """The file may have vanished since it was checked; if not, what it lacks is its own to say."""
        try:
            await anyio.to_thread.run_sync(self._server.file.check)
        except ModelFileError as error:
            self._fail(FailureKind.NO_MODEL, str(error), f"{error.cause}; {cause}")
        else:
            self._fail(*self._server.file.unloadable(), cause)

    def _fail(self, kind: FailureKind, detail: str, cause: str) -> None:
        self.cause = cause
        failure = Failure(kind=kind, provider=PROVIDER, model=self._server.model, detail=detail)
        self._begin(Unusable(failure=failure, cause=cause))

    def _begin(self, start: Start) -> None:
        self.start = start
        self.started.set()
