"""Our parts as bodies of Discord's calls: pure. Nothing that leaves can ping anybody."""

import hashlib
import re
from collections.abc import Mapping, Sequence

from fermix.application.ports.channel import ChannelRejected
from fermix.domain.caps import CAPS
from fermix.domain.delivery import Choice
from fermix.domain.ids import ChannelName, PlatformMessageId
from fermix.domain.normalise import clean
from fermix.infrastructure.channels.discord.markdown import render

LIMITS = CAPS[ChannelName("discord")]
MAX_TEXT = LIMITS.max_text or 0

NOBODY: Mapping[str, object] = {"parse": [], "replied_user": False}
"""Whom a message may ping, whatever it says; https://discord.com/developers/docs/resources/message#allowed-mentions-object."""

SUPPRESS_EMBEDS = 4
"""The flag of a message whose links show no preview."""

_NUMBER = re.compile(r"[0-9]{1,20}")
_ROW = 1
_BUTTON = 2
_GREEN = 3


def words(text: str) -> str:
    """The agent's Markdown as it is sent; as it is written where its looks would make it too long."""
    shown = render(text)
    return shown if len(shown) <= MAX_TEXT else clean(text)


def enforced(nonce: str) -> str:
    """A nonce in the 25 characters that Discord allows, the same for the same part."""
    return hashlib.blake2b(nonce.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def message(text: str, *, choices: Sequence[Choice] = ()) -> dict[str, object]:
    """The body of a message."""
    body: dict[str, object] = {
        "content": words(text),
        "allowed_mentions": NOBODY,
        "flags": SUPPRESS_EMBEDS,
    }
    if choices:
        body["components"] = buttons(choices)
    return body


def once(nonce: str) -> Mapping[str, object]:
    """What makes a message that is sent twice within minutes one message."""
    return {"nonce": enforced(nonce), "enforce_nonce": True}


def in_answer_to(reply_to: PlatformMessageId | None) -> Mapping[str, object]:
    """What makes a message point at another one, which may be gone by now."""
    number = _NUMBER.fullmatch(reply_to or "")
    if number is None:
        return {}
    return {"message_reference": {"message_id": number[0], "fail_if_not_exists": False}}


def edit(text: str) -> dict[str, object]:
    """The body of a change of a message's text."""
    return {"content": words(text), "allowed_mentions": NOBODY}


def buttons(choices: Sequence[Choice]) -> list[dict[str, object]]:
    """Buttons under a message, side by side; at most five fit into a row."""
    made = [
        {"type": _BUTTON, "style": _GREEN, "label": choice.label[:80], "custom_id": f"confirm:{choice.token}"}
        for choice in choices
    ]
    return [{"type": _ROW, "components": made[at : at + 5]} for at in range(0, len(made), 5)]


def number_of(text: str) -> int:
    """An id as a number.

    Raises:
        ChannelRejected: it is none of Discord's.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ChannelRejected("not an id of Discord's")
    return int(text)
