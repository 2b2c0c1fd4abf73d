"""The server as tests use it: `with discord_server() as server:` and people who write, tap and see."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fermix.testing.servers.discord_api.people_side import PeopleSide
from fermix.testing.servers.discord_api.rest import RestSide
from fermix.testing.servers.discord_api.world import (
    DIRECT_MESSAGES,
    GUILD_MESSAGES,
    MESSAGE_CONTENT,
    Fault,
    Json,
    World,
)
from fermix.testing.servers.loopback import Drop, Served

TOKEN = "OTAwMDAwMDAwMDAwMDAwMDAx.Fake00.test-token_of_a_bot_that_is_nowhere"
"""Its first part is the bot's id in base64, as in real ones."""

INTENTS = 1 | GUILD_MESSAGES | DIRECT_MESSAGES | MESSAGE_CONTENT


class DiscordServer(PeopleSide, Served[World]):
    """A running server. Safe to use from any thread; what waits must not run in the bot's event loop.

    Attributes:
        api_base_url: what paths of the REST API follow.
        gateway_url: where the gateway is.
    """

    def __init__(self, world: World, port: int) -> None:
        super().__init__(world, RestSide, port)
        world.address = self.address
        self.api_base_url = f"{self.address}/api/v10"
        self.gateway_url = world.gateway

    @property
    def token(self) -> str:
        """The only token that is let in."""
        return self._world.token

    def revoke_token(self) -> None:
        """The bot's token is not good any more."""
        self._world.token = "another"

    @property
    def lines(self) -> int:
        """How many connections to the gateway are open."""
        with self._world.changed:
            return len(self._world.lines)

    def gateway_says(self, frame: Json | int) -> None:
        """Send a frame over every connection to the gateway, or close them with a code."""
        with self._world.changed:
            for send in self._world.lines.values():
                send(frame)

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

    def clear_faults(self) -> None:
        """All is well again; what hangs already, hangs on."""
        with self._world.changed:
            self._world.faults.clear()

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


def wall_clock() -> float:
    """Unix seconds."""
    return time.time_ns() / 1e9


@contextmanager
def discord_server(
    *,
    token: str = TOKEN,
    port: int = 0,
    now: Callable[[], float] = wall_clock,
    heartbeat_ms: int = 41_250,
    real_limits: bool = False,
    allowed_intents: int = INTENTS,
) -> Generator[DiscordServer]:
    """Run a server on the loopback interface until left.

    Args:
        now: Unix seconds, which ids and times of messages are made of.
        heartbeat_ms: how often the client is to say that it is there.
        real_limits: 429 after five messages to a chat within five seconds.
        allowed_intents: those that were switched on in the portal; others close the connection with 4014.
    """
    server = DiscordServer(
        World(
            token=token,
            now=now,
            heartbeat_ms=heartbeat_ms,
            real_limits=real_limits,
            allowed_intents=allowed_intents,
        ),
        port,
    )
    try:
        yield server
    finally:
        server.close()
