"""Conversations and their queues as the JSON of the control socket. Pure; both sides of the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import (
    MAX_SESSIONS,
    QueueReport,
    Resolution,
    ResolveEnd,
    ResolveRequest,
    ResolveWork,
)
from fermix.application.ports.queue_listing import GoneChat, LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.ids import LaneId, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.protocol import MAX_NAME_CHARACTERS
from fermix.infrastructure.local_socket.wire import decode_moment

MAX_TURN = 2**63 - 1
"""The largest number the ledger can give a turn."""


def encode_sessions_limit(limit: int) -> dict[str, Any]:
    """The parameters of `sessions`."""
    return {"limit": limit}


def decode_sessions_limit(params: Mapping[str, Any]) -> int:
    """How many conversations are asked for.

    Raises:
        Malformed: no number from 1 to the most that are ever given.
    """
    limit = Fields(params, "request").whole("limit")
    if not 1 <= limit <= MAX_SESSIONS:
        raise Malformed(f"The request's `limit` must be from 1 to {MAX_SESSIONS}.")
    return limit


def encode_sessions(sessions: tuple[ConversationSummary, ...]) -> dict[str, Any]:
    """Conversations, in order."""
    return {
        "sessions": [
            {
                "lane": one.lane,
                "route": one.route.key,
                "window": one.window,
                "title": one.title,
                "waiting": one.waiting,
                "active": None if one.active is None else one.active.value,
                "last_at": _optional_time(one.last_at),
            }
            for one in sessions
        ]
    }


def decode_sessions(content: Mapping[str, Any]) -> tuple[ConversationSummary, ...]:
    """Conversations, in order.

    Raises:
        Malformed: a field is missing or of another type.
    """
    found = [Fields(one, "session") for one in Fields(content, "result").mappings("sessions")]
    return tuple(
        ConversationSummary(
            lane=LaneId(fields.whole("lane")),
            route=_route(fields, "route"),
            window=fields.whole("window"),
            title=fields.optional_text("title"),
            waiting=fields.whole("waiting"),
            active=fields.optional_choice("active", TurnState),
            last_at=_optional_moment(fields, "last_at"),
        )
        for fields in found
    )


def encode_queue(report: QueueReport) -> dict[str, Any]:
    """The queue and its time."""
    listing = report.listing
    return {
        "at": report.at.isoformat(),
        "turns": [_encode_turn(turn) for turn in listing.turns],
        "failed": [_encode_turn(turn) for turn in listing.failed],
        "replies": [
            {
                "target": one.target.key,
                "parts": one.parts,
                "oldest_at": one.oldest_at.isoformat(),
                "sending": one.sending,
                "retry_at": _optional_time(one.retry_at),
            }
            for one in listing.replies
        ],
        "gone": [
            {"chat": one.chat.key, "error": one.error, "since": one.since.isoformat()} for one in listing.gone
        ],
        "left_out": {
            "turns": listing.left_out.turns,
            "failed": listing.left_out.failed,
            "targets": listing.left_out.targets,
        },
    }


def decode_queue(content: Mapping[str, Any]) -> QueueReport:
    """The queue and its time.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "queue")
    left_out = Fields(fields.mapping("left_out"), "queue's left_out")
    listing = QueueListing(
        turns=tuple(_decode_turn(one) for one in fields.mappings("turns")),
        failed=tuple(_decode_turn(one) for one in fields.mappings("failed")),
        replies=tuple(_decode_replies(one) for one in fields.mappings("replies")),
        gone=tuple(_decode_gone(one) for one in fields.mappings("gone")),
        left_out=LeftOut(
            turns=left_out.whole("turns"),
            failed=left_out.whole("failed"),
            targets=left_out.whole("targets"),
        ),
    )
    return QueueReport(at=decode_moment(fields, "at"), listing=listing)


def encode_resolve(request: ResolveRequest) -> dict[str, Any]:
    """The parameters of `resolve`."""
    return {"request": request.request, "work": request.work.value, "turn": request.turn}


def decode_resolve(params: Mapping[str, Any]) -> ResolveRequest:
    """Which turn is to be discarded or retried.

    Raises:
        Malformed: a field is missing, of another type, or no turn could have that number.
    """
    fields = Fields(params, "request")
    turn = fields.optional_whole("turn")
    if turn is not None and not 1 <= turn <= MAX_TURN:
        raise Malformed("The request's `turn` must be the number of a turn.")
    request = fields.text("request", max_characters=MAX_NAME_CHARACTERS)
    if not request.strip():
        raise Malformed("The request's `request` must not be blank.")
    return ResolveRequest(
        request=request,
        work=fields.choice("work", ResolveWork),
        turn=None if turn is None else TurnId(turn),
    )


def encode_resolution(resolution: Resolution) -> dict[str, Any]:
    """What was done."""
    return {
        "end": resolution.end.value,
        "text": resolution.text,
        "turn": resolution.turn,
        "queued_as": resolution.queued_as,
    }


def decode_resolution(content: Mapping[str, Any]) -> Resolution:
    """What was done.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "result")
    turn, queued_as = fields.optional_whole("turn"), fields.optional_whole("queued_as")
    return Resolution(
        end=fields.choice("end", ResolveEnd),
        text=fields.text("text"),
        turn=None if turn is None else TurnId(turn),
        queued_as=None if queued_as is None else TurnId(queued_as),
    )


def _encode_turn(turn: ListedTurn) -> dict[str, Any]:
    return {
        "turn": turn.turn,
        "lane": turn.lane,
        "route": turn.route.key,
        "state": turn.state.value,
        "left_behind": turn.left_behind,
        "attempts": turn.attempts,
        "messages": turn.messages,
        "asked_at": turn.asked_at.isoformat(),
        "ended_at": _optional_time(turn.ended_at),
        "preview": turn.preview,
    }


def _decode_turn(content: Mapping[str, Any]) -> ListedTurn:
    fields = Fields(content, "turn")
    return ListedTurn(
        turn=TurnId(fields.whole("turn")),
        lane=LaneId(fields.whole("lane")),
        route=_route(fields, "route"),
        state=fields.choice("state", TurnState),
        left_behind=fields.flag("left_behind"),
        attempts=fields.whole("attempts"),
        messages=fields.whole("messages"),
        asked_at=decode_moment(fields, "asked_at"),
        ended_at=_optional_moment(fields, "ended_at"),
        preview=fields.text("preview"),
    )


def _decode_replies(content: Mapping[str, Any]) -> OpenReplies:
    fields = Fields(content, "reply")
    return OpenReplies(
        target=_route(fields, "target"),
        parts=fields.whole("parts"),
        oldest_at=decode_moment(fields, "oldest_at"),
        sending=fields.flag("sending"),
        retry_at=_optional_moment(fields, "retry_at"),
    )


def _decode_gone(content: Mapping[str, Any]) -> GoneChat:
    fields = Fields(content, "gone chat")
    return GoneChat(
        chat=_route(fields, "chat"), error=fields.text("error"), since=decode_moment(fields, "since")
    )


def _route(fields: Fields, name: str) -> Route:
    try:
        return Route.parse(fields.text(name))
    except ValueError:
        raise Malformed(f"The `{name}` is no route.") from None


def _optional_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _optional_moment(fields: Fields, name: str) -> datetime | None:
    return decode_moment(fields, name) if name in fields else None
