"""How far each known chat was read, as one text that is committed with what was read: pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

MAX_CHATS = 100
"""Chats that are known at most, those of the newest messages; each costs a call after a start."""

LONGEST_GAP = timedelta(hours=24)
"""What was written longer ago is not read after a start."""

_DISCORD_EPOCH_MS = 1_420_070_400_000
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where we are in a chat: the newest message that was taken, and the server the chat belongs to."""

    message: int
    guild: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """By chat id. Message ids grow with time, all over Discord."""

    chats: Mapping[str, Place] = field(default_factory=dict)

    def moved(self, chat: str, place: Place) -> "Places":
        """With a chat at that place, unless it was farther already."""
        old = self.chats.get(chat)
        if old is not None and old.message >= place.message:
            return self
        return _of({**self.chats, chat: place})

    def merged(self, other: "Places") -> "Places":
        """Each chat at the farther of its two places."""
        merged = self
        for chat, place in other.chats.items():
            merged = merged.moved(chat, place)
        return merged

    def without(self, chat: str) -> "Places":
        """As if the chat had never been known."""
        return _of({name: place for name, place in self.chats.items() if name != chat})

    @property
    def text(self) -> str:
        """What `read_places` reads."""
        chats = {name: [str(place.message), place.guild] for name, place in self.chats.items()}
        return orjson.dumps({"version": _VERSION, "chats": chats}).decode()


def _of(chats: Mapping[str, Place]) -> Places:
    newest = sorted(chats.items(), key=lambda item: item[1].message, reverse=True)[:MAX_CHATS]
    return Places(chats=dict(newest))


def read_places(text: str | None) -> Places:
    """The places in a cursor; none where it is of another form."""
    try:
        stored = orjson.loads(text or "null")
    except ValueError:
        stored = None
    chats = stored.get("chats") if isinstance(stored, dict) and stored.get("version") == _VERSION else None
    return _of(dict(_read(chats.items()))) if isinstance(chats, dict) else Places()


def _read(items: Iterable[tuple[str, object]]) -> Iterable[tuple[str, Place]]:
    for chat, stored in items:
        match stored:
            case [str(message), str() | None as guild] if message.isascii() and message.isdecimal():
                yield chat, Place(message=int(message), guild=guild)
            case _:
                continue


def first_id(instant: datetime) -> int:
    """The smallest id that something written at that time can have.

    https://discord.com/developers/docs/reference#snowflakes
    """
    milliseconds = int(instant.timestamp() * 1000) - _DISCORD_EPOCH_MS
    return max(milliseconds, 0) << 22
