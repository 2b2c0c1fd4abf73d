"""The key that leads to a conversation, and the place a reply goes to."""

from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.message import InboundMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Channel, account, chat and thread (or the chat's root): one FIFO of turns stands behind it.

    Ids may be of any text; `key` keeps them apart by percent-encoding, so that no chosen chat id can imitate
    another route.
    """

    channel: ChannelName
    account: AccountId
    chat: ChatId
    thread: ThreadId | None = None

    @property
    def key(self) -> str:
        """One string, equal exactly when the routes are equal."""
        parts = [self.channel, self.account, self.chat]
        if self.thread is not None:
            parts.append(self.thread)
        return "/".join(quote(part, safe="", errors="surrogatepass") for part in parts)

    @classmethod
    def parse(cls, key: str) -> "Route":
        """The route whose `key` this is.

        Raises:
            ValueError: the text is no route key.
        """
        parts = [unquote(part, errors="surrogatepass") for part in key.split("/")]
        if len(parts) not in {3, 4}:
            raise ValueError(f"not a route key: {key!r}")
        route = cls(
            channel=ChannelName(parts[0]),
            account=AccountId(parts[1]),
            chat=ChatId(parts[2]),
            thread=ThreadId(parts[3]) if len(parts) == 4 else None,
        )
        if route.key != key:
            raise ValueError(f"not a route key: {key!r}")
        return route


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where outgoing parts go. Parts of one `key` leave strictly in order.

    `reply_to` is the message an answer points at; it does not take part in the order.
    """

    channel: ChannelName
    account: AccountId
    chat: ChatId
    thread: ThreadId | None = None
    reply_to: PlatformMessageId | None = None

    @property
    def key(self) -> str:
        """The place without the message replied to."""
        return Route(channel=self.channel, account=self.account, chat=self.chat, thread=self.thread).key


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMove:
    """A chat that its platform goes on with under another id: whatever led to `old` leads to `new`."""

    channel: ChannelName
    account: AccountId
    old: ChatId
    new: ChatId

    @property
    def old_chat(self) -> Route:
        """The old chat, threads aside."""
        return Route(channel=self.channel, account=self.account, chat=self.old)

    @property
    def new_chat(self) -> Route:
        """The new chat, threads aside."""
        return Route(channel=self.channel, account=self.account, chat=self.new)

    def concerns(self, place: Route | Target) -> bool:
        """Whether a place lies in the old chat."""
        return (place.channel, place.account, place.chat) == (self.channel, self.account, self.old)

    def route(self, route: Route) -> Route:
        """The route as it is now, its thread kept."""
        return replace(route, chat=self.new) if self.concerns(route) else route

    def target(self, target: Target) -> Target:
        """The place as it is now; what was replied to has no name there, so the reply points at nothing."""
        return replace(target, chat=self.new, reply_to=None) if self.concerns(target) else target


def route_of(message: InboundMessage, *, thread: ThreadId | None = None) -> Route:
    """The route of a message; `thread` overrides its own (an answer may open one)."""
    own = message.thread.id if message.thread is not None else None
    return Route(
        channel=message.channel,
        account=message.account,
        chat=message.chat.id,
        thread=thread if thread is not None else own,
    )


def target_of(message: InboundMessage, *, thread: ThreadId | None = None) -> Target:
    """Where replies to a message go."""
    own = message.thread.id if message.thread is not None else None
    return Target(
        channel=message.channel,
        account=message.account,
        chat=message.reply_target,
        thread=thread if thread is not None else own,
        reply_to=message.id,
    )


def origin_of(message: InboundMessage) -> str:
    """The name space of a message's key: one channel account."""
    return f"{message.channel}:{message.account}"
