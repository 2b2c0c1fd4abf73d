"""The REST API. Sources: https://discord.com/developers/docs/reference and the pages of each resource."""

import asyncio
import math
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import orjson
from aiohttp import BodyPartReader, web

from tests.servers.discord_api.places import channel
from tests.servers.discord_api.world import APPLICATION, BOT, Call, Fault, Json, World

MAX_TEXT = 2000
MAX_NONCE = 25
MAX_UPLOAD = 10 * 1024 * 1024
PACE_MESSAGES, PACE_SECONDS = 5, 5.0


class Refused(Exception):
    """The call is answered with an error."""

    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "code": code, **more}


def too_fast(seconds: float) -> Refused:
    return Refused(429, 0, "You are being rate limited.", retry_after=seconds, **{"global": False})


def bad_form(field: str, why: str) -> Refused:
    return Refused(
        400, 50035, "Invalid Form Body", errors={field: {"_errors": [{"code": "BAD", "message": why}]}}
    )


def name_of(method: str, parts: list[str]) -> str:
    """A call as tests name it: the method and the last word of its path."""
    if "reactions" in parts:
        return f"{method} reactions"
    words = [part for part in parts if not part.isdigit() and part not in {"@me", "@original"}]
    if parts[:1] == ["interactions"]:
        return f"{method} interactions"
    return f"{method} {words[-1] if words else ''}"


