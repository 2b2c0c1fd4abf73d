"""What tests do and read while the server runs: people write, chats show the bot's messages, things go wrong."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from fermix.testing.servers.loopback import PATIENCE, Directed
from fermix.testing.servers.telegram_api.people import Writing, person, written
from fermix.testing.servers.telegram_api.records import Call, Drop, Fault, Json, Shown
from fermix.testing.servers.telegram_api.world import World


class PeopleSide(Directed[World]):
    """One bot's Bot API. Safe to use from any thread; what waits must not run in the bot's event loop.

    From async tests use `until_sent` and `until_called`, which wait beside the loop.
    """

    @property
    def token(self) -> str:
        """The only token that is let in."""
        return self._world.token

    @property
    def bot_id(self) -> int:
        """The bot's user id, the token's first half."""
        return self._world.bot_id

    def user_writes(  # noqa: PLR0913  # all but the first two by name, most left out
        self,
        chat: int,
        text: str = "",
        *,
        user: int = 1001,
        chat_type: str | None = None,
        thread: int | None = None,
        edit_of: int | None = None,
        entities: Sequence[Json] | None = None,
        reply_to: int | None = None,
        raw: Mapping[str, Any] | None = None,
        kind: str | None = None,
    ) -> int:
        """A person writes; the bot gets it with its next poll.

        Args:
            chat: its id; unknown ones come into being.
            text: empty for a message that is something else (given in `raw`).
            chat_type: by default told from the id: positive private, `-100…` supergroup, else group.
            thread: a forum topic, which turns the chat into a forum.
            edit_of: the message that now reads so; the update is an `edited_message`.
            entities: exactly these; by default commands, mentions and links are found as Telegram finds them.
            reply_to: a message of this chat. In a topic Telegram names the topic's first message otherwise.
            raw: laid over the finished message; a value of `None` takes a field away.
            kind: the update's field, when neither `message` nor `edited_message` is meant.

        Returns:
            The message's id. Supergroups count on their own, so equal ids occur in different chats.
        """
        writing = Writing(
            chat=chat,
            text=text,
            user=user,
            chat_type=chat_type,
            thread=thread,
            edit_of=edit_of,
            entities=entities,
            reply_to=reply_to,
            raw=raw or {},
        )
        with self._world.changed:
            message = written(self._world, writing)
            self._world.queue.push({kind or ("message" if edit_of is None else "edited_message"): message})
        return int(message["message_id"])

    def user_taps(self, chat: int, message: int, *, user: int = 1001, button: int = 0) -> str:
        """A person taps a button under a message of the bot's; the tap's id.

        The button need not be there any more: clients show a message for a while as they have it.
        """
        with self._world.changed:
            under = self._world.messages[chat, message]
            rows = under.get("reply_markup", self._world.buttons.get((chat, message), {}))["inline_keyboard"]
            number = f"4382bfdwdsb{len(self._world.calls)}{self._world.queue.next_id}"
            self._world.taps.add(number)
            query = {
                "id": number,
                "from": person(user),
                "message": under,
                "chat_instance": "-3920184",
                "data": [each for row in rows for each in row][button]["callback_data"],
            }
            self._world.queue.push({"callback_query": query})
        return number

    def deletes(self, chat: int, message: int) -> None:
        """A person who may do so takes a message of the bot's away."""
        with self._world.changed:
            del self._world.messages[chat, message], self._world.own[chat, message]

    def buttons(self, chat: int, message: int) -> list[str]:
        """The labels of the buttons under a message now."""
        with self._world.changed:
            markup = self._world.messages[chat, message].get("reply_markup", {})
        return [each["text"] for row in markup.get("inline_keyboard", ()) for each in row]

    def update(self, update: Mapping[str, Any]) -> int:
        """Any update at all, odd ones too; `update_id` is added where it is missing, and returned."""
        with self._world.changed:
            return self._world.queue.push(dict(update))

    def knows(self, chat: int, *, chat_type: str | None = None, topics: Sequence[int] = ()) -> None:
        """Make a chat known (the bot may write there) in which nobody has written yet."""
        with self._world.changed:
            self._world.chats.know(chat, chat_type)
            for topic in topics:
                self._world.chats.open_topic(chat, topic)

    def closes_topic(self, chat: int, thread: int) -> None:
        """Delete a forum topic: its thread id is not found from now on."""
        with self._world.changed:
            self._world.chats.delete_topic(chat, thread)

    def block(self, chat: int, *, blocked: bool = True) -> None:
        """The person blocks the bot, or the group removes it (403); `blocked=False` takes it back."""
        with self._world.changed:
            self._world.chats.block(chat, blocked=blocked)

    def upgrade(self, chat: int, to: int) -> None:
        """The group becomes a supergroup: its old id is refused naming `to`; two service messages tell it."""
        with self._world.changed:
            self._world.chats.upgrade(chat, to)
        self.user_writes(chat, raw={"migrate_to_chat_id": to})
        self.user_writes(to, raw={"migrate_from_chat_id": chat})

    def add_file(self, data: bytes, path: str) -> str:
        """Store a file that `getFile` finds; the file id to put into `raw`."""
        with self._world.changed:
            return self._world.add_file(data, path)

    def sent(self, wait_for: int = 0, *, chat: int | None = None, seconds: float = PATIENCE) -> list[Shown]:
        """What the bot's messages read now, in the order they were sent, in one chat or in all.

        Raises:
            AssertionError: fewer than `wait_for` came in time; the text lists the last calls.
        """

        def shown() -> list[Shown]:
            return [one for one in self._world.shown() if chat in {None, one.chat}]

        self._wait(lambda: len(shown()) >= wait_for, f"{wait_for} messages", seconds)
        with self._world.changed:
            return shown()

    async def reactions(self, count: int, *, seconds: float = PATIENCE) -> list[str]:
        """Wait until so many messages carry a reaction of the bot; all of those."""

        def found() -> list[str]:
            self._wait(lambda: len(self._world.reactions) >= count, f"{count} reactions", seconds)
            with self._world.changed:
                return [*self._world.reactions.values()]

        return await self.until(found)

    async def until_sent(
        self, count: int, *, chat: int | None = None, seconds: float = PATIENCE
    ) -> list[Shown]:
        """`sent` beside the event loop."""
        waiting = partial(self.sent, count, chat=chat, seconds=seconds)
        return await self.until(waiting)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call that was answered or dropped, in that order; a poll that still waits is not among them."""
        with self._world.changed:
            return tuple(self._world.calls)

    def called(self, method: str, wait_for: int = 0, *, seconds: float = PATIENCE) -> list[Call]:
        """The calls of one method.

        Raises:
            AssertionError: fewer than `wait_for` came in time.
        """

        def found() -> list[Call]:
            return [call for call in self._world.calls if call.method == method]

        self._wait(lambda: len(found()) >= wait_for, f"{wait_for} calls of {method}", seconds)
        with self._world.changed:
            return found()

    async def until_called(self, method: str, count: int = 1, *, seconds: float = PATIENCE) -> list[Call]:
        """`called` beside the event loop."""
        waiting = partial(self.called, method, count, seconds=seconds)
        return await self.until(waiting)

    @property
    def confirmed_offset(self) -> int:
        """The highest `offset` a poll asked for: all updates below it are gone for good. 0 at first."""
        return self._world.queue.confirmed

    async def until_confirmed(self, offset: int, *, seconds: float = PATIENCE) -> None:
        """Wait until all updates below `offset` are confirmed."""
        condition = partial(
            self._wait, lambda: self._world.queue.confirmed >= offset, f"offset {offset}", seconds
        )
        await self.until(condition)

    @property
    def pending(self) -> tuple[Json, ...]:
        """Updates not yet confirmed."""
        with self._world.changed:
            return tuple(self._world.queue.pending)

    @property
    def is_polled(self) -> bool:
        """Whether a poll waits at this moment."""
        return self._world.queue.poller is not None

    async def until_polled(self, *, seconds: float = PATIENCE) -> None:
        """Wait until a poll waits for news."""
        waiting = partial(self._wait, lambda: self._world.queue.poller is not None, "a waiting poll", seconds)
        await self.until(waiting)

    @property
    def commands(self) -> Mapping[str, Sequence[Json]]:
        """The command menus by scope type (`default`, …)."""
        with self._world.changed:
            return dict(self._world.commands)

    @property
    def webhook(self) -> str:
        """The webhook set on the bot; while it is not empty, polls are refused."""
        return self._world.webhook

    @webhook.setter
    def webhook(self, url: str) -> None:
        with self._world.changed:
            self._world.webhook = url

    def fault(  # noqa: PLR0913  # all but the first by name, most left out
        self,
        method: str | None,
        *,
        status: int | None = None,
        description: str | None = None,
        retry_after: int | None = None,
        body: str | None = None,
        hang: float = 0.0,
        drop: Drop | None = None,
        times: float = 1,
        chat: int | None = None,
    ) -> None:
        """Let the next `times` calls of a method fail (`None`: of any method; `math.inf`: until cleared).

        Args:
            method: `download` for the fetching of a file.
            status: refuse with it instead of doing anything; `retry_after` alone means 429.
            body: answered as it stands with `status` (or 200): no JSON, a page of a proxy, half an object.
            hang: seconds before anything else happens; `math.inf` for ever (or until the client leaves).
            drop: close the connection instead of answering; see `Drop`.
            chat: only calls for this chat.
        """
        if retry_after is not None and status is None:
            status = 429
        with self._world.changed:
            self._world.faults.append(
                Fault(
                    method=method,
                    chat=chat,
                    left=times,
                    status=status,
                    description=description,
                    retry_after=retry_after,
                    body=body,
                    hang=hang,
                    drop=drop,
                )
            )

    async def until_met(self, *, seconds: float = PATIENCE) -> None:
        """Wait until every fault that was planned for some calls has met so many; some may hang still."""
        waiting = partial(
            self._wait,
            lambda: all(fault.left <= 0 or fault.left == math.inf for fault in self._world.faults),
            "calls that faults were planned for",
            seconds,
        )
        await self.until(waiting)

    def revoke_token(self) -> None:
        """The bot gets a new token; the old one is refused from now on (401)."""
        with self._world.changed:
            number, _, secret = self._world.token.partition(":")
            self._world.token = f"{number}:{secret[::-1]}"

    def keeps_privacy(self) -> None:
        """The bot's privacy mode is on, as `getMe` tells; whoever plays people keeps to what it lets through."""
        self._world.keeps_privacy = True

    def clear_faults(self) -> None:
        """All is well again; what hangs already, hangs on."""
        with self._world.changed:
            self._world.faults.clear()

    @contextmanager
    def offline(self) -> Generator[None]:
        """Break every connection, and every new one at once, while inside."""
        self._world.offline = True
        self._world.cut()
        try:
            yield
        finally:
            self._world.offline = False

    def _wait(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        with self._world.changed:
            if self._world.changed.wait_for(condition, None if seconds == math.inf else seconds):
                return
            last = [(call.method, call.status, call.description) for call in self._world.calls[-8:]]
        raise AssertionError(f"waited {seconds:g} s for {what}; the last calls were {last}")
