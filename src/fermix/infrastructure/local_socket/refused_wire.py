"""Senders that were refused lately, as the JSON of the control socket. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from fermix.application.ports.control import RefusedSender
from fermix.domain.ids import ChannelName, UserId
from fermix.infrastructure.local_socket.fields import Fields
from fermix.infrastructure.local_socket.wire import decode_moment


def encode_refused(senders: Sequence[RefusedSender]) -> dict[str, Any]:
    """Who was refused, in the order given."""
    return {
        "senders": [
            {
                "at": one.at.isoformat(),
                "channel": one.channel,
                "ids": list(one.sender_ids),
                "reason": one.reason,
            }
            for one in senders
        ]
    }


def decode_refused(content: Mapping[str, Any]) -> tuple[RefusedSender, ...]:
    """Who was refused.

    Raises:
        Malformed: a field is missing or of another type.
    """
    return tuple(_decode(one) for one in Fields(content, "refused").mappings("senders"))


def _decode(content: Mapping[str, Any]) -> RefusedSender:
    fields = Fields(content, "sender")
    return RefusedSender(
        at=decode_moment(fields, "at"),
        channel=ChannelName(fields.text("channel")),
        sender_ids=tuple(UserId(one) for one in fields.texts("ids")),
        reason=fields.text("reason"),
    )
