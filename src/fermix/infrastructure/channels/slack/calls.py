"""Whether a call has the shape that Slack documents, in all that the framework relies on: pure.

The framework takes that for granted; what is not so must be kept from it.
"""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Slack asks whether this is the right address; it wants to hear `challenge`."""

    challenge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Something happened."""

    body: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not what Slack sends: neither JSON nor a form, or a verification without its challenge."""


@dataclass(frozen=True, slots=True)
class Odd:
    """Something of Slack's with fields that are not of their types."""


Read: TypeAlias = Verification | Call | Malformed | Odd

_IDS = ("user", "channel", "team", "enterprise", "thread_ts")
_NESTED = ("event", "message", "previous_message", "item", "assistant_thread")
_DEEPEST = 8


def read_call(body: bytes, content_type: str) -> Read:
    """What a call is, judged by its body."""
    if content_type.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        return _form(body)
    try:
        text = body.decode()
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return Malformed()
    if not isinstance(payload, dict) or not text.startswith("{"):
        return Malformed()
    if payload.get("type") == "url_verification":
        challenge = payload.get("challenge")
        return Verification(challenge=challenge) if isinstance(challenge, str) else Malformed()
    return Call(body=text) if _is_event(payload) else Odd()


def _form(body: bytes) -> Read:
    try:
        text = body.decode()
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except ValueError:
        return Malformed()
    is_command = "command" in fields and "payload" not in text and not text.startswith("{")
    return Call(body=text) if is_command else Odd()


def _is_event(payload: dict[str, Any]) -> bool:
    event = payload.get("event")
    return (
        payload.get("type") == "event_callback"
        and isinstance(event, dict)
        and isinstance(event.get("type"), str)
        and not {"response_url", "response_urls", "view"} & payload.keys()
        and _is_shaped(payload)
        and _are_authorizations(payload.get("authorizations"))
    )


def _are_authorizations(value: object) -> bool:
    """The framework asks the first one whatever it asks the call itself."""
    if value is None:
        return True
    return isinstance(value, list) and all(
        isinstance(one, dict) and "authorizations" not in one and "view" not in one and _is_shaped(one)
        for one in value
    )


def _is_shaped(fields: dict[str, Any], depth: int = 0) -> bool:
    if depth > _DEEPEST or not all(_is_id(fields.get(name)) for name in _IDS):
        return False
    nested = [fields[name] for name in _NESTED if isinstance(fields.get(name), dict)]
    return all(_is_shaped(one, depth + 1) for one in nested)


def _is_id(value: object) -> bool:
    return value is None or isinstance(value, str | dict)
