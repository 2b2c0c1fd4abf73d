"""Keeping one gateway connection after another: resume, begin anew, or say why not."""

import logging
import zlib
from collections import deque
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
import anyio
from discord.errors import ConnectionClosed
from discord.gateway import ReconnectWebSocket
from yarl import URL

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable
from fermix.application.ports.clock import Clock
from fermix.infrastructure.channels.discord.errors import (
    FATAL_CLOSES,
    NoAnswer,
    NotSent,
    Refused,
    listen_error,
)
from fermix.infrastructure.channels.discord.gateway import GatewayClient, GatewaySocket

CONNECT_SECONDS = 10.0
"""With the silence that gives a connection up, a gateway that is dead is told within a minute."""

PAUSE_BEFORE_ANEW = timedelta(seconds=2)
"""Between a session that Discord ended and the next one; it asks for one to five seconds."""

MAX_BREAKS = 5
BREAKS_WITHIN_SECONDS = 60.0
"""More breaks than that in that time are trouble, and no repair."""

_BROKEN = (OSError, aiohttp.ClientError, TimeoutError, EOFError, zlib.error)

_log = logging.getLogger("fermix.discord")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is needed to go on where a connection broke."""

    id: str
    sequence: int
    gateway: URL


class GatewayLine:
    """Connections of one bot; it outlives each of them, so that the next one resumes."""

    def __init__(self, *, gateway: str | None, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._session: Session | None = None
        self._breaks: deque[float] = deque(maxlen=MAX_BREAKS)
        self._refusal: str | None = None

    @property
    def refusal(self) -> str | None:
        """Why nobody may connect any more; the same for as long as this process lives."""
        return self._refusal

    async def run(self, client: GatewayClient) -> None:
        """Listen until cancelled.

        Raises:
            ChannelRateLimited: no session may begin for a while.
            ChannelRejected: nobody may connect with this token or these intents.
            ChannelUnreachable: Discord cannot be heard.
        """
        try:
            await self._log_in(client)
            while True:
                await self._listen(client)
        except (NotSent, NoAnswer, Refused) as exc:
            error = listen_error(exc)
            if isinstance(error, ChannelRejected):
                self._refusal = str(error)
            raise error from exc
        except ConnectionClosed as exc:
            raise self._closed(exc.code) from None
        except _BROKEN as exc:
            raise ChannelUnreachable(f"Discord's gateway cannot be reached: {type(exc).__name__}") from exc

    async def _log_in(self, client: GatewayClient) -> None:
        rest = client.rest
        await rest.static_login(rest.bot_token)
        if self._gateway is None:
            self._gateway = await rest.gateway_address()

    async def _listen(self, client: GatewayClient) -> None:
        """One connection, until it is to be replaced by another."""
        socket = await self._connect(client)
        try:
            while True:
                await socket.poll_event()
        except ReconnectWebSocket as exc:
            if exc.resume:
                self._keep(socket)
            else:
                self._session = None
                await self._clock.sleep_until(self._clock.now() + PAUSE_BEFORE_ANEW)
            self._count_break(was_greeted=socket.greeted)
        except BaseException:
            self._keep(socket)
            raise

    async def _connect(self, client: GatewayClient) -> GatewaySocket:
        session = self._session
        with anyio.fail_after(CONNECT_SECONDS):
            if session is None:
                return await GatewaySocket.from_client(client, initial=True, gateway=URL(self._gateway or ""))
            return await GatewaySocket.from_client(
                client,
                gateway=session.gateway,
                session=session.id,
                sequence=session.sequence,
                resume=True,
            )

    def _keep(self, socket: GatewaySocket) -> None:
        if socket.session_id is not None and socket.sequence is not None:
            self._session = Session(id=socket.session_id, sequence=socket.sequence, gateway=socket.gateway)

    def _count_break(self, *, was_greeted: bool) -> None:
        now = self._clock.monotonic()
        self._breaks.append(now)
        _log.info("discord.connects_again", extra={"resumes": self._session is not None})
        often = len(self._breaks) == MAX_BREAKS and now - self._breaks[0] < BREAKS_WITHIN_SECONDS
        if often or not was_greeted:
            self._breaks.clear()
            raise ChannelUnreachable(
                "Discord's gateway breaks its connections again and again"
                if often
                else "Discord's gateway breaks connections before it greets"
            )

    def _closed(self, code: int) -> ChannelRejected | ChannelUnreachable:
        self._session = None
        if code not in FATAL_CLOSES:
            return ChannelUnreachable(f"Discord closed the connection ({code})")
        self._refusal = FATAL_CLOSES[code]
        return ChannelRejected(self._refusal)
