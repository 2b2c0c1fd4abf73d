"""What is written and shown on the platform in memory."""

from dataclasses import dataclass, field

from fermix.application.ports.channel import OutgoingPart
from fermix.domain.normalise import RawMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message as the platform keeps it; its offset counts from 1.

    Attributes:
        facts: what it tells beside its text, in the words of the gateway.
    """

    offset: int
    text: str
    chat: str
    user: str
    name: str
    facts: RawMessage = field(default_factory=RawMessage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A part that people see; `content` is that of its file."""

    id: str
    part: OutgoingPart
    content: bytes | None = None
