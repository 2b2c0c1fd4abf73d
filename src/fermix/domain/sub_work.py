"""Work that a running turn hands on: what it is made of, and that it can only see less than its parent."""

from dataclasses import dataclass, replace
from urllib.parse import quote

from fermix.domain.capability import Narrowing, Scope
from fermix.domain.ids import Generation, ThreadId, TurnId
from fermix.domain.message import InboundMessage
from fermix.domain.route import Route, route_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SubWork:
    """Work that becomes a turn of its own, in a conversation of its own.

    Attributes:
        turn: who hands it on; must be running.
        generation: of the parent's claim.
        name: tells it from the parent's other work. Handed on again under this name, as a turn does that is
            replayed, it is the same work, and its first wording counts.
        text: what is to be done.
        scope: what the parent sees now, which may be less than what was stored when it was admitted.
        narrowing: what is taken away on top of that.
    """

    turn: TurnId
    generation: Generation
    name: str
    text: str
    scope: Scope
    narrowing: tuple[Narrowing, ...] = ()

    @property
    def place(self) -> str:
        """Unique for good; no id of a platform begins with a slash."""
        return f"/{self.turn}/{quote(self.name, safe='', errors='surrogatepass')}"

    def seen_from(self, stored: Scope) -> Scope:
        """The scope of the work: within the parent's stored one, whatever the caller says the parent sees."""
        return stored.within(self.scope).handed_on(*self.narrowing)

    def asked_like(self, asked: InboundMessage) -> InboundMessage:
        """The message that asks for the work.

        It comes from whoever asked the parent, so that their right is looked at again when it starts, and its
        reply points at what they wrote.
        """
        return replace(
            asked,
            key=self.place,
            text=self.text,
            raw_text=self.text,
            mentions=(),
            command_bot=None,
            references=(),
            attachments=(),
            album=None,
            edited_at=None,
        )

    def route_from(self, asked: InboundMessage) -> Route:
        """Its conversation: in the chat of the parent's, which it neither waits for nor holds up."""
        return replace(route_of(asked), thread=ThreadId(self.place))
