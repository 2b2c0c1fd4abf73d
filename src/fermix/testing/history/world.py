"""Everything around the ledger that outlives a process: people, a polling platform, and what was seen of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fermix.application.ports.outbox import SendingPart
from fermix.domain.delivery import mark_repeated
from fermix.domain.ids import ChatId
from fermix.testing.history.events import Ask, Event, Said, Shown

OWNERS_CHAT = ChatId("owner")
FRIENDS_CHAT = ChatId("friends")
GUESTS_CHAT = ChatId("guest")
CHATS = (OWNERS_CHAT, FRIENDS_CHAT, GUESTS_CHAT)


def chat_at(address: ChatId) -> ChatId:
    """The chat that has, or had, this id."""
    return ChatId(address.partition("'")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a person is going to write."""

    chat: ChatId
    sender: str
    ask: Ask = Ask.TURN
    album: str | None = None
    media: int = 0


SENDERS = {OWNERS_CHAT: ("42",), FRIENDS_CHAT: ("42", "43"), GUESTS_CHAT: ("44",)}
"""Who writes where: a second sender in a chat does not end the album of the first."""


def plan(chance: Random) -> tuple[Planned, ...]:
    """What people write in one history: texts, files, albums (others write in between), commands; and moves."""

    def somebody(chat: ChatId, ask: Ask = Ask.TURN, album: str | None = None) -> Planned:
        media = chance.choice((0, 0, 1, 2)) if ask is Ask.TURN else 0
        return Planned(chat=chat, sender=chance.choice(SENDERS[chat]), ask=ask, album=album, media=media)

    planned: list[Planned] = []
    for number in range(chance.randint(4, 9)):
        chat = chance.choice(CHATS)
        kind = chance.random()
        if kind < 0.25:
            for part in [somebody(chat, album=f"album-{number}")] * chance.randint(2, 3):
                planned.append(part)
                if chance.random() < 0.3:
                    planned.append(somebody(chance.choice((chat, *CHATS))))
        elif kind < 0.33:
            planned.append(somebody(OWNERS_CHAT, Ask.STOP))
        elif kind < 0.38:
            planned.append(somebody(chat, Ask.NEW))
        elif kind < 0.43 and not any(one.chat == chat and one.ask is Ask.MOVE for one in planned):
            # A group becomes a supergroup once, and a supergroup stays one.
            planned.append(somebody(chat, Ask.MOVE))
        else:
            planned.append(somebody(chat))
    return tuple(planned)


class Platform:
    """Offers what people wrote from the first that was not acknowledged on, and shows what it is sent."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._said: list[Said] = []
        self._addresses = {chat: chat for chat in CHATS}
        self._acknowledged = 0

    @property
    def said(self) -> Sequence[Said]:
        """All messages, in order."""
        return self._said

    @property
    def has_news(self) -> bool:
        """Whether something was not acknowledged yet."""
        return self._acknowledged < len(self._said)

    def write(self, planned: Planned) -> None:
        """A person writes, or a chat gets another id."""
        index = len(self._said)
        address = self._addresses[planned.chat]
        moved_to = ChatId(f"{planned.chat}'{index}") if planned.ask is Ask.MOVE else None
        self._addresses[planned.chat] = moved_to or address
        said = Said(
            index=index,
            key=f"m{index}",
            chat=planned.chat,
            address=address,
            moved_to=moved_to,
            sender=planned.sender,
            ask=planned.ask,
            album=planned.album,
            media=planned.media,
        )
        self._said.append(said)
        self._events.append(said)

    def offered(self, chance: Random) -> tuple[Said, ...]:
        """One poll, up to a move. Once in a while it begins with what was acknowledged before."""
        first = max(self._acknowledged - (chance.random() < 0.05), 0)
        offered = self._said[first : first + chance.randint(1, 4)]
        moves = [number for number, said in enumerate(offered) if said.ask is Ask.MOVE]
        return tuple(offered[: max(moves[0], 1)] if moves else offered)

    def address_of(self, part: SendingPart) -> ChatId:
        """The id that the chat of a part has now."""
        return self._addresses[chat_at(part.target.chat)]

    def acknowledge(self, last: Said) -> None:
        """Offer nothing up to `last` any more."""
        self._acknowledged = max(self._acknowledged, last.index + 1)

    def show(self, part: SendingPart) -> None:
        """A part arrives, marked when its row says that it may be a repeat."""
        body = mark_repeated(part.body) if part.repeated else part.body
        self._events.append(
            Shown(
                part=part.part,
                turn=part.turn,
                ordinal=part.ordinal,
                chat=chat_at(part.target.chat),
                text=body.text,
            )
        )


@dataclass(slots=True, kw_only=True)
class World:
    """What one history is made of, beside its ledger.

    Attributes:
        planned: what people have not written yet.
        mortality: chance to die at any one moment.
        deaths_left: how often a process may still die.
    """

    chance: Random
    power_cuts: bool
    events: list[Event]
    platform: Platform
    planned: list[Planned]
    mortality: float
    deaths_left: int

    @classmethod
    def begin(cls, chance: Random, *, power_cuts: bool) -> "World":
        """A world in which nothing has happened yet."""
        events: list[Event] = []
        return cls(
            chance=chance,
            power_cuts=power_cuts,
            events=events,
            platform=Platform(events),
            planned=list(plan(chance)),
            mortality=chance.choice((0.02, 0.04, 0.08)),
            deaths_left=chance.randint(1, 8),
        )
