"""What is written and shown on the platform in memory."""

from dataclasses import dataclass, field, replace

from fermix.application.ports.channel import ChannelRejected, OutgoingPart
from fermix.domain.delivery import Part
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

    def as_told(self) -> RawMessage:
        """The message as the gateway takes it."""
        own = RawMessage(
            id=f"m{self.offset}",
            content=self.text,
            sender=self.name,
            sender_id=self.user,
            chat_id=self.chat,
            reply_target=self.chat,
        )
        return {**own, **self.facts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A part that people see; `content` is that of its file."""

    id: str
    part: OutgoingPart
    content: bytes | None = None


class Posts:
    """The parts that people see, in order; each has an id that no other one ever gets."""

    def __init__(self) -> None:
        self.shown: list[Posted] = []
        self._count = 0

    def add(self, part: OutgoingPart, content: bytes | None = None) -> str:
        """Show a part; its id."""
        self._count += 1
        posted = Posted(id=f"out{self._count}", part=part, content=content)
        self.shown.append(posted)
        return posted.id

    def change(self, name: str, body: Part) -> None:
        """Show something else in place of a part.

        Raises:
            ChannelRejected: it is not shown (any more).
        """
        for place, posted in enumerate(self.shown):
            if posted.id == name:
                self.shown[place] = replace(posted, part=replace(posted.part, body=body))
                return
        raise ChannelRejected("there is no such message")

    def remove(self, name: str) -> None:
        """Show a part no longer, if it is shown at all."""
        self.shown = [posted for posted in self.shown if posted.id != name]
