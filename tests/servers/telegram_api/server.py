"""The server as tests use it: `with telegram_server() as server:` and everything of `PeopleSide` on it."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from tests.servers.telegram_api.endpoint import listening
from tests.servers.telegram_api.people_side import PeopleSide
from tests.servers.telegram_api.world import World

TOKEN = "123456:TEST-token_of_a_bot_that_is_nowhere"
BOT_NAME = "fermix_test_bot"
_LOOK = 0.005
"""Seconds between two looks whether the door is to be closed."""


class _Door:
    """The address of a world, open or closed; a client finds nobody at a closed one."""

    def __init__(self, world: World, port: int) -> None:
        self._world = world
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.port = port
        self.open()

    def open(self) -> None:
        if self._http is not None:
            return
        self._http = listening(self._world, self.port)
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": _LOOK}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        http, thread = self._http, self._thread
        self._http = self._thread = None
        if http is not None and thread is not None:
            http.shutdown()
            thread.join()
            http.server_close()


class TelegramServer(PeopleSide):
    """A running server.

    Attributes:
        api_base_url: the root; methods are at `{api_base_url}/bot{token}/{method}`, files at
            `{api_base_url}/file/bot{token}/{path}`.
    """

    def __init__(self, world: World, door: _Door) -> None:
        super().__init__(world)
        self._door = door
        self.api_base_url = f"http://127.0.0.1:{door.port}"

    def goes_away(self) -> None:
        """Break every connection and refuse new ones, until it comes back at the same address."""
        self._door.close()
        self.cut()

    def comes_back(self) -> None:
        """Take connections again."""
        self._door.open()


@contextmanager
def telegram_server(
    *, token: str = TOKEN, bot_name: str = BOT_NAME, port: int = 0, real_limits: bool = False
) -> Generator[TelegramServer]:
    """Run a server on the loopback interface until left.

    Args:
        token: `<bot id>:<secret>`.
        real_limits: 429 under Telegram's documented pace (see `flood`), which is off otherwise.
    """
    world = World(token=token, bot_name=bot_name, real_limits=real_limits, started=time.monotonic())
    door = _Door(world, port)
    try:
        yield TelegramServer(world, door)
    finally:
        world.close()
        door.close()