class RestSide:
    """Answers calls about one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path.removeprefix("/api/v10")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        name = name_of(request.method, parts)
        body, files = await self._body(request)
        with self._world.changed:
            fault = self._world.take_fault(name)
            self._world.changed.notify_all()
        if fault is not None and fault.drop == "before":
            return self._drop(request, name, path, body)
        try:
            answer = self._fail(fault) if fault is not None else None
            if answer is None:
                self._authorise(request, parts)
                with self._world.changed:
                    answer = self._do(request, parts, body, files)
            status, headers = 200, self._pace_headers(name, parts)
        except Refused as exc:
            status, answer, headers = exc.status, exc.body, {}
            if status == 429:
                headers = {"Retry-After": str(exc.body["retry_after"]), "Via": "1.1 google"}
        if fault is not None and fault.hang:
            await self._hang(request)
        if fault is not None and fault.drop == "after":
            return self._drop(request, name, path, body)
        self._record(name, path, body, status)
        if answer is None:
            return web.Response(status=204)
        text = fault.body.encode() if fault is not None and fault.body is not None else orjson.dumps(answer)
        # Discord says no charset, and its library reads only exactly this as JSON.
        return web.Response(body=text, status=status, headers={**headers, "Content-Type": "application/json"})

    async def _body(self, request: web.Request) -> tuple[Any, list[tuple[str, bytes]]]:
        if not request.can_read_body:
            return {}, []
        if not request.content_type.startswith("multipart/"):
            raw = await request.read()
            return (orjson.loads(raw) if raw else {}), []
        body, files = {}, list[tuple[str, bytes]]()
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            if part.name == "payload_json":
                body = orjson.loads(await part.read())
            else:
                files.append((part.filename or "", bytes(await part.read())))
        return body, files

    def _authorise(self, request: web.Request, parts: list[str]) -> None:
        if parts[0] == "interactions":
            return
        if request.headers.get("Authorization") != f"Bot {self._world.token}":
            raise Refused(401, 0, "401: Unauthorized")

    def _fail(self, fault: Fault) -> Any:
        if fault.retry_after is not None:
            raise too_fast(fault.retry_after)
        if fault.status is not None:
            raise Refused(fault.status, fault.code, "refused by the test")
        return None

    async def _hang(self, request: web.Request) -> None:
        """Until the caller has gone; a transport tells nobody that it closes."""
        for _ in range(100_000):
            if self._world.closing or request.transport is None or request.transport.is_closing():
                return
            await asyncio.sleep(0.02)

    def _drop(self, request: web.Request, name: str, path: str, body: Any) -> web.StreamResponse:
        self._record(name, path, body, 0)
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=204)

    def _record(self, name: str, path: str, body: Any, status: int) -> None:
        with self._world.changed:
            self._world.calls.append(Call(name=name, path=path, body=body, status=status))
            self._world.changed.notify_all()

    def _do(self, request: web.Request, parts: list[str], body: Any, files: list[tuple[str, bytes]]) -> Any:
        match [request.method, *parts]:
            case ["GET", "users", "@me"]:
                return self._world.me()
            case ["GET", "gateway", "bot"]:
                limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
                return {"url": self._world.url, "shards": 1, "session_start_limit": limit}
            case ["GET", "applications", application, "commands"] if application == APPLICATION:
                return self._world.commands
            case ["PUT", "applications", application, "commands"] if application == APPLICATION:
                self._world.commands = [{**each, "id": self._world.snowflake()} for each in body]
                return self._world.commands
            case ["POST", "interactions", interaction, _key, "callback"]:
                return self._answered(interaction, body)
            case [_, "channels", chat, *rest]:
                if chat in self._world.gone:
                    raise Refused(404, 10003, "Unknown Channel")
                return self._in_channel(request, chat, rest, body, files)
        raise Refused(404, 0, "404: Not Found")

    def _answered(self, interaction: str, body: Json) -> None:
        if interaction not in self._world.answers:
            raise Refused(404, 10062, "Unknown interaction")
        if self._world.answers[interaction]:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        self._world.answers[interaction] = body

    def _in_channel(
        self, request: web.Request, chat: str, rest: list[str], body: Json, files: list[tuple[str, bytes]]
    ) -> Any:
        match [request.method, *rest]:
            case ["GET"]:
                return channel(chat)
            case ["POST", "typing"]:
                self._world.typing.append(chat)
                return None
            case ["POST", "messages"]:
                return self._post(chat, body, files)
            case ["GET", "messages"]:
                return self._history(chat, request.query)
            case [method, "messages", number, *more]:
                return self._on_message(method, chat, self._message(chat, number), more, body)
        raise Refused(404, 0, "404: Not Found")

    def _message(self, chat: str, number: str) -> Json:
        found = self._world.messages.get(chat, {}).get(number)
        if found is None:
            raise Refused(404, 10008, "Unknown Message")
        return found

    def _on_message(self, method: str, chat: str, message: Json, rest: list[str], body: Json) -> Any:
        match [method, *rest]:
            case ["GET"]:
                ours = [emoji for place, number, emoji in self._world.reactions if number == message["id"]]
                reactions = [{"emoji": {"id": None, "name": each}, "count": 1, "me": True} for each in ours]
                return {**_public(message), "reactions": reactions}
            case ["PATCH"]:
                if message["author"]["id"] != BOT:
                    raise Refused(403, 50005, "Cannot edit a message authored by another user")
                self._check({**message, **body}, bool(message["attachments"]))
                message.update({name: body[name] for name in ("content", "components") if name in body})
                message["_edits"] = message.get("_edits", 0) + 1
                message["_pings"] = message.get("_pings", False) or _pings(body)
                message["edited_timestamp"] = self._world.instant()
                return _public(message)
            case ["DELETE"]:
                del self._world.messages[chat][message["id"]]
                return None
            case ["PUT", "reactions", emoji, "@me"]:
                if emoji.isascii():
                    raise Refused(400, 10014, "Unknown Emoji")
                if (chat, message["id"], emoji) not in self._world.reactions:
                    self._world.reactions.append((chat, message["id"], emoji))
                return None
            case ["DELETE", "reactions", emoji, "@me"]:
                entry = (chat, message["id"], emoji)
                if entry in self._world.reactions:
                    self._world.reactions.remove(entry)
                return None
        raise Refused(404, 0, "404: Not Found")

    def _post(self, chat: str, body: Json, files: list[tuple[str, bytes]]) -> Json:
        self._check(body, bool(files))
        if any(len(data) > MAX_UPLOAD for _name, data in files):
            raise Refused(413, 40005, "Request entity too large")
        nonce = body.get("nonce")
        if nonce is not None and (not isinstance(nonce, str) or len(nonce) > MAX_NONCE):
            raise bad_form("nonce", f"Must be {MAX_NONCE} or fewer in length.")
        if nonce and body.get("enforce_nonce") and (chat, nonce) in self._world.nonces:
            return _public(self._world.nonces[chat, nonce])
        self._keep_pace(chat)
        message = self._written(chat, body, files)
        if nonce:
            self._world.nonces[chat, nonce] = message
        return _public(self._world.keep(message))

    def _written(self, chat: str, body: Json, files: list[tuple[str, bytes]]) -> Json:
        reference = body.get("message_reference")
        known = reference and reference.get("message_id") in self._world.messages.get(chat, {})
        if reference and not known and reference.get("fail_if_not_exists", True):
            raise bad_form("message_reference", "Unknown message")
        return {
            "id": self._world.snowflake(),
            "type": 19 if known else 0,
            "channel_id": chat,
            "author": self._world.me(),
            "content": body.get("content") or "",
            "timestamp": self._world.instant(),
            "edited_timestamp": None,
            "mentions": [],
            "attachments": [self._attached(chat, name, data) for name, data in files],
            "components": body.get("components") or [],
            "flags": body.get("flags", 0),
            "message_reference": reference if known else None,
            "_pings": _pings(body),
        }

    def _attached(self, chat: str, name: str, data: bytes) -> Json:
        number = self._world.snowflake()
        self._world.files[number] = (data, "application/octet-stream")
        url = f"{self._world.url.replace('ws://', 'http://')}/attachments/{chat}/{number}/{name}"
        return {"id": number, "filename": name, "size": len(data), "url": url}

    def _check(self, body: Mapping[str, Any], has_files: bool) -> None:
        content = body.get("content") or ""
        if len(content) > MAX_TEXT:
            raise bad_form("content", f"Must be {MAX_TEXT} or fewer in length.")
        if not content.strip() and not has_files and not body.get("components"):
            raise Refused(400, 50006, "Cannot send an empty message")
        for row in body.get("components") or []:
            if row.get("type") != 1 or len(row["components"]) > 5:
                raise bad_form("components", "a row of buttons")
            if any(len(each["custom_id"]) > 100 or len(each["label"]) > 80 for each in row["components"]):
                raise bad_form("components", "too long")

    def _keep_pace(self, chat: str) -> None:
        if not self._world.real_limits:
            return
        times = self._world.pace.setdefault(chat, deque())
        while times and self._world.now() - times[0] >= PACE_SECONDS:
            times.popleft()
        if len(times) >= PACE_MESSAGES:
            raise too_fast(round(PACE_SECONDS - (self._world.now() - times[0]), 3))
        times.append(self._world.now())

    def _pace_headers(self, name: str, parts: list[str]) -> Mapping[str, str]:
        times = self._world.pace.get(parts[1]) if name == "POST messages" and len(parts) > 1 else None
        if not self._world.real_limits or not times:
            return {}
        after = max(PACE_SECONDS - (self._world.now() - times[0]), 0.0)
        return {
            "X-RateLimit-Limit": str(PACE_MESSAGES),
            "X-RateLimit-Remaining": str(PACE_MESSAGES - len(times)),
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Bucket": "messages",
        }

    def _history(self, chat: str, query: Mapping[str, str]) -> list[Json]:
        limit = int(query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise bad_form("limit", "int value should be between 1 and 100")
        after, before = int(query.get("after", 0)), float(query.get("before", math.inf))
        kept = [one for one in self._world.messages.get(chat, {}).values() if not one.get("_held")]
        every = sorted(kept, key=lambda one: int(one["id"]))
        found = [one for one in every if after < int(one["id"]) < before]
        chosen = found[:limit] if "after" in query else found[-limit:]
        return [_public(one) for one in reversed(chosen)]


def _public(message: Json) -> Json:
    """As REST shows a message: without what only the gateway tells."""
    hidden = {"guild_id", "member", "channel_type"}
    return {name: value for name, value in message.items() if name not in hidden and not name.startswith("_")}


def _pings(body: Mapping[str, Any]) -> bool:
    """Whether what it says may ping somebody."""
    allowed = body.get("allowed_mentions")
    return allowed is None or bool(allowed.get("parse") or allowed.get("users") or allowed.get("roles"))
