"""Parley's lines and Fermix's values, one made of the other. Nothing here waits or knows a socket."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    OutgoingPart,
)
from fermix.domain.normalise import RawMessage

MAX_TEXT = 1000
"""Characters of the longest message that Parley takes."""

_END_OF_TIME = 2**37
"""Seconds; the year 6325, and safely before the last one that a date can hold."""

_REFUSALS = {
    "unknown_token": "Parley does not know the token: copy it again from the server",
    "too_long": "Parley finds the message too long",
    "not_wanted": "Parley does not take this message",
}


class NotUnderstood(Exception):
    """An answer that is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What an answer to `listen` brings.

    Attributes:
        messages: with the number of each, oldest first.
        unreadable: how many more there were that nobody can read.
        after: the number to listen behind, once all of them were taken.
    """

    messages: Sequence[tuple[int, RawMessage]]
    unreadable: int
    after: int


def listen_request(token: str, after: int | None) -> bytes:
    """Ask for messages behind a number, which acknowledges all up to it; `None`: behind what was acknowledged."""
    return _line({"token": token, "do": "listen", "after": after})


def say_request(token: str, part: OutgoingPart) -> bytes:
    """Say a part's words where it belongs."""
    target = part.target
    return _line(
        {"token": token, "do": "say", "room": target.chat, "topic": target.thread, "text": part.body.text}
    )


def read_heard(answer: bytes) -> Heard:
    """Read an answer to `listen`.

    Raises:
        ChannelError: Parley refused.
        NotUnderstood: it is none.
    """
    found = _answer(answer)
    entries, after = found.get("messages"), found.get("after")
    if not isinstance(entries, list) or not _is_number(after):
        raise NotUnderstood("Parley's answer lacks its messages")
    messages = [(number, raw) for entry in entries if (number := _number(entry)) and (raw := _message(entry))]
    return Heard(messages=messages, unreadable=len(entries) - len(messages), after=after)


def read_said(answer: bytes) -> str:
    """The id that a message of ours got.

    Raises:
        ChannelError: Parley refused.
        NotUnderstood: it is none.
    """
    number = _answer(answer).get("number")
    if not _is_number(number):
        raise NotUnderstood("Parley's answer names no message")
    return str(number)


def _answer(answer: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as exc:
        raise NotUnderstood("Parley's answer is no JSON") from exc.with_traceback(None)
    if not isinstance(found, dict):
        raise NotUnderstood("Parley's answer is no object")
    if "refused" in found:
        raise _refusal(found)
    return found


def _refusal(found: Mapping[str, Any]) -> ChannelError:
    reason, wait = found["refused"], found.get("wait")
    if reason == "too_fast" and _is_number(wait):
        return ChannelRateLimited("Parley asks to wait", retry_after=timedelta(seconds=wait))
    if reason == "no_such_room":
        return ChannelTargetGone("Parley has no such room any more")
    known = _REFUSALS.get(reason) if isinstance(reason, str) else None
    return ChannelRejected(known or "Parley refused it")


def _message(entry: Mapping[str, Any]) -> RawMessage | None:
    """Every fact of a message; what has a wrong type is for the gateway to leave out."""
    sender, room = entry.get("from"), entry.get("room")
    if not isinstance(sender, dict) or not isinstance(room, dict) or not isinstance(entry.get("text"), str):
        return None
    raw = RawMessage(
        id=str(entry["number"]),
        content=entry["text"],
        sender=sender.get("name", ""),
        sender_id=sender.get("nickname"),
        chat_id=room.get("id", ""),
        chat_kind="group" if room.get("title") else "direct",
        chat_title=room.get("title"),
        reply_target=room.get("id", ""),
        thread_ts=entry.get("topic"),
    )
    at, answers = entry.get("at"), entry.get("answers")
    if _is_number(at, below=_END_OF_TIME):
        raw["sent_at"] = datetime.fromtimestamp(at, UTC)
    if isinstance(answers, dict):
        raw["references"] = [
            {
                "kind": "reply",
                "message": str(answers.get("number")),
                "author": answers.get("name"),
                "text": answers.get("text"),
                "is_ours": answers.get("yours") is True,
            }
        ]
    return raw


def _number(entry: object) -> int | None:
    number = entry.get("number") if isinstance(entry, dict) else None
    return number if _is_number(number) else None


def _is_number(value: object, *, below: int = 2**53) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _line(request: Mapping[str, object]) -> bytes:
    return json.dumps(request).encode()
