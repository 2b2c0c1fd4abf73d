"""The chats the bot may write to, their topics, and which of them want it no longer."""

from collections import Counter
from dataclasses import dataclass, field

from fermix.testing.servers.telegram_api.records import Json
from fermix.testing.servers.telegram_api.refusal import BadRequest, Refused

GENERAL = 1
"""The thread id of a forum's first topic: messages there carry none, and sending to it by this id is refused."""


@dataclass(slots=True, kw_only=True)
class Chat:
    """One chat. A forum is a supergroup that has had a topic."""

    id: int
    type: str
    topics: set[int] = field(default_factory=set[int])
    is_forum: bool = False
    blocked: bool = False
    upgraded_to: int | None = None

    def json(self) -> Json:
        """The chat as messages show it."""
        if self.type == "private":
            return {
                "id": self.id,
                "type": "private",
                "first_name": f"User {self.id}",
                "username": f"user{self.id}",
            }
        shown: Json = {"id": self.id, "type": self.type, "title": f"Chat {abs(self.id)}"}
        return {**shown, "is_forum": True} if self.is_forum else shown


def type_of(chat: int) -> str:
    """The type an id has by its shape."""
    if chat > 0:
        return "private"
    return "supergroup" if str(chat).startswith("-100") else "group"


@dataclass(slots=True)
class Chats:
    """All chats; everything is called with the world's lock held."""

    known: dict[int, Chat] = field(default_factory=dict[int, Chat])
    counts: Counter[int] = field(default_factory=Counter[int])

    def know(self, chat: int, chat_type: str | None = None) -> Chat:
        """The chat, made if it is new."""
        found = self.known.setdefault(chat, Chat(id=chat, type=chat_type or type_of(chat)))
        if chat_type is not None:
            found.type = chat_type
        return found

    def open_topic(self, chat: int, thread: int) -> None:
        """Make a topic, and the chat a forum.

        A topic's id is that of the message that made it, so later messages have higher ones.
        """
        found = self.know(chat)
        found.is_forum = True
        found.topics.add(thread)
        self.counts[chat] = max(self.counts[chat], thread)

    def delete_topic(self, chat: int, thread: int) -> None:
        """Its thread id is not found from now on."""
        self.know(chat).topics.discard(thread)

    def block(self, chat: int, *, blocked: bool) -> None:
        """Close the chat to the bot, or open it again."""
        self.know(chat).blocked = blocked

    def upgrade(self, chat: int, to: int) -> None:
        """The group is a supergroup from now on, under another id."""
        self.know(chat).upgraded_to = to
        self.know(to, "supergroup")

    def next_message_id(self, chat: Chat) -> int:
        """Supergroups and channels count on their own; private chats and groups share the bot's count."""
        key = chat.id if chat.type in {"supergroup", "channel"} else 0
        self.counts[key] += 1
        return self.counts[key]

    def open_to_bot(self, chat_id: str) -> Chat:
        """The chat a call names.

        Raises:
            Refused: there is none, it wants the bot no longer, or it has moved.
        """
        if not chat_id.strip():
            raise BadRequest("chat_id is empty")
        try:
            chat = self.known[int(chat_id)]
        except (KeyError, ValueError):
            raise BadRequest("chat not found") from None
        if chat.upgraded_to is not None:
            raise BadRequest(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.upgraded_to
            )
        if chat.blocked:
            raise Refused(403, f"Forbidden: {_CLOSED.get(chat.type, 'bot was kicked from the group chat')}")
        return chat


_CLOSED = {
    "private": "bot was blocked by the user",
    "supergroup": "bot was kicked from the supergroup chat",
    "channel": "bot was kicked from the channel chat",
}


def thread_in(chat: Chat, raw: str, *, general: bool = False) -> int | None:
    """The topic a call names, `None` for none.

    Args:
        general: whether `GENERAL` is taken (it is for chat actions, never for messages).

    Raises:
        BadRequest: it is no number, or no topic of this chat. Threads of replies are no topics.
    """
    raw = raw.strip()
    if not raw:
        return None
    if not raw.isdecimal() or int(raw) == 0:
        raise BadRequest("invalid message thread identifier specified")
    thread = int(raw)
    if thread == GENERAL and general and chat.is_forum:
        return None
    if thread not in chat.topics:
        raise BadRequest("message thread not found")
    return thread
