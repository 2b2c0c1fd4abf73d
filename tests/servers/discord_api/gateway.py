"""The gateway: https://discord.com/developers/docs/events/gateway."""

import asyncio
import zlib
from typing import Any

import orjson
from aiohttp import WSMsgType, web

from tests.servers.discord_api.places import guild
from tests.servers.discord_api.world import APPLICATION, GUILD, Json, Session, World


class Line:
    """One connection. What is sent goes through a queue, so that its order is kept and any thread may send."""

    def __init__(self, world: World, ws: web.WebSocketResponse, *, compressed: bool) -> None:
        self._world = world
        self._ws = ws
        self._loop = asyncio.get_running_loop()
        self._packer = zlib.compressobj() if compressed else None
        self._queue: asyncio.Queue[Json | int] = asyncio.Queue()
        self.session: Session | None = None

    def send(self, frame: Json | int) -> None:
        """Send a frame, or close with a code."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, frame)

    async def write(self) -> None:
        while True:
            frame = await self._queue.get()
            if isinstance(frame, int):
                await self._ws.close(code=frame)
                return
            raw = orjson.dumps({"s": None, "t": None, **frame})
            if self._packer is None:
                await self._ws.send_str(raw.decode())
            else:
                await self._ws.send_bytes(self._packer.compress(raw) + self._packer.flush(zlib.Z_SYNC_FLUSH))

    async def read(self) -> None:
        self.send({"op": 10, "d": {"heartbeat_interval": self._world.heartbeat_ms}})
        async for message in self._ws:
            if message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                with self._world.changed:
                    self._take(orjson.loads(message.data))
                    self._world.changed.notify_all()

    def _take(self, frame: Json) -> None:
        data = frame.get("d")
        match frame.get("op"):
            case 1 if self._world.acknowledges:
                self.send({"op": 11, "d": None})
            case 2:
                self._identify(data or {})
            case 6:
                self._resume(data or {})

    def _identify(self, data: Json) -> None:
        self._world.opened.append({"op": 2, **{k: v for k, v in data.items() if k != "token"}})
        intents = int(data.get("intents", 0))
        if data.get("token") != self._world.token:
            self.send(4004)
        elif intents & ~self._world.allowed_intents:
            self.send(4014)
        else:
            session = Session(id=f"session{len(self._world.sessions) + 1:04d}", intents=intents)
            self._world.sessions[session.id] = session
            self._attach(session)
            self._world.dispatch("READY", self._ready(session))
            self._world.dispatch("GUILD_CREATE", guild(self._world))
            self._world.begin()

    def _ready(self, session: Session) -> Json:
        return {
            "v": 10,
            "user": self._world.me(),
            "guilds": [{"id": GUILD, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": f"{self._world.url}/resume",
            "application": {"id": APPLICATION, "flags": 1 << 18},
        }

    def _resume(self, data: Json) -> None:
        self._world.opened.append({"op": 6, **{k: v for k, v in data.items() if k != "token"}})
        session = self._world.sessions.get(str(data.get("session_id")))
        if data.get("token") != self._world.token:
            self.send(4004)
        elif session is None:
            self.send({"op": 9, "d": False})
        else:
            for sequence, frame in list(session.history):
                if sequence > int(data.get("seq") or 0):
                    self.send(frame)
            self._attach(session)
            self._world.dispatch("RESUMED", {})

    def _attach(self, session: Session) -> None:
        self.session = session
        session.send = self.send


class GatewaySide:
    """Takes connections to one world's gateway."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.lines: set[Line] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(max_msg_size=1 << 20, timeout=0.2)
        await ws.prepare(request)
        line = Line(self._world, ws, compressed=request.query.get("compress") == "zlib-stream")
        with self._world.changed:
            self.lines.add(line)
            self._world.changed.notify_all()
        writer = asyncio.ensure_future(line.write())
        try:
            await line.read()
        finally:
            writer.cancel()
            with self._world.changed:
                self.lines.discard(line)
                session: Any = line.session
                if session is not None and session.send == line.send:
                    session.send = None
                self._world.closes.append(ws.close_code)
                self._world.changed.notify_all()
        return ws
