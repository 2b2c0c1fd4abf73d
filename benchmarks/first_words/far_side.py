"""A model that writes 29 characters, then one more, and a chat that knows when it first saw any of them."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchmarks.message_path.far_side import FarSide
from fermix.domain.streaming.draft import OPENS_AT

ANSWER = "The first words of some answers, and then all the others that follow."
BREATH_SECONDS = 0.05
"""Between the front of the answer and the character that opens a draft: time enough for the front to be read."""


@dataclass(slots=True)
class FirstWords(FarSide):
    """The two far sides of a message path; this model streams at its own pace.

    Attributes:
        written: when the model wrote the character that opens a draft.
        seen: the words that people saw first, and when.
        done: the whole answer stands in the chat.
    """

    written: float = 0.0
    seen: tuple[str, float] = ("", 0.0)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _message_id: int = 10_000

    async def stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of the Chat Completions wire after another."""
        try:
            while head := await _head(reader):
                await reader.readexactly(_length(head))
                await self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        writer.write(_piece({"content": ANSWER[: OPENS_AT - 1]}))
        await writer.drain()
        await asyncio.sleep(BREATH_SECONDS)
        self.written = time.perf_counter()
        writer.write(_piece({"content": ANSWER[OPENS_AT - 1 : OPENS_AT]}))
        await writer.drain()
        await asyncio.sleep(BREATH_SECONDS)
        writer.write(_piece({"content": ANSWER[OPENS_AT:]}) + _piece({}, finish="stop"))
        writer.write(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()

    async def chat(self, path: str, body: bytes) -> tuple[str, bytes]:
        """The Bot API, which takes what it is sent at once."""
        method = path.rpartition("/")[2].lower()
        if method not in {"sendmessage", "editmessagetext"}:
            return await self.bot_api(path, body)
        now, asked = time.perf_counter(), orjson.loads(body)
        if not self.seen[0]:
            self.seen = str(asked["text"]), now
        if asked["text"] == ANSWER:
            self.done.set()
        self._message_id += 1
        number = int(asked.get("message_id") or self._message_id)
        chat = {"id": int(asked["chat_id"]), "type": "private", "first_name": "Person"}
        result: dict[str, Any] = {"message_id": number, "date": 1_800_000_000, "chat": chat, "text": "…"}
        return "application/json", orjson.dumps({"ok": True, "result": result})

    def begin(self) -> None:
        """Forget the answer before."""
        self.seen, self.done = ("", 0.0), asyncio.Event()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as exc:
        return exc.partial


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name.lower() == b"content-length"), 0)


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _piece(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
    return _chunk(b"data: " + orjson.dumps(told) + b"\n\n")
