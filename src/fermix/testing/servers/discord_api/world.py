"""All that the server knows, behind one lock."""

from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias

from fermix.testing.servers.loopback import Drop, Platform

Json: TypeAlias = dict[str, Any]

EPOCH_MS = 1_420_070_400_000
BOT = "900000000000000001"
APPLICATION = "900000000000000002"
GUILD = "800000000000000001"
GENERAL = "810000000000000001"
THREAD = "810000000000000002"

MESSAGE_CONTENT = 1 << 15
DIRECT_MESSAGES = 1 << 12
GUILD_MESSAGES = 1 << 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, without the token; files are replaced by their names and sizes.

    Attributes:
        status: of the answer; 0 when the connection was dropped instead.
    """

    name: str
    path: str
    body: Any
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One message of the bot as its chat shows it now."""

    id: str
    chat: str
    text: str
    reply_to: str | None
    pings: bool
    previews: bool
    buttons: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...]
    edits: int


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next calls of a name (`POST messages`)."""

    name: str
    left: float = 1
    status: int | None = None
    code: int = 0
    retry_after: float | None = None
    body: str | None = None
    hang: bool = False
    drop: Drop | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    """A gateway session: what was dispatched to it, for whoever resumes."""

    id: str
    intents: int
    sequence: int = 0
    history: deque[tuple[int, Json]] = field(default_factory=lambda: deque(maxlen=5000))
    send: Callable[[Json], None] | None = None


@dataclass(slots=True, kw_only=True)
class World(Platform):
    """The state of one bot and its chats."""

    token: str
    now: Callable[[], float]
    heartbeat_ms: int
    real_limits: bool
    allowed_intents: int
    messages: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    nonces: dict[tuple[str, str], Json] = field(default_factory=dict[tuple[str, str], Json])
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    reactions: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    typing: list[str] = field(default_factory=list[str])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    commands: list[Json] = field(default_factory=list[Json])
    calls: list[Call] = field(default_factory=list[Call])
    faults: list[Fault] = field(default_factory=list[Fault])
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    closes: list[int | None] = field(default_factory=list[int | None])
    opened: list[Json] = field(default_factory=list[Json])
    pace: dict[str, deque[float]] = field(default_factory=dict[str, deque[float]])
    gone: set[str] = field(default_factory=set[str])
    early: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    acknowledges: bool = True
    lines: dict[object, Callable[[Json | int], None]] = field(
        default_factory=dict[object, Callable[[Json | int], None]]
    )
    address: str = ""
    _ids: "count[int]" = field(default_factory=count)

    @property
    def gateway(self) -> str:
        """The gateway's address."""
        return f"{self.address.replace('http://', 'ws://')}/gateway"

    def snowflake(self) -> str:
        """An id of now."""
        milliseconds = int(self.now() * 1000) - EPOCH_MS
        return str((milliseconds << 22) + next(self._ids))

    def instant(self) -> str:
        """Now, as Discord writes it."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat()

    def me(self) -> Json:
        """The bot as a user."""
        return {
            "id": BOT,
            "username": "fermix",
            "discriminator": "0001",
            "global_name": None,
            "avatar": None,
            "bot": True,
        }

    def keep(self, message: Json) -> Json:
        """Put a message into its chat."""
        self.messages.setdefault(message["channel_id"], {})[message["id"]] = message
        return message

    def dispatch(self, event: str, data: Any) -> None:
        """To the newest session, and into its history."""
        if not self.sessions:
            return
        session = list(self.sessions.values())[-1]
        session.sequence += 1
        frame: Json = {"op": 0, "t": event, "s": session.sequence, "d": _told(data)}
        session.history.append((session.sequence, frame))
        if session.send is not None:
            session.send(frame)

    def happen(self, event: str, data: Any, *, is_kept: bool) -> bool:
        """Dispatch an event, or hold it until the first session; whether it was held.

        Before the first session only what history keeps can ever be seen: whoever does anything else waits until
        the bot is there, and so does everybody after them.
        """
        if not self.sessions and (self.early or not is_kept):
            self.early.append((event, copy(data)))
            return True
        self.dispatch(event, data)
        return False

    def begin(self) -> None:
        """The first session is there: what was held happens."""
        held, self.early = self.early, []
        for event, data in held:
            self.dispatch(event, data)

    def take_fault(self, name: str) -> Fault | None:
        """The fault that meets this call, used up by one."""
        for fault in self.faults:
            if fault.left > 0 and fault.name == name:
                fault.left -= 1
                return fault
        return None

    def shown(self) -> list[Shown]:
        """What the bot has written, as it reads now, in the order it was sent."""
        every = [one for chat in self.messages.values() for one in chat.values()]
        ours = [one for one in every if one["author"]["id"] == BOT and one["type"] in {0, 19}]
        return [self._shown(one) for one in sorted(ours, key=lambda one: int(one["id"]))]

    def _shown(self, message: Json) -> Shown:
        rows = message.get("components") or []
        return Shown(
            id=message["id"],
            chat=message["channel_id"],
            text=message["content"],
            reply_to=(message.get("message_reference") or {}).get("message_id"),
            pings=message.get("_pings", False),
            previews=not message.get("flags", 0) & 4,
            buttons=tuple(each["custom_id"] for row in rows for each in row["components"]),
            files=tuple((each["filename"], self.files[each["id"]][0]) for each in message["attachments"]),
            edits=message.get("_edits", 0),
        )


def _told(data: Any) -> Any:
    """As the gateway tells it: as it is now, and without our own notes."""
    if not isinstance(data, dict):
        return data
    return {name: value for name, value in data.items() if not str(name).startswith("_")}
