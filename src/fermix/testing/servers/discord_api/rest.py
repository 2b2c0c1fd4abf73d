"""The REST API. Sources: https://discord.com/developers/docs/reference and the pages of each resource."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
from typing_extensions import override

from fermix.testing.servers.discord_api.gateway import serve_line
from fermix.testing.servers.discord_api.places import channel
from fermix.testing.servers.discord_api.world import APPLICATION, BOT, Call, Fault, Json, World
from fermix.testing.servers.loopback import Endpoint, Request
from fermix.testing.servers.multipart import parts_of

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
    """A 429, with the seconds after which the call would be let through."""
    return Refused(429, 0, "You are being rate limited.", retry_after=seconds, **{"global": False})


def bad_form(field: str, why: str) -> Refused:
    """A 400 about one field of the body."""
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


class RestSide(Endpoint[World]):
    """Answers calls about one world, serves what hangs on messages, and takes connections to the gateway."""

    @override
    def serve(self, request: Request) -> None:
        if request.path.startswith("/gateway"):
            serve_line(self, request)
        elif request.path.startswith("/attachments/"):
            self._file(request)
        elif request.path.startswith("/api/v10/"):
            self._call(request, request.path.removeprefix("/api/v10"))
        else:
            self.reply(404, b"", "text/plain")

    def _file(self, request: Request) -> None:
        with self.world.changed:
            found = self.world.files.get(request.path.split("/")[3])
        if found is None or "authorization" in request.headers:
            self.reply(404, b"", "text/plain")
        else:
            self.reply(200, *found)

    def _call(self, request: Request, path: str) -> None:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        name = name_of(request.method, parts)
        body, files = _content(request)
        with self.world.changed:
            fault = self.world.take_fault(name)
            self.world.changed.notify_all()
        if fault is not None and fault.drop == "before":
            self._drop(name, path, body)
            return
        status, answer, headers = self._answered_with(request, name, parts, body, files, fault)
        if fault is not None and fault.hang:
            self._record(name, path, body, 0)
            self.hang(math.inf)
        if fault is not None and fault.drop == "after":
            self._drop(name, path, body)
            return
        self._record(name, path, body, status)
        if answer is None:
            self.head(204, {})
            return
        text = fault.body.encode() if fault is not None and fault.body is not None else orjson.dumps(answer)
        # Discord says no charset, and its library reads only exactly this as JSON.
        self.reply(status, text, "application/json", headers)

    def _answered_with(
        self,
        request: Request,
        name: str,
        parts: list[str],
        body: Any,
        files: list[tuple[str, bytes]],
        fault: Fault | None,
    ) -> tuple[int, Any, Mapping[str, str]]:
        try:
            if fault is not None:
                self._fail(fault)
            self._authorise(request, parts)
            with self.world.changed:
                answer = self._do(request, parts, body, files)
                return 200, answer, self._pace_headers(name, parts)
        except Refused as exc:
            if exc.status != 429:
                return exc.status, exc.body, {}
            return exc.status, exc.body, {"Retry-After": str(exc.body["retry_after"]), "Via": "1.1 google"}

    def _authorise(self, request: Request, parts: list[str]) -> None:
        if parts[0] == "interactions":
            return
        if request.headers.get("authorization") != f"Bot {self.world.token}":
            raise Refused(401, 0, "401: Unauthorized")

    def _fail(self, fault: Fault) -> None:
        if fault.retry_after is not None:
            raise too_fast(fault.retry_after)
        if fault.status is not None:
            raise Refused(fault.status, fault.code, "refused by the test")

    def _drop(self, name: str, path: str, body: Any) -> None:
        self._record(name, path, body, 0)
        self.cut()

    def _record(self, name: str, path: str, body: Any, status: int) -> None:
        with self.world.changed:
            self.world.calls.append(Call(name=name, path=path, body=body, status=status))
            self.world.changed.notify_all()

    def _do(self, request: Request, parts: list[str], body: Any, files: list[tuple[str, bytes]]) -> Any:
        match [request.method, *parts]:
            case ["GET", "users", "@me"]:
                return self.world.me()
            case ["GET", "gateway", "bot"]:
                limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
                return {"url": self.world.gateway, "shards": 1, "session_start_limit": limit}
            case ["GET", "applications", application, "commands"] if application == APPLICATION:
                return self.world.commands
            case ["PUT", "applications", application, "commands"] if application == APPLICATION:
                self.world.commands = [{**each, "id": self.world.snowflake()} for each in body]
                return self.world.commands
            case ["POST", "interactions", interaction, _key, "callback"]:
                return self._answered(interaction, body)
            case [_, "channels", chat, *rest]:
                if chat in self.world.gone:
                    raise Refused(404, 10003, "Unknown Channel")
                return self._in_channel(request, chat, rest, body, files)
        raise Refused(404, 0, "404: Not Found")

    def _answered(self, interaction: str, body: Json) -> None:
        if interaction not in self.world.answers:
            raise Refused(404, 10062, "Unknown interaction")
        if self.world.answers[interaction]:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        self.world.answers[interaction] = body

    def _in_channel(
        self, request: Request, chat: str, rest: list[str], body: Json, files: list[tuple[str, bytes]]
    ) -> Any:
        match [request.method, *rest]:
            case ["GET"]:
                return channel(chat)
            case ["POST", "typing"]:
                self.world.typing.append(chat)
                return None
            case ["POST", "messages"]:
                return self._post(chat, body, files)
            case ["GET", "messages"]:
                return self._history(chat, dict(parse_qsl(request.query)))
            case [method, "messages", number, *more]:
                return self._on_message(method, chat, self._message(chat, number), more, body)
        raise Refused(404, 0, "404: Not Found")

    def _message(self, chat: str, number: str) -> Json:
        found = self.world.messages.get(chat, {}).get(number)
        if found is None:
            raise Refused(404, 10008, "Unknown Message")
        return found

    def _on_message(self, method: str, chat: str, message: Json, rest: list[str], body: Json) -> Any:
        match [method, *rest]:
            case ["GET"]:
                ours = [emoji for place, number, emoji in self.world.reactions if number == message["id"]]
                reactions = [{"emoji": {"id": None, "name": each}, "count": 1, "me": True} for each in ours]
                return {**_public(message), "reactions": reactions}
            case ["PATCH"]:
                if message["author"]["id"] != BOT:
                    raise Refused(403, 50005, "Cannot edit a message authored by another user")
                self._check({**message, **body}, bool(message["attachments"]))
                message.update({name: body[name] for name in ("content", "components") if name in body})
                message["_edits"] = message.get("_edits", 0) + 1
                message["_pings"] = message.get("_pings", False) or _pings(body)
                message["edited_timestamp"] = self.world.instant()
                return _public(message)
            case ["DELETE"]:
                del self.world.messages[chat][message["id"]]
                return None
            case ["PUT", "reactions", emoji, "@me"]:
                if emoji.isascii():
                    raise Refused(400, 10014, "Unknown Emoji")
                if (chat, message["id"], emoji) not in self.world.reactions:
                    self.world.reactions.append((chat, message["id"], emoji))
                return None
            case ["DELETE", "reactions", emoji, "@me"]:
                entry = (chat, message["id"], emoji)
                if entry in self.world.reactions:
                    self.world.reactions.remove(entry)
                return None
        raise Refused(404, 0, "404: Not Found")

    def _post(self, chat: str, body: Json, files: list[tuple[str, bytes]]) -> Json:
        self._check(body, bool(files))
        if any(len(data) > MAX_UPLOAD for _name, data in files):
            raise Refused(413, 40005, "Request entity too large")
        nonce = body.get("nonce")
        if nonce is not None and (not isinstance(nonce, str) or len(nonce) > MAX_NONCE):
            raise bad_form("nonce", f"Must be {MAX_NONCE} or fewer in length.")
        if nonce and body.get("enforce_nonce") and (chat, nonce) in self.world.nonces:
            return _public(self.world.nonces[chat, nonce])
        self._keep_pace(chat)
        message = self._written(chat, body, files)
        if nonce:
            self.world.nonces[chat, nonce] = message
        return _public(self.world.keep(message))

    def _written(self, chat: str, body: Json, files: list[tuple[str, bytes]]) -> Json:
        reference = body.get("message_reference")
        known = reference and reference.get("message_id") in self.world.messages.get(chat, {})
        if reference and not known and reference.get("fail_if_not_exists", True):
            raise bad_form("message_reference", "Unknown message")
        return {
            "id": self.world.snowflake(),
            "type": 19 if known else 0,
            "channel_id": chat,
            "author": self.world.me(),
            "content": body.get("content") or "",
            "timestamp": self.world.instant(),
            "edited_timestamp": None,
            "mentions": [],
            "attachments": [self._attached(chat, name, data) for name, data in files],
            "components": body.get("components") or [],
            "flags": body.get("flags", 0),
            "message_reference": reference if known else None,
            "_pings": _pings(body),
        }

    def _attached(self, chat: str, name: str, data: bytes) -> Json:
        number = self.world.snowflake()
        self.world.files[number] = (data, "application/octet-stream")
        url = f"{self.world.address}/attachments/{chat}/{number}/{name}"
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
        if not self.world.real_limits:
            return
        times = self.world.pace.setdefault(chat, deque())
        while times and self.world.now() - times[0] >= PACE_SECONDS:
            times.popleft()
        if len(times) >= PACE_MESSAGES:
            raise too_fast(round(PACE_SECONDS - (self.world.now() - times[0]), 3))
        times.append(self.world.now())

    def _pace_headers(self, name: str, parts: list[str]) -> Mapping[str, str]:
        times = self.world.pace.get(parts[1]) if name == "POST messages" and len(parts) > 1 else None
        if not self.world.real_limits or not times:
            return {}
        after = max(PACE_SECONDS - (self.world.now() - times[0]), 0.0)
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
        kept = [one for one in self.world.messages.get(chat, {}).values() if not one.get("_held")]
        every = sorted(kept, key=lambda one: int(one["id"]))
        found = [one for one in every if after < int(one["id"]) < before]
        chosen = found[:limit] if "after" in query else found[-limit:]
        return [_public(one) for one in reversed(chosen)]


def _content(request: Request) -> tuple[Any, list[tuple[str, bytes]]]:
    """The JSON of a call, and the files beside it."""
    if not request.headers.get("content-type", "").startswith("multipart/"):
        return (orjson.loads(request.body) if request.body else {}), []
    body, files = {}, list[tuple[str, bytes]]()
    for part in parts_of(request.headers["content-type"], request.body):
        if part.name == "payload_json":
            body = orjson.loads(part.content)
        else:
            files.append((part.file_name or "", part.content))
    return body, files


def _public(message: Json) -> Json:
    """As REST shows a message: without what only the gateway tells."""
    hidden = {"guild_id", "member", "channel_type"}
    return {name: value for name, value in message.items() if name not in hidden and not name.startswith("_")}


def _pings(body: Mapping[str, Any]) -> bool:
    """Whether what it says may ping somebody."""
    allowed = body.get("allowed_mentions")
    return allowed is None or bool(allowed.get("parse") or allowed.get("users") or allowed.get("roles"))
