"""The gateway: https://discord.com/developers/docs/events/gateway."""

import threading
import zlib

import orjson

from fermix.testing.servers.discord_api.places import guild
from fermix.testing.servers.discord_api.world import APPLICATION, GUILD, Json, Session, World
from fermix.testing.servers.loopback import Endpoint, Request
from fermix.testing.servers.websocket import WebSocket


class Line:
    """One connection to the gateway; any thread may send."""

    def __init__(self, world: World, socket: WebSocket, *, path: str, compressed: bool) -> None:
        self._world = world
        self._socket = socket
        self._path = path
        self._packer = zlib.compressobj() if compressed else None
        self._packing = threading.Lock()
        self.session: Session | None = None

    def send(self, frame: Json | int) -> None:
        """Send a frame, or close with a code."""
        if isinstance(frame, int):
            self._socket.close(frame)
            return
        raw = orjson.dumps({"s": None, "t": None, **frame})
        if self._packer is None:
            self._socket.send(raw.decode())
            return
        with self._packing:
            self._socket.send(self._packer.compress(raw) + self._packer.flush(zlib.Z_SYNC_FLUSH))

    def read(self) -> None:
        """Greet, and do what the client asks until the connection ends."""
        self.send({"op": 10, "d": {"heartbeat_interval": self._world.heartbeat_ms}})
        for message in self._socket.messages():
            with self._world.changed:
                self._take(orjson.loads(message))
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
        self._note(2, data)
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
            "resume_gateway_url": f"{self._world.gateway}/resume",
            "application": {"id": APPLICATION, "flags": 1 << 18},
        }

    def _resume(self, data: Json) -> None:
        self._note(6, data)
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

    def _note(self, op: int, data: Json) -> None:
        told = {name: value for name, value in data.items() if name != "token"}
        self._world.opened.append({"op": op, "path": self._path, **told})

    def _attach(self, session: Session) -> None:
        self.session = session
        session.send = self.send


def serve_line(endpoint: Endpoint[World], request: Request) -> None:
    """Take a connection to the gateway, until it ends."""
    world = endpoint.world
    socket = WebSocket(endpoint, request)
    line = Line(world, socket, path=request.path, compressed="compress=zlib-stream" in request.query)
    with world.changed:
        world.lines[socket] = line.send
        world.changed.notify_all()
    try:
        line.read()
    finally:
        with world.changed:
            del world.lines[socket]
            session = line.session
            if session is not None and session.send == line.send:
                session.send = None
            world.closes.append(socket.close_code)
            world.changed.notify_all()
