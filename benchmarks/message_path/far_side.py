"""Both ends a gateway stands between: a Bot API that people write through, and a model that answers at once."""

import asyncio
import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson

TOKEN = "123456:BENCHMARK-token_of_no_bot_at_all_000"  # noqa: S105  # of no bot
FIRST_CHAT = 1000
_DATE = 1_800_000_000
_WORD = re.compile(r"zq\d+x\d+zq")


@dataclass(slots=True)
class FarSide:
    """What was written and what came back.

    Attributes:
        polled: when the gateway first asked for messages.
        delays: seconds from each message to its reply, in the order of the replies.
        wrong: replies that came twice, out of order, or to another chat.
    """

    polled: asyncio.Event = field(default_factory=asyncio.Event)
    delays: list[float] = field(default_factory=list[float])
    wrong: int = 0
    _updates: deque[dict[str, Any]] = field(default_factory=deque[dict[str, Any]])
    _update: int = 0
    _message: int = 0
    _written: dict[str, tuple[int, float, asyncio.Future[None]]] = field(
        default_factory=dict[str, tuple[int, float, asyncio.Future[None]]]
    )
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _count: int = 0

    def write(self, chat: int) -> asyncio.Future[None]:
        """Write a message in a chat; the future is done when its reply is there."""
        self._count += 1
        self._update += 1
        self._message += 1
        word = f"zq{chat}x{self._count}zq"
        replied = asyncio.get_running_loop().create_future()
        self._written[word] = (chat, time.perf_counter(), replied)
        person = {"id": chat, "is_bot": False, "first_name": "Person"}
        self._updates.append(
            {
                "update_id": self._update,
                "message": {
                    "message_id": self._message,
                    "date": _DATE,
                    "chat": {"id": chat, "type": "private", "first_name": "Person"},
                    "from": person,
                    "text": f"What about {word}?",
                },
            }
        )
        self._news.set()
        return replied

    async def model(self, _path: str, body: bytes) -> tuple[str, bytes]:
        """Answer with the last message's own word."""
        asked = orjson.loads(body)
        words = _WORD.findall(str(asked["messages"][-1]["content"]))
        text = f"About {words[-1] if words else 'nothing'}: yes."
        if not asked.get("stream"):
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            return "application/json", orjson.dumps(
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "quick-1",
                    "choices": [choice],
                }
            )
        events: tuple[tuple[dict[str, str], str | None], ...] = ({"content": text}, None), ({}, "stop")
        stream = b"".join(
            b"data: "
            + orjson.dumps(
                {
                    "id": "c",
                    "object": "chat.completion.chunk",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
                }
            )
            + b"\n\n"
            for delta, finish in events
        )
        return "text/event-stream", stream + b"data: [DONE]\n\n"

    async def bot_api(self, path: str, body: bytes) -> tuple[str, bytes]:
        """The few methods that a text gateway calls; what it does not know succeeds."""
        method = path.rpartition("/")[2].lower()
        asked: dict[str, Any] = orjson.loads(body) if body[:1] == b"{" else dict(parse_qsl(body.decode()))
        match method:
            case "getme":
                result: object = {"id": 123456, "is_bot": True, "first_name": "Bot", "username": "bench_bot"}
            case "getupdates":
                result = await self._poll(int(asked.get("offset") or 0), float(asked.get("timeout") or 0))
            case "sendmessage":
                result = self._take(int(asked["chat_id"]), str(asked["text"]))
            case _:
                result = True
        return "application/json", orjson.dumps({"ok": True, "result": result})

    async def _poll(self, offset: int, seconds: float) -> list[dict[str, Any]]:
        self.polled.set()
        while self._updates and self._updates[0]["update_id"] < offset:
            self._updates.popleft()
        if not self._updates and seconds:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), seconds)
            except TimeoutError:
                return []
        return [update for update, _ in zip(self._updates, range(100), strict=False)]

    def _take(self, chat: int, text: str) -> dict[str, Any]:
        self._message += 1
        found = _WORD.search(text)
        written = self._written.pop(found[0], None) if found else None
        if written is None or written[0] != chat:
            self.wrong += 1
        else:
            self.delays.append(time.perf_counter() - written[1])
            written[2].set_result(None)
        return {
            "message_id": self._message,
            "date": _DATE,
            "chat": {"id": chat, "type": "private", "first_name": "Person"},
            "from": {"id": 123456, "is_bot": True, "first_name": "Bot"},
            "text": text,
        }
