"""What an asker hears of a turn: its events, and the files that it sends meanwhile, in one stream."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

import anyio
from anyio import CancelScope
from anyio.streams.memory import MemoryObjectSendStream

from fermix.application.ports.local_clients import PartStream
from fermix.domain.delivery import MediaPart
from fermix.domain.events import Numbered

Heard: TypeAlias = Numbered | MediaPart


@asynccontextmanager
async def followed(
    watched: AsyncGenerator[Numbered], parts: PartStream
) -> AsyncGenerator[AsyncIterator[Heard]]:
    """A turn's events in their order, and between them each file when it is delivered, until the turn has ended.

    Other parts are passed over: their words stand in the events.

    Args:
        watched: the events of the turn; closed at the end. The last one comes when all parts were delivered.
        parts: what is delivered to whoever asked.
    """
    send, receive = anyio.create_memory_object_stream[Heard](0)
    async with aclosing(watched), anyio.create_task_group() as passing:
        passing.start_soon(_pass_on, watched, parts, send)
        try:
            yield receive
        finally:
            # Before the tasks are waited for: one of them may be handing a file over to nobody.
            receive.close()
            passing.cancel_scope.cancel()


async def _pass_on(
    watched: AsyncIterator[Numbered],
    parts: PartStream,
    send: MemoryObjectSendStream[Heard],
) -> None:
    async with send:
        try:
            async with anyio.create_task_group() as beside:
                beside.start_soon(_pass_files, parts, send)
                async for numbered in watched:
                    await send.send(numbered)
                beside.cancel_scope.cancel()
            await _pass_rest(parts, send)
        except* anyio.BrokenResourceError:
            pass  # nobody listens any more


async def _pass_files(parts: PartStream, send: MemoryObjectSendStream[Heard]) -> None:
    while True:
        part = await parts.receive()
        if isinstance(part, MediaPart):
            # What was taken from its stream is handed over, also when the turn ends just now.
            with CancelScope(shield=True):
                await send.send(part)


async def _pass_rest(parts: PartStream, send: MemoryObjectSendStream[Heard]) -> None:
    while True:
        try:
            part = parts.receive_nowait()
        except anyio.WouldBlock:
            return
        if isinstance(part, MediaPart):
            await send.send(part)
