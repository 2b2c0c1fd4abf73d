"""discord.py's gateway connection: its protocol, its resuming, its memory of servers. Events come out raw.

The library makes objects of messages and drops what it cannot read, together with the connection. Here an event
that has not the promised shape is counted, and the next one is read.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
import orjson
from discord import AllowedMentions, Client, Intents, MemberCacheFlags
from discord.abc import GuildChannel
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient
from discord.state import ConnectionState
from discord.threads import Thread
from typing_extensions import override

from fermix.infrastructure.channels.discord.rest import RestClient
from fermix.infrastructure.channels.discord.wire_in import Room

SILENCE_SECONDS = 50.0
"""A connection over which nothing at all came for so long is dead. Heartbeats are answered every 41 s."""

CLOSE_SECONDS = 1.0
"""How long the far side may take to agree that a connection is closed."""

KEEP_SESSION = 4000
"""The code we close with: after 1000 and 1001 a session cannot be resumed."""

INTENTS = Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)

_ACK = 11
_SHORT = 100
"""Characters of the longest frame that can be a heartbeat's answer."""

_ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an event raises that has not the promised shape."""

_log = logging.getLogger("fermix.discord")

# Below that it writes down events and calls, with what people say.
logging.getLogger("discord").setLevel(logging.ERROR)


class Ears(Protocol):
    """Who is told what comes; each call returns at once."""

    def ready(self, data: Mapping[str, Any]) -> None:
        """A session has begun: what came before it was not heard."""
        ...

    def resumed(self) -> None:
        """The session goes on; what was missed has come."""
        ...

    def written(self, data: Mapping[str, Any]) -> None:
        """A message."""
        ...

    def changed(self, data: Mapping[str, Any]) -> None:
        """A message that reads otherwise now, or looks otherwise."""
        ...

    def done(self, data: Mapping[str, Any]) -> None:
        """A tap or a command."""
        ...

    def unreadable(self, event: str) -> None:
        """Something that nobody can read."""
        ...


class _State(ConnectionState[Any]):
    """The library's memory; what people write and do is passed on as it came."""

    def __init__(self, *, ears: Ears, **options: Any) -> None:
        self.ears = ears
        super().__init__(**options)

    @override
    def parse_ready(self, data: Any) -> None:
        super().parse_ready(data)
        # The task waits for servers to be told one by one, for whoever wants to know of each; nobody does.
        task = self._ready_task
        if task is not None:
            task.cancel()
        self._ready_task = None
        del self._ready_state
        self.ears.ready(data)

    @override
    def parse_resumed(self, data: Any) -> None:
        self.ears.resumed()

    @override
    def parse_message_create(self, data: Any) -> None:
        self.ears.written(data)

    @override
    def parse_message_update(self, data: Any) -> None:
        self.ears.changed(data)

    @override
    def parse_interaction_create(self, data: Any) -> None:
        self.ears.done(data)


class GatewayClient(Client):
    """The library's client, for one connection after another."""

    def __init__(self, *, rest: RestClient, ears: Ears) -> None:
        self._rest = rest
        self._ears = ears
        self.http: HTTPClient = rest
        super().__init__(
            intents=INTENTS,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=MemberCacheFlags.none(),
            allowed_mentions=AllowedMentions.none(),
            heartbeat_timeout=SILENCE_SECONDS,
        )

    @override
    def _get_state(self, **options: Any) -> ConnectionState[Any]:
        self.http = self._rest
        return _State(
            ears=self._ears,
            dispatch=self.dispatch,
            handlers=self._handlers,
            hooks=self._hooks,
            http=self._rest,
            **options,
        )

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Its connections may be made inside, and are closed at the end, also of a cancelled block."""
        await self._async_setup_hook()
        try:
            yield
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await self.close()

    @property
    def rest(self) -> RestClient:
        """Its REST methods, which it logs in with."""
        return self._rest

    def room(self, chat: object) -> Room:
        """What is known of a chat."""
        channel = self.get_channel(int(chat)) if isinstance(chat, str) and chat.isdecimal() else None
        if not isinstance(channel, GuildChannel | Thread):
            return Room()
        return Room(
            title=channel.name,
            parent=str(channel.parent_id) if isinstance(channel, Thread) else None,
        )


class GatewaySocket(DiscordWebSocket):
    """One connection. It is given up when a heartbeat is due and the last one was not answered."""

    _connection: _State
    _unanswered = 0
    greeted = False
    """Whether a session has begun on it, or went on."""

    @override
    def log_receive(self, data: Any, /) -> None:
        if len(data) <= _SHORT and _is_ack(data):
            self._unanswered = 0

    @override
    async def send_heartbeat(self, data: Any) -> None:
        if self._unanswered:
            _log.warning("discord.gateway_deaf", extra={"unanswered": self._unanswered})
            await self.close(KEEP_SESSION)
            return
        self._unanswered += 1
        await super().send_heartbeat(data)

    @override
    async def received_message(self, msg: Any, /) -> None:
        before = self.sequence
        try:
            await super().received_message(msg)
        except _ODD as exc:
            # Neither the event nor what the error says of it: both may hold what people wrote.
            self._connection.ears.unreadable(type(exc).__name__)
        self.greeted = self.greeted or self.sequence != before

    @override
    async def poll_event(self) -> None:
        async with self._letting_go():
            await super().poll_event()

    @override
    async def identify(self) -> None:
        async with self._letting_go():
            await super().identify()

    @override
    async def resume(self) -> None:
        async with self._letting_go():
            await super().resume()

    @asynccontextmanager
    async def _letting_go(self) -> AsyncGenerator[None]:
        """Whatever ends the connection ends the thread that keeps it alive, and leaves no line open."""
        try:
            yield
        except BaseException:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await self.close(KEEP_SESSION)
            raise


def _is_ack(frame: str) -> bool:
    try:
        message = orjson.loads(frame)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("op") == _ACK
