"""Cancelling a question closes its connection at once and leaves the model usable."""

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from fermix.application.ports.model import ModelRequest
from fermix.domain.history import UserEntry
from fermix.infrastructure.providers.openai.factory import Wire
from fermix.testing.servers.openai_strict.script import Hang, Say, Stage
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.integration.providers.asking import ask, model_at

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("wire", list(Wire))


async def arrived(server: StrictServer) -> None:
    """Wait until the server has the request."""
    while not server.requests:
        await anyio.lowlevel.checkpoint()


async def left(server: StrictServer) -> bool:
    return await anyio.to_thread.run_sync(server.left.wait, 5)


@BOTH
@pytest.mark.parametrize("stage", ["headers", "body", "middle"])
async def test_the_server_sees_a_cancelled_question_leave(wire: Wire, stage: Stage) -> None:
    with strict_server(Hang(stage=stage), Say(text="Hi")) as server:
        async with model_at(server.base_url, wire, timeout_seconds=60) as model:
            await model.warm()
            with anyio.fail_after(10):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(ask, model)
                    await arrived(server)
                    tasks.cancel_scope.cancel()
                assert await left(server)
                assert (await ask(model)).text == "Hi"


@BOTH
async def test_cancelling_between_two_words_closes_the_stream(wire: Wire) -> None:
    shown: list[str] = []
    with strict_server(Say(text="word " * 1000, pause=0.01)) as server:
        async with model_at(server.base_url, wire, timeout_seconds=60) as model:
            request = ModelRequest(system="", entries=(UserEntry(text="Talk."),))
            with anyio.fail_after(10):
                with anyio.CancelScope() as scope:

                    def show(piece: str) -> None:
                        shown.append(piece)
                        if len(shown) == 5:
                            scope.cancel()

                    await model.complete(request, on_text=show)
                assert await left(server)

    assert scope.cancelled_caught
    assert len(shown) == 5


@BOTH
async def test_an_error_of_the_reader_is_not_the_providers(wire: Wire) -> None:
    def gone(piece: str) -> None:
        raise anyio.BrokenResourceError

    with strict_server(Say(text="word " * 1000, pause=0.01)) as server:
        async with model_at(server.base_url, wire, timeout_seconds=60) as model:
            request = ModelRequest(system="", entries=(UserEntry(text="Talk."),))
            with pytest.raises(anyio.BrokenResourceError), anyio.fail_after(10):
                await model.complete(request, on_text=gone)
            assert await left(server)


async def test_more_questions_than_connections_wait_their_turn() -> None:
    with strict_server(*(Say(text="Hi", pause=0.01) for _ in range(20))) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS, timeout_seconds=10) as model:
            with anyio.fail_after(10):
                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(ask, model)

    assert len(server.requests) == 20
    assert 1 < server.most_busy <= 16
