"""What tests read from the server: what a chat shows, what was called, and what is to go wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]

Drop: TypeAlias = Literal["before", "after", "half"]
"""Close the connection: before anything is done, after it is done, or with half of the answer sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """What hangs on a message of the bot; `kind` is called as its parameter is."""

    kind: str
    name: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One message of the bot as its chat shows it now, after cleaning and edits.

    Attributes:
        thread: the forum topic; `None` for General and for chats without topics.
        entities: in order of offset, in UTF-16 units of `text`.
        previews: whether links in it may show a preview.
        at: when it was sent, in seconds of `time.monotonic`.
        file: what hangs on it; `text` is its caption then.
    """

    message_id: int
    chat: int
    thread: int | None
    text: str
    entities: tuple[Json, ...]
    reply_to: int | None
    previews: bool
    edits: int
    at: float
    file: ShownFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, without the token; files are replaced by their sizes.

    Attributes:
        status: of the answer; 0 when the connection was dropped instead.
        description: Telegram's error text, empty when it went well.
        at: when it had arrived, in seconds of `time.monotonic`.
    """

    method: str
    parameters: Mapping[str, Any]
    status: int
    description: str
    at: float

    @property
    def chat(self) -> int | None:
        """The chat it was for, if it names one by number."""
        try:
            return int(self.parameters["chat_id"])
        except (KeyError, TypeError, ValueError):
            return None


DOWNLOAD = "download"
"""What faults call the fetching of a file, which is no method."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next calls of a method; see `TelegramServer.fault`."""

    method: str | None
    chat: int | None
    left: float
    status: int | None = None
    description: str | None = None
    retry_after: int | None = None
    body: str | None = None
    hang: float = 0.0
    drop: Drop | None = None

    def meets(self, method: str, chat: int | None) -> bool:
        """Whether it is for this call."""
        wanted = self.method is None or self.method.lower() == method.lower()
        return self.left > 0 and wanted and self.chat in {None, chat}
