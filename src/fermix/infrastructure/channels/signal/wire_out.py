"""Our parts as requests to signal-cli: parameters of its JSON-RPC methods, or the arguments of its commands.

What people say never stands on a command line, where every user of the machine could read it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fermix.domain.delivery import ReactionPart
from fermix.domain.ids import ChatId
from fermix.infrastructure.channels.signal.plain_text import plain
from fermix.infrastructure.channels.signal.recipient import number_of, recipient_field

SEND_SECONDS = 30.0
BYTES_PER_SECOND = 256 * 1024
"""The slowest upload that is waited for."""

_MESSAGE = re.compile(r"(?P<stamp>[0-9]{1,18})(?::(?P<author>\S+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something that signal-cli is to do.

    Attributes:
        method: as both interfaces name it.
        params: by the names of the JSON-RPC interface.
        within: seconds that it may take.
    """

    method: str
    params: Mapping[str, object] = field(repr=False)
    within: float = SEND_SECONDS


def text_order(chat: ChatId, text: str) -> Order:
    """A message of text alone."""
    return Order(method="send", params={**recipient_field(chat), "message": plain(text)})


def file_order(chat: ChatId, path: str, caption: str, *, size: int) -> Order:
    """A message with one file; its name is that of the file."""
    words = {"message": plain(caption)} if caption.strip() else {}
    params = {**recipient_field(chat), **words, "attachments": [path]}
    return Order(method="send", params=params, within=SEND_SECONDS + size / BYTES_PER_SECOND)


def reaction_order(chat: ChatId, part: ReactionPart) -> Order | None:
    """A reaction of ours; `None` where the message has no id that Signal could know.

    In a group the id of a message names its author; in a direct chat that is the other one.
    """
    found = _MESSAGE.fullmatch(part.message)
    author = found["author"] or ("" if "groupId" in recipient_field(chat) else chat) if found else ""
    if found is None or not author:
        return None
    params = {
        **recipient_field(chat),
        "emoji": part.emoji,
        "targetAuthor": number_of(author) or author,
        "targetTimestamp": int(found["stamp"]),
    }
    return Order(method="sendReaction", params=params)


def typing_order(chat: ChatId) -> Order:
    """The word that somebody is typing."""
    return Order(method="sendTyping", params=recipient_field(chat))


def arguments(order: Order) -> tuple[str, ...]:
    """An order as a command. Recipients come first: options that take any number of words would take them too."""
    asked = order.params
    group, recipients = asked.get("groupId"), asked.get("recipient")
    words = [order.method, *(recipients if isinstance(recipients, list) else ())]
    if isinstance(group, str):
        words += ["-g", group]
    if order.method == "send":
        words.append("--message-from-stdin")
    for option, name in (("-e", "emoji"), ("-a", "targetAuthor"), ("-t", "targetTimestamp")):
        if name in asked:
            words += [option, str(asked[name])]
    files = asked.get("attachments")
    return tuple([*words, "-a", *files] if isinstance(files, list) else words)


def standard_input(order: Order) -> bytes:
    """What a command reads: the words of a message."""
    return str(order.params.get("message", "")).encode()
