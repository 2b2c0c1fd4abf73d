"""The lines of Socket Mode: where they are opened, and what a test says over them."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from aiohttp import WSMsgType, web

APP_TOKEN = "xapp-1-A0FERMIX-test-of-nobody"


class Lines:
    """A server for the calls that open a line, and for lines; made for one event loop."""

    def __init__(self) -> None:
        self.opened = 0
        self.acknowledged: list[str] = []
        self.refusal: str | None = None
        self.root = ""
        self._line: web.WebSocketResponse | None = None
        self._changed = anyio.Event()

    async def says(self, kind: str, **fields: Any) -> None:
        """Send an envelope over the line that is open."""
        assert self._line is not None
        await self._line.send_str(json.dumps({"type": kind, **fields}))

    async def says_text(self, text: str) -> None:
        assert self._line is not None
        await self._line.send_str(text)

    async def breaks(self) -> None:
        """Cut the line without a word."""
        assert self._line is not None
        transport = self._line.get_extra_info("socket")
        assert transport is not None
        await self._line.close(code=1011)

    async def until_opened(self, count: int) -> None:
        while self.opened < count:
            await self._changed.wait()

    async def until_acknowledged(self, count: int) -> list[str]:
        while len(self.acknowledged) < count:
            await self._changed.wait()
        return self.acknowledged

    async def _answer(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        token = request.headers.get("Authorization", "")
        if method == "auth.test":
            return web.json_response({"ok": True, "user_id": "U0BOT", "bot_id": "B0SELF"})
        if method != "apps.connections.open" or token != f"Bearer {APP_TOKEN}" or self.refusal:
            return web.json_response({"ok": False, "error": self.refusal or "not_allowed_token_type"})
        return web.json_response({"ok": True, "url": f"{self.root.replace('http', 'ws')}/link?ticket=1"})

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        self._line = line
        await line.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        self.opened += 1
        self._change()
        async for message in line:
            if message.type is WSMsgType.TEXT:
                self.acknowledged.append(json.loads(message.data)["envelope_id"])
                self._change()
        return line

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


@asynccontextmanager
async def lines() -> AsyncGenerator[Lines]:
    """Serve on the loopback interface until left."""
    served = Lines()
    app = web.Application()
    app.router.add_post("/api/{method}", served._answer)
    app.router.add_get("/api/link", served._link)
    app.router.add_get("/link", served._link)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    served.root = f"http://127.0.0.1:{port}"
    try:
        yield served
    finally:
        await runner.cleanup()
