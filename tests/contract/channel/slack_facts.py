"""What people and a broken Slack say in the suite: a message for each fact, and what Slack never sends."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fermix.domain.ids import PlatformMessageId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.testing.channel_conformance import PRIVATE, Fact
from fermix.testing.servers.slack_api.server import BOT, SlackServer

OLGA = "U0OWN"
BEN = "U0BEN"
DIRECT = "D0OWN"
ROOM = "C0A"
TOPIC = "1790000000.777777"

_IN_AN_EVENT: tuple[Mapping[str, Any], ...] = (
    {"type": None},
    {"type": {"a": PRIVATE}},
    {"type": PRIVATE},
    {"subtype": PRIVATE},
    {"subtype": {"a": PRIVATE}},
    {"user": 5},
    {"user": None},
    {"user": [PRIVATE]},
    {"user": {"id": {"a": PRIVATE}}},
    {"channel": None},
    {"channel": 7},
    {"channel": {"id": PRIVATE}},
    {"channel_type": {"a": PRIVATE}},
    {"ts": 1790000000.5},
    {"ts": None},
    {"ts": PRIVATE},
    {"ts": "99999999999999999.1"},
    {"text": 5},
    {"text": {"a": PRIVATE}},
    {"text": [PRIVATE]},
    {"thread_ts": {"a": PRIVATE}},
    {"thread_ts": PRIVATE},
    {"parent_user_id": {"a": PRIVATE}, "thread_ts": TOPIC},
    {"files": PRIVATE},
    {"files": [PRIVATE, None, {"id": 5}, {"id": "../../secret"}, {"id": "F1", "size": PRIVATE, "name": [1]}]},
    {"attachments": PRIVATE},
    {"attachments": [PRIVATE, {"is_share": True, "text": [PRIVATE], "ts": PRIVATE, "author_name": 5}]},
    {"user_profile": PRIVATE},
    {"user_profile": {"display_name": [PRIVATE]}},
    {"edited": PRIVATE},
    {"edited": {"ts": [PRIVATE]}},
    {"bot_id": {"a": PRIVATE}},
    {"team": 5},
    {"message": PRIVATE},
    {"message": {"message": {"user": 5, "channel": [PRIVATE]}}},
    {"subtype": "message_changed", "message": PRIVATE},
    {"subtype": "message_changed", "message": {"edited": {"ts": TOPIC}, "user": 5, "text": PRIVATE}},
    {"item": {"channel": 5}},
    {"assistant_thread": {"thread_ts": 5, "channel_id": PRIVATE}},
)
"""Laid over an event that is in order otherwise."""


def garbage(server: SlackServer) -> list[object]:
    """What Slack never sends."""
    event = server.event(PRIVATE)
    around: tuple[Mapping[str, Any], ...] = (
        {"event": PRIVATE},
        {"event": None},
        {"event": [PRIVATE]},
        {"type": PRIVATE},
        {"type": None},
        {"authorizations": PRIVATE},
        {"authorizations": [PRIVATE]},
        {"authorizations": [{"team": 5}]},
        {"authorizations": [{"authorizations": [PRIVATE]}]},
        {"team_id": {"a": PRIVATE}},
        {"response_urls": PRIVATE},
        {"view": {"app_installed_team_id": 5}},
        {"is_ext_shared_channel": True, "event": {**event, "team": [PRIVATE], "user_team": 5}},
    )
    events = [{**server.event(PRIVATE), **raw} for raw in _IN_AN_EVENT]
    return [
        PRIVATE,
        [PRIVATE],
        {},
        {"payload": PRIVATE},
        {"type": "url_verification", "challenge": {"a": PRIVATE}},
        *({**server.callback(event), **raw} for raw in around),
        *(server.callback(one) for one in events),
    ]


_Told = tuple[dict[str, Any], Mapping[str, object]]


def _refers(kind: ReferenceKind, **said: Any) -> Mapping[str, object]:
    return {"references": (Reference(kind=kind, **said),)}


def _instant(ts: str) -> datetime:
    return datetime.fromtimestamp(float(ts), UTC)


def _sender(server: SlackServer) -> _Told:
    told = {"sender.id": OLGA, "sender.name": "Olga", "sender.is_bot": False, "chat.kind": "direct"}
    return server.event("hello", user=OLGA, user_profile={"display_name": "Olga"}), told


def _bot(server: SlackServer) -> _Told:
    event = server.event("beep", channel=ROOM, subtype="bot_message", bot_id="B0OTHER", user=None)
    return event, {"sender.id": "B0OTHER", "sender.is_bot": True}


def _thread(server: SlackServer) -> _Told:
    told = {"thread.id": TOPIC, "chat.id": DIRECT, "chat.kind": "direct", "references": ()}
    return server.event("in a thread", thread_ts=TOPIC), told


def _reply(server: SlackServer) -> _Told:
    event = server.event("hear, hear", channel=ROOM, thread_ts=TOPIC, parent_user_id=BEN)
    return event, _refers(ReferenceKind.REPLY, message=PlatformMessageId(TOPIC), author=BEN)


def _ours(server: SlackServer) -> _Told:
    event = server.event("no", channel=ROOM, thread_ts=TOPIC, parent_user_id=BOT)
    return event, _refers(ReferenceKind.REPLY, message=PlatformMessageId(TOPIC), author=BOT, is_ours=True)


def _shared(**more: Any) -> dict[str, Any]:
    return {
        "author_name": "Ben",
        "text": "what Ben &amp; Bea said",
        "ts": TOPIC,
        "is_msg_unfurl": True,
        **more,
    }


def _quote(server: SlackServer) -> _Told:
    said = {"message": PlatformMessageId(TOPIC), "author": "Ben", "text": "what Ben & Bea said"}
    return server.event("who?", attachments=[_shared()]), _refers(ReferenceKind.QUOTE, **said)


def _forward(server: SlackServer) -> _Told:
    said = {"message": PlatformMessageId(TOPIC), "author": "Ben", "text": "what Ben & Bea said"}
    event = server.event("", attachments=[_shared(is_share=True)])
    return event, {**_refers(ReferenceKind.FORWARD, **said), "text": ""}


def _edit(server: SlackServer) -> _Told:
    before = server.event("helo")
    after = {**before, "text": "hello", "edited": {"user": OLGA, "ts": "1790000050.000000"}}
    event = server.event(
        None, subtype="message_changed", hidden=True, message=after, previous_message=before, user=None
    )
    told = {"edited_at": _instant("1790000050.000000"), "id": before["ts"], "text": "hello"}
    return event, {**told, "key": f"{DIRECT}:{before['ts']}"}


def _attachment(server: SlackServer) -> _Told:
    file = server.file(b"x" * 1234)
    paper = Attachment(
        kind=AttachmentKind.FILE,
        reference=file["id"],
        mime_type="application/pdf",
        size_bytes=1234,
        name="plan.pdf",
    )
    event = server.event("the plan", subtype="file_share", files=[file])
    return event, {"attachments": (paper,), "text": "the plan"}


def _mention(server: SlackServer) -> _Told:
    mention = Mention(id=BOT, start=0, end=6, is_us=True)
    event = server.event(f"<@{BOT}> 🎉 hello", channel=ROOM)
    told = {"mentions": (mention,), "mentions_detectable": True, "text": "🎉 hello", "chat.kind": "channel"}
    return event, {**told, "raw_text": f"@{BOT} 🎉 hello"}


def _time(server: SlackServer) -> _Told:
    event = server.event("then")
    return event, {"sent_at": _instant(event["ts"]), "edited_at": None}


SHOWS = {
    Fact.SENDER: _sender,
    Fact.BOT: _bot,
    Fact.THREAD: _thread,
    Fact.REPLY: _reply,
    Fact.OURS: _ours,
    Fact.QUOTE: _quote,
    Fact.FORWARD: _forward,
    Fact.EDIT: _edit,
    Fact.ATTACHMENT: _attachment,
    Fact.MENTION: _mention,
    Fact.TIME: _time,
}
