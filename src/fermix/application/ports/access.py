"""Asking the owner for a folder from inside a turn, without waiting for the answer."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyOpen:
    """Nobody has to be asked: the path can be reached."""

    path: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotBeOpened:
    """Nobody was asked: the path cannot be granted. `text` says why."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerAsked:
    """The owner reads a prompt now.

    Attributes:
        fresh: else the same question was open already, and there is no second prompt.
        resumes: an approval takes the request up again by itself; else its asker has to send it once more.
    """

    path: PurePath
    fresh: bool
    resumes: bool


AccessAnswer: TypeAlias = AlreadyOpen | CannotBeOpened | OwnerAsked


class AccessSeam(Protocol):
    """One turn's way to ask."""

    async def request(self, path: str, reason: str) -> AccessAnswer:
        """Ask for a folder, unless it is open already or cannot be opened at all.

        Args:
            path: as the model wrote it.
            reason: in the model's words; its owner reads it as such.

        Raises:
            LedgerError: the prompt could not be written down, so nobody was asked.
        """
        ...
