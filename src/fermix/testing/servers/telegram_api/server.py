"""The server as tests use it: `with telegram_server() as server:` and everything of `PeopleSide` on it."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from fermix.testing.servers.loopback import Served
from fermix.testing.servers.telegram_api.endpoint import BotApi
from fermix.testing.servers.telegram_api.people_side import PeopleSide
from fermix.testing.servers.telegram_api.world import World

TOKEN = "123456:TEST-token_of_a_bot_that_is_nowhere"
BOT_NAME = "fermix_test_bot"


class TelegramServer(PeopleSide, Served[World]):
    """A running server.

    Attributes:
        api_base_url: the root; methods are at `{api_base_url}/bot{token}/{method}`, files at
            `{api_base_url}/file/bot{token}/{path}`.
    """

    def __init__(self, world: World, port: int) -> None:
        super().__init__(world, BotApi, port)
        self.api_base_url = self.address


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
    server = TelegramServer(world, port)
    try:
        yield server
    finally:
        server.close()
