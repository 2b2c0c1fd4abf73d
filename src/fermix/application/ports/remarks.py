"""What a channel that listens has to tell its owner all the same."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One sentence for the owner, with what to do.

    Attributes:
        text: holds no secret, and nothing that people wrote.
        is_trouble: something does not work; else it is how the platform was set up, which may be meant.
    """

    text: str
    is_trouble: bool = False


@runtime_checkable
class MakesRemarks(Protocol):
    """A channel that knows more of how it stands than whether it listens. An optional ability of channels."""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is to be told now, the worst first; asked for whenever health is, so that it waits for nothing."""
        ...
