"""Work beside a block: what the block raises comes out as it is, and the work can end the block."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio

Watch: TypeAlias = Callable[[], Awaitable[Exception | None]]
"""Work that may find a reason to end the block."""


@asynccontextmanager
async def beside(work: Watch) -> AsyncGenerator[None]:
    """Do `work` while the block lasts.

    Raises:
        Exception: what the block raised, else what `work` gave back, which ends the block.
    """
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def works() -> None:
            if (reason := await work()) is not None:
                failures.append(reason)
                tasks.cancel_scope.cancel()

        tasks.start_soon(works)
        try:
            yield
        except Exception as exc:  # noqa: BLE001  # raised below, out of the group that would wrap it
            failures.insert(0, exc)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
