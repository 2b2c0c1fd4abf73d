"""The server as tests use it: `with discord_server() as server:` and people who write, tap and see."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from tests.servers.discord_api.gateway import GatewaySide
from tests.servers.discord_api.people_side import PATIENCE, PeopleSide
from tests.servers.discord_api.rest import RestSide
from tests.servers.discord_api.world import (
    DIRECT_MESSAGES,
    GUILD_MESSAGES,
    MESSAGE_CONTENT,
    Drop,
    Fault,
    Json,
    World,
)

TOKEN = "OTAwMDAwMDAwMDAwMDAwMDAx.Fake00.test-token_of_a_bot_that_is_nowhere"
"""Its first part is the bot's id in base64, as in real ones."""

INTENTS = 1 | GUILD_MESSAGES | DIRECT_MESSAGES | MESSAGE_CONTENT

_T = TypeVar("_T")


class DiscordServer(PeopleSide):
    """A running server. Safe to use from any thread; what waits must not run in the bot's event loop.

    Attributes:
        api_base_url: what paths of the REST API follow.
        gateway_url: where the gateway is.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._gateway = GatewaySide(world)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._runner = self._in_loop(self._start())
        self._site: web.TCPSite | None = None
        self._port = 0
        self.comes_back()
        self.api_base_url = f"http://127.0.0.1:{self._port}/api/v10"
        self.gateway_url = world.url = f"ws://127.0.0.1:{self._port}"

    async def _start(self) -> web.AppRunner:
        app = web.Application(client_max_size=32 << 20)
        rest = RestSide(self._world)
        app.router.add_route("*", "/api/v10/{any:.*}", rest.handle)
        app.router.add_get("/attachments/{chat}/{number}/{name}", self._file)
        app.router.add_get("/{any:.*}", self._gateway.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        return runner

    async def _file(self, request: web.Request) -> web.StreamResponse:
        with self._world.changed:
            found = self._world.files.get(request.match_info["number"])
        if found is None or "Authorization" in request.headers:
            return web.Response(status=404)
        return web.Response(body=found[0], content_type=found[1])

    def _in_loop(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def close(self) -> None:
        """End everything."""
        with self._world.changed:
            self._world.closing = True
        self.cut()
        self._in_loop(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    # --- the platform -------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        """The only token that is let in."""
        return self._world.token

    def revoke_token(self) -> None:
        """The bot's token is not good any more."""
        self._world.token = "another"

    def goes_away(self) -> None:
        """Break every connection and refuse new ones, until it comes back at the same address."""
        if self._site is not None:
            self._in_loop(self._site.stop())
            self._site = None
        self.cut()

    def comes_back(self) -> None:
        """Take connections again."""
        if self._site is None:
            self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
            self._in_loop(self._site.start())
            self._port = int(self._runner.addresses[0][1])

    def cut(self) -> None:
        """Break every connection."""

        async def abort() -> None:
            server = self._runner.server
            for each in list(server.connections) if server is not None else ():
                transport = getattr(each, "transport", None)
                if transport is not None:
                    transport.abort()

        self._in_loop(abort())

    @property
    def connections(self) -> int:
        """How many are open."""
        server = self._runner.server
        return 0 if server is None else len(list(server.connections))

    @property
    def lines(self) -> int:
        """How many connections to the gateway are open."""
        return len(self._gateway.lines)

    def gateway_says(self, frame: Json | int) -> None:
        """Send a frame over every connection to the gateway, or close them with a code."""
        with self._world.changed:
            for line in list(self._gateway.lines):
                line.send(frame)

    def forgets_sessions(self) -> None:
        """Nobody can resume any more."""
        with self._world.changed:
            self._world.sessions.clear()

    def acknowledges(self, *, heartbeats: bool) -> None:
        """Whether heartbeats are answered from now on."""
        self._world.acknowledges = heartbeats

    def closes_channel(self, chat: str) -> None:
        """A chat is gone."""
        self._world.gone.add(chat)

    def fault(
        self,
        name: str,
        *,
        times: float = 1,
        status: int | None = None,
        code: int = 0,
        retry_after: float | None = None,
        body: str | None = None,
        hang: bool = False,
        drop: Drop | None = None,
    ) -> None:
        """What goes wrong with the next calls of a name, as `POST messages`."""
        with self._world.changed:
            self._world.faults.append(
                Fault(
                    name=name,
                    left=times,
                    status=status,
                    code=code,
                    retry_after=retry_after,
                    body=body,
                    hang=hang,
                    drop=drop,
                )
            )

    async def until_connections(self, most: int, *, seconds: float = PATIENCE) -> int:
        """Wait beside the loop until no more are open."""
        found = partial(
            self._wait, lambda: self.connections, lambda open_: open_ <= most, f"{most} connections", seconds
        )
        return await self.until(found)


def wall_clock() -> float:
    """Unix seconds."""
    return time.time_ns() / 1e9


@contextmanager
def discord_server(
    *,
    token: str = TOKEN,
    now: Callable[[], float] = wall_clock,
    heartbeat_ms: int = 41_250,
    real_limits: bool = False,
    allowed_intents: int = INTENTS,
) -> Generator[DiscordServer]:
    """Run a server on the loopback interface until left."""
    server = DiscordServer(
        World(
            token=token,
            now=now,
            heartbeat_ms=heartbeat_ms,
            real_limits=real_limits,
            allowed_intents=allowed_intents,
        )
    )
    try:
        yield server
    finally:
        server.close()
