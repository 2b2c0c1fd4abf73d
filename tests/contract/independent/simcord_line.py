"""simcord, a Discord in memory that none of us wrote, on sockets: our adapter meets it as it meets Discord.

simcord simulates Discord inside the process of a bot. Its own are what is called (`dispatch`: routes, rights,
limits and errors), what is kept (`Backend`), and what is told to whom (`ShardRouter`). Ours is the line alone:
requests and frames on loopback, numbers of events, and sending again what a broken line had missed.
"""

import base64
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import orjson
from discord import Intents
from simcord.backend import Backend
from simcord.backend.cdn import CDN_BASE
from simcord.backend.errors import BackendError
from simcord.gateway import ShardRouter
from simcord.http import router
from typing_extensions import override

from fermix.testing.servers.loopback import Endpoint, Platform, Request, Served
from fermix.testing.servers.multipart import parts_of
from fermix.testing.servers.websocket import WebSocket

_SESSION = "simcord-session-0"
_RESUME_AT = "wss://simcord.invalid"


class _Told(Mapping[str, Callable[[Any], None]]):
    """discord.py's parsers to simcord: every event there is goes over the line."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell

    @override
    def __getitem__(self, event: str) -> Callable[[Any], None]:
        return lambda data: self._tell(event, data)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(())

    @override
    def __len__(self) -> int:
        return 0


@dataclass(slots=True, kw_only=True)
class SimWorld(Platform):
    """simcord's world, and what its line keeps; whoever touches either holds `changed`."""

    backend: Backend = field(default_factory=Backend)
    address: str = ""
    token: str = ""
    session: ShardRouter | None = None
    frames: list[bytes] = field(default_factory=list[bytes])
    line: WebSocket | None = None
    opened: list[int] = field(default_factory=list[int])

    def tell(self, event: str, data: Any) -> None:
        frame = {"op": 0, "t": event, "s": len(self.frames) + 1, "d": data}
        self.frames.append(self.here(frame))
        if self.line is not None:
            self.line.send(self.frames[-1].decode())

    def here(self, value: object) -> bytes:
        """JSON in which simcord's addresses, which are nowhere, are ours."""
        raw = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        gateway = self.address.replace("http://", "ws://") + "/gateway"
        return raw.replace(CDN_BASE.encode(), self.address.encode()).replace(
            _RESUME_AT.encode(), gateway.encode()
        )


class SimDiscord(Endpoint[SimWorld]):
    """Hands over to simcord what comes, and back what simcord says."""

    @override
    def serve(self, request: Request) -> None:
        if request.path.startswith("/gateway"):
            self._line(request)
        elif request.path.startswith("/attachments/"):
            found = self.world.backend.cdn.get(CDN_BASE + request.path)
            self.reply(404 if found is None else 200, found or b"", "application/octet-stream")
        else:
            with self.world.changed:
                status, answer = self._call(request)
                self.world.changed.notify_all()
            if answer is None:
                self.head(204, {})
            else:
                self.reply(status, self.world.here(answer))

    def _call(self, request: Request) -> tuple[int, Any]:
        path = request.path.removeprefix("/api/v10")
        if request.headers.get("authorization") != f"Bot {self.world.token}":
            return 401, {"code": 0, "message": "401: Unauthorized"}
        if path == "/gateway/bot":
            return 200, {"url": f"{_RESUME_AT}", "session_start_limit": {"remaining": 9}}
        body, files = _content(request)
        try:
            answer = router.dispatch(
                self.world.backend,
                request.method,
                path,
                json=body,
                params=dict(parse_qsl(request.query)),
                files=files,
            )
        except BackendError as error:
            return error.status, error.to_json()
        return 200, answer

    def _line(self, request: Request) -> None:
        line = WebSocket(self, request)
        line.send(orjson.dumps({"op": 10, "d": {"heartbeat_interval": 41_250}}).decode())
        for message in line.messages():
            frame = orjson.loads(message)
            with self.world.changed:
                self._hears(line, frame["op"], frame["d"])
                self.world.changed.notify_all()
        with self.world.changed:
            if self.world.line is line:
                self.world.line = None

    def _hears(self, line: WebSocket, op: int, data: Any) -> None:
        world = self.world
        match op:
            case 1:
                line.send('{"op": 11, "d": null}')
            case 2:
                world.opened.append(op)
                world.line, world.frames = line, []
                self._begin(Intents._from_value(data["intents"]))
            case 6 if world.session is None or data["session_id"] != _SESSION:
                line.send('{"op": 9, "d": false}')
            case 6:
                world.opened.append(op)
                world.line = line
                for missed in world.frames[data["seq"] :]:
                    line.send(missed.decode())
                world.tell("RESUMED", {})

    def _begin(self, intents: Intents) -> None:
        backend = self.world.backend
        state = SimpleNamespace(intents=intents, parsers=_Told(self.world.tell), guilds=[])
        self.world.session = session = ShardRouter(backend, state, lambda *_: None, 1, (0,))
        backend.subscribers[:] = [session.feed]
        session.identify(0, replay_guilds=True)


def _content(request: Request) -> tuple[Any, list[Any]]:
    """JSON and files, as discord.py hands them to simcord."""
    if not request.headers.get("content-type", "").startswith("multipart/"):
        return orjson.loads(request.body) if request.body else None, []
    body, files = None, list[Any]()
    for part in parts_of(request.headers["content-type"], request.body):
        if part.name == "payload_json":
            body = orjson.loads(part.content)
        else:
            file = SimpleNamespace(fp=BytesIO(part.content), filename=part.file_name, description=None)
            files.append(file)
    return body, files


class SimServer(Served[SimWorld]):
    """simcord behind an address, with one person, one server and one room."""

    def __init__(self) -> None:
        world = SimWorld()
        backend = world.backend
        bot = base64.b64encode(str(backend.bot_user.id).encode()).decode().rstrip("=")
        world.token = f"{bot}.simcord.of-nobody"
        super().__init__(world, SimDiscord, 0)
        world.address = self.address
        self.token = world.token
        self.api_base_url = f"{self.address}/api/v10"
        self.ann = backend.make_user("ann", global_name="Ann").id
        self.guild = backend.create_guild("Garden").id
        backend.add_member(self.guild, self.ann)
        self.room = backend.create_channel(self.guild, "roses").id
        self.direct = backend.get_dm_channel(self.ann).id

    @contextmanager
    def world(self) -> Generator[Backend]:
        """simcord's world, to act in and to look at."""
        with self._world.changed:
            yield self._world.backend
            self._world.changed.notify_all()

    def writes(self, text: str, *, chat: int | None = None, **more: Any) -> str:
        """Ann writes; the message's id."""
        with self.world() as backend:
            return str(backend.create_message(chat or self.direct, self.ann, text, **more).id)

    def commands(self) -> dict[str, Any]:
        """What people can pick, by name."""
        return {str(each["name"]): each for each in self._world.backend.commands.get(None, {}).values()}

    def forgets_session(self) -> None:
        """Nobody can resume any more."""
        with self._world.changed:
            self._world.session = None
            self._world.backend.subscribers.clear()

    def is_online(self) -> bool:
        """Whether a session has a line."""
        return self._world.line is not None

    async def until_opened(self, *ops: int) -> None:
        """Wait until sessions were begun (2) and resumed (6) in just this order."""
        wanted = list(ops)
        await self.until(
            lambda: self.wait(lambda: list(self._world.opened), lambda all_: all_ == wanted, f"{wanted}")
        )
