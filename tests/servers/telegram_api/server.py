"""The server as tests use it: `with telegram_server() as server:` and everything of `PeopleSide` on it."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from tests.servers.telegram_api.endpoint import listening
from tests.servers.telegram_api.people_side import PeopleSide
from tests.servers.telegram_api.world import World

TOKEN = "123456:TEST-token_of_a_bot_that_is_nowhere"
BOT_NAME = "fermix_test_bot"


class TelegramServer(PeopleSide):
    """A running server.

    Attributes:
        api_base_url: the root; methods are at `{api_base_url}/bot{token}/{method}`, files at
            `{api_base_url}/file/bot{token}/{path}`.
    """

    def __init__(self, world: World, *, api_base_url: str) -> None:
        super().__init__(world)
        self.api_base_url = api_base_url


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
    with listening(world, port) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield TelegramServer(world, api_base_url=f"http://127.0.0.1:{http.server_address[1]}")
        finally:
            world.close()
            http.shutdown()
            thread.join()
