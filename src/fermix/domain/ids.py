"""Names for the ids that cross the system, so that one kind is never handed over for another."""

from typing import NewType

ChannelName = NewType("ChannelName", str)
"""A channel's registered key: `telegram`, `slack`, …; `cli` and `daemon` are the local ones."""

AccountId = NewType("AccountId", str)
"""Our own identity on a platform (bot id, phone number id); several may exist for one channel."""

ChatId = NewType("ChatId", str)
ThreadId = NewType("ThreadId", str)
UserId = NewType("UserId", str)
PlatformMessageId = NewType("PlatformMessageId", str)

MessageRow = NewType("MessageRow", int)
"""The ledger's number for one accepted message."""

TurnId = NewType("TurnId", int)
"""The ledger's number for one turn; it is also its place in the lane."""

LaneId = NewType("LaneId", int)
"""The surrogate id of a conversation."""

PartId = NewType("PartId", int)
"""The ledger's number for one outgoing part."""

Epoch = NewType("Epoch", int)
"""Counts the owners of a home; a writer with an older one is refused."""

Generation = NewType("Generation", int)
"""Counts the claims of a lane; what a stopped or replaced turn writes later is refused."""

_ASCII_SPACE = " \t\n\r\v\f"


def trimmed(text: str) -> str:
    """An id without the ASCII white space around it.

    Other blanks (a no-break space, a zero-width one) are part of it, since two ids must not become one.
    """
    return text.strip(_ASCII_SPACE)
