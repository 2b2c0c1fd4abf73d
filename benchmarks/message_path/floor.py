"""The least a durable gateway can do: poll, commit, ask the model, reply, commit.

`floor.py API_ROOT MODEL_ROOT FILE`. First in, first out in each chat; sockets instead of client
libraries; nothing is ever recovered.
"""

import asyncio
import json
import sqlite3
import sys
from collections import deque
from typing import Any
from urllib.parse import urlsplit


class Client:
    """Keep-alive connections to one server."""

    def __init__(self, root: str) -> None:
        address = urlsplit(root)
        self._host, self._port, self._path = address.hostname, address.port, address.path
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to a JSON document, as one."""
        reader, writer = (
            self._free.pop() if self._free else await asyncio.open_connection(self._host, self._port)
        )
        data = json.dumps(body).encode()
        writer.write(
            f"POST {self._path}{path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"
        )
        answer = json.loads(await reader.readexactly(length))
        self._free.append((reader, writer))
        return answer


class Floor:
    """One queue and one worker for each chat."""

    def __init__(self, api: str, model: str, file: str) -> None:
        self._api, self._model = Client(api), Client(model)
        self._store = sqlite3.connect(file, isolation_level=None)
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute("PRAGMA synchronous=FULL")
        self._store.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, chat, text, done DEFAULT 0)")
        self._waiting: dict[int, deque[tuple[int, str]]] = {}
        self._workers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Poll for ever."""
        offset = 0
        while True:
            updates = await self._api.post("/getUpdates", {"offset": offset, "timeout": 25})
            for update in updates["result"]:
                offset = update["update_id"] + 1
                chat, text = update["message"]["chat"]["id"], update["message"]["text"]
                row = self._store.execute(
                    "INSERT INTO messages(chat, text) VALUES(?, ?)", (chat, text)
                ).lastrowid
                assert row is not None
                queue = self._waiting.setdefault(chat, deque())
                queue.append((row, text))
                if len(queue) == 1:
                    worker = asyncio.create_task(self._serve(chat, queue))
                    self._workers.add(worker)
                    worker.add_done_callback(self._workers.discard)

    async def _serve(self, chat: int, queue: deque[tuple[int, str]]) -> None:
        while queue:
            row, text = queue[0]
            answer = await self._model.post(
                "/chat/completions", {"model": "quick-1", "messages": [{"role": "user", "content": text}]}
            )
            said = answer["choices"][0]["message"]["content"]
            await self._api.post("/sendMessage", {"chat_id": chat, "text": said})
            self._store.execute("UPDATE messages SET done=1 WHERE id=?", (row,))
            queue.popleft()


if __name__ == "__main__":
    asyncio.run(Floor(*sys.argv[1:]).run())
