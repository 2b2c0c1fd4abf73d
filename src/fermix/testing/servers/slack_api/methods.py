"""The Web API's methods: the documented parameters and limits, and Slack's codes for what breaks them.

In one place this server is stricter than Slack: a text that calls somebody (`<!channel>`, `<@U…>`) is refused, for
no text of an agent's may.
"""

import re
from collections.abc import Mapping
from typing import Any

from fermix.testing.servers.slack_api.world import File, Sent, World

MAX_TEXT = 40_000
"""Characters of the longest text; Slack cuts what is longer, and this server refuses it."""

OPENS_LINES = "apps.connections.open"
CALLS_SOMEBODY = "somebody_is_called"
"""The code of the refusal that Slack has not."""

_TS = re.compile(r"\d{10}\.\d{6}")
_PING = re.compile(r"<(?!https?://|mailto:)[^>]*>")


class SlackError(Exception):
    """The call is answered with an error code; with status 200 unless Slack has another for it."""

    def __init__(self, code: str, *, status: int = 200, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.code, self.status, self.retry_after = code, status, retry_after


def run(world: World, method: str, given: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The answer of a method, without its `ok`."""
    if method not in _METHODS:
        raise SlackError("unknown_method")
    return _METHODS[method](world, given, host)


def _text(given: Mapping[str, Any], name: str = "text") -> str:
    text = given.get(name)
    if not isinstance(text, str) or not text.strip():
        raise SlackError("no_text")
    if len(text) > MAX_TEXT:
        raise SlackError("msg_too_long")
    if _PING.search(text):
        raise SlackError(CALLS_SOMEBODY)
    return text


def _channel(given: Mapping[str, Any], name: str = "channel") -> str:
    channel = given.get(name)
    if not isinstance(channel, str) or not re.fullmatch(r"[CDG][A-Z0-9]+", channel):
        raise SlackError("channel_not_found")
    if channel.endswith("ARCHIVED"):
        raise SlackError("is_archived")
    return channel


def _thread(given: Mapping[str, Any]) -> str | None:
    thread = given.get("thread_ts")
    if thread is not None and not _TS.fullmatch(str(thread)):
        raise SlackError("invalid_thread_ts")
    return thread


def _auth(world: World, _given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    return {
        "url": "https://acme.slack.com/",
        "team": "Acme",
        "user": "fermix",
        "team_id": "T0ACME",
        "user_id": world.bot_user,
        "bot_id": world.bot,
        "is_enterprise_install": False,
    }


def _post(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    channel, text, thread = _channel(given), _text(given), _thread(given)
    with world.changed:
        ts = world.new_ts()
        world.sent.append(Sent(ts=ts, channel=channel, text=text, thread=thread, parameters=dict(given)))
        world.changed.notify_all()
    return {"channel": channel, "ts": ts, "message": {"text": text, "ts": ts, "bot_id": world.bot}}


def _message(world: World, given: Mapping[str, Any]) -> Sent:
    found = [
        each
        for each in world.sent
        if (each.channel, each.ts) == (given.get("channel"), given.get("ts")) and not each.gone
    ]
    if not found:
        raise SlackError("message_not_found")
    return found[0]


def _update(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    with world.changed:
        message = _message(world, given)
        message.text = _text(given)
        world.changed.notify_all()
    return {"channel": message.channel, "ts": message.ts, "text": message.text}


def _delete(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    with world.changed:
        message = _message(world, given)
        message.gone = True
        world.changed.notify_all()
    return {"channel": message.channel, "ts": message.ts}


def _place(world: World, given: Mapping[str, Any]) -> tuple[str, str, str]:
    name = given.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_+'-]{1,100}", name):
        raise SlackError("invalid_name")
    place = (_channel(given), str(given.get("timestamp")))
    if place not in world.known:
        raise SlackError("message_not_found")
    return *place, name


def _react(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    with world.changed:
        channel, ts, name = _place(world, given)
        there = world.reactions.setdefault((channel, ts), [])
        if name in there:
            raise SlackError("already_reacted")
        there.append(name)
        world.changed.notify_all()
    return {}


def _take_off(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    with world.changed:
        channel, ts, name = _place(world, given)
        there = world.reactions.get((channel, ts), [])
        if name not in there:
            raise SlackError("no_reaction")
        there.remove(name)
        world.changed.notify_all()
    return {}


def _upload_url(world: World, given: Mapping[str, Any], host: str) -> dict[str, Any]:
    length = str(given.get("length", ""))
    if not given.get("filename") or not length.isdigit() or int(length) < 1:
        raise SlackError("invalid_arguments")
    file = world.store(b"", str(given["filename"]), declared=int(length), uploaded=False)
    return {"upload_url": f"http://{host}/upload/{file}", "file_id": file}


def _complete(world: World, given: Mapping[str, Any], _host: str) -> dict[str, Any]:
    channel, thread = _channel(given, "channel_id"), _thread(given)
    files = given.get("files")
    if not isinstance(files, list) or len(files) != 1:
        raise SlackError("invalid_arguments")
    stored = world.files.get(files[0].get("id"))
    if stored is None or not stored.uploaded:
        raise SlackError("file_not_found")
    caption = _text(given, "initial_comment") if "initial_comment" in given else ""
    with world.changed:
        sent = Sent(
            ts=world.new_ts(),
            channel=channel,
            text=caption,
            thread=thread,
            parameters=dict(given),
            file=stored,
        )
        world.sent.append(sent)
        world.changed.notify_all()
    return {"files": [{"id": files[0]["id"], "title": files[0].get("title")}]}


def _info(world: World, given: Mapping[str, Any], host: str) -> dict[str, Any]:
    name = str(given.get("file"))
    file = world.files.get(name)
    if file is None:
        raise SlackError("file_not_found")
    return {"file": {"id": name, **described(file, name, host)}}


def _open_line(world: World, _given: Mapping[str, Any], host: str) -> dict[str, Any]:
    if world.refuses_lines is not None:
        raise SlackError(world.refuses_lines)
    return {"url": f"ws://{host}/link/?ticket={world.opened + 1}"}


def described(file: File, name: str, host: str) -> dict[str, Any]:
    """What Slack tells of a file."""
    url = file.url or f"http://{host}/files-pri/{name}/{file.name}"
    return {
        "id": name,
        "name": file.name,
        "mimetype": file.mime_type,
        "size": len(file.data) if file.declared is None else file.declared,
        "mode": "external" if file.external else "hosted",
        "is_external": file.external,
        "url_private": url,
        "url_private_download": url,
    }


_METHODS = {
    "auth.test": _auth,
    "chat.postMessage": _post,
    "chat.update": _update,
    "chat.delete": _delete,
    "reactions.add": _react,
    "reactions.remove": _take_off,
    "files.getUploadURLExternal": _upload_url,
    "files.completeUploadExternal": _complete,
    "files.info": _info,
    OPENS_LINES: _open_line,
}
