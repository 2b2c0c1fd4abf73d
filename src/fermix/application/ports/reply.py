"""Showing something in a conversation before its turn ends: a file, a reaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from fermix.domain.caps import MediaCap
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.reactions import Reactions

SEND_ATTACHMENT = "send_attachment"
"""What the capability to send a file is called."""

REACT = "react"
"""What the capability to react is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The platform took it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """It is committed and leaves as any other part; how that ends is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotShown:
    """It was not taken and will not be tried again. `cause` holds no secret."""

    cause: str


ShowAnswer: TypeAlias = Shown | UnderWay | NotShown


class ReplySeam(Protocol):
    """One turn's way to the conversation that it answers."""

    @property
    def files(self) -> Mapping[MediaKind, MediaCap]:
        """By kind, the files that can be shown there."""
        ...

    @property
    def reactions(self) -> Reactions:
        """What can be put on a message there."""
        ...

    async def show_file(self, file: MediaPart) -> ShowAnswer:
        """Send a stored file; what of its caption finds no room under it follows as text.

        Args:
            file: of a kind and size that `files` has.

        Raises:
            LedgerError: it could not be written down, so nothing was sent.
        """
        ...

    async def react(self, emoji: str) -> ShowAnswer:
        """Put a reaction on the message that the turn answers, the last one if it answers several.

        Args:
            emoji: one that `reactions` allow.

        Raises:
            LedgerError: it could not be written down, so nothing was sent.
        """
        ...
