"""What tests do and read while the server runs: people write, tap and see."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fermix.domain.normalise import clean
from fermix.testing.servers.discord_api.places import is_of_guild
from fermix.testing.servers.discord_api.world import APPLICATION, BOT, GUILD, Call, Json, Shown, World
from fermix.testing.servers.loopback import PATIENCE, Directed

ANN = "700000000000000042"
CHAT = "500000000000000042"


def person(number: str = ANN, name: str = "ann", **more: Any) -> Json:
    """A user as messages name them."""
    return {
        "id": number,
        "username": name,
        "discriminator": "0",
        "global_name": name.capitalize(),
        "avatar": None,
        **more,
    }


class PeopleSide(Directed[World]):
    """One world's people. Safe to use from any thread; what waits must not run in the bot's event loop."""

    def user_writes(
        self,
        text: str,
        *,
        chat: str = CHAT,
        user: Mapping[str, Any] | None = None,
        reply_to: str | None = None,
        files: Sequence[tuple[str, bytes, str]] = (),
        raw: Mapping[str, Any] | None = None,
    ) -> str:
        """A person writes; its id. `raw` is laid over the finished message."""
        with self._world.changed:
            message = self._written(text, chat, dict(user or person()), reply_to)
            message["attachments"] = [self._attached(chat, *file) for file in files]
            message.update(raw or {})
            if str(message.get("id")).isdecimal() and isinstance(message.get("channel_id"), str):
                self._world.keep(message)
            message["_held"] = self._world.happen("MESSAGE_CREATE", message, is_kept=not is_of_guild(chat))
            self._world.changed.notify_all()
        return str(message["id"])

    def user_edits(self, number: str, text: str, *, chat: str = CHAT, at: str | None = None) -> None:
        """A person changes a message."""
        with self._world.changed:
            message = self._world.messages[chat][number]
            message.update(content=text, edited_timestamp=at or self._world.instant())
            self._world.happen("MESSAGE_UPDATE", message, is_kept=False)

    def happens(self, event: str, data: Any) -> None:
        """Any event at all, odd ones too."""
        with self._world.changed:
            self._world.happen(event, data, is_kept=False)

    def user_taps(
        self, message: str, button: str, *, chat: str = CHAT, user: Mapping[str, Any] | None = None
    ) -> str:
        """A person taps a button; the interaction's id."""
        with self._world.changed:
            under = self._world.messages[chat][message]
        data = {"custom_id": button, "component_type": 2}
        return self._interacts(3, data, chat, dict(user or person()), {"message": under})

    def user_commands(
        self, name: str, *arguments: str, chat: str = CHAT, user: Mapping[str, Any] | None = None
    ) -> str:
        """A person picks a command from Discord's list; the interaction's id."""
        options = [{"name": "arguments", "type": 3, "value": " ".join(arguments)}] if arguments else []
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return self._interacts(2, data, chat, dict(user or person()), {})

    def _interacts(self, kind: int, data: Json, chat: str, user: Json, more: Json) -> str:
        with self._world.changed:
            number = self._world.snowflake()
            self._world.answers[number] = {}
            who: Json = (
                {"member": {"user": user, "roles": []}, "guild_id": GUILD}
                if is_of_guild(chat)
                else {"user": user}
            )
            interaction = {
                "id": number,
                "application_id": APPLICATION,
                "type": kind,
                "data": data,
                "channel_id": chat,
                "token": f"interaction-key-{number}",
                "version": 1,
                **who,
                **more,
            }
            self._world.dispatch("INTERACTION_CREATE", interaction)
        return number

    def _written(self, text: str, chat: str, user: Json, reply_to: str | None) -> Json:
        message: Json = {
            "id": self._world.snowflake(),
            "type": 19 if reply_to else 0,
            "channel_id": chat,
            "author": user,
            "content": clean(text),  # Discord's text is UTF-8, which holds no halves of characters
            "timestamp": self._world.instant(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [self._world.me()] if f"<@{BOT}>" in text else [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "flags": 0,
        }
        if is_of_guild(chat):
            message["guild_id"] = GUILD
            message["member"] = {"roles": ["820000000000000007"], "nick": None}
        if reply_to:
            message["message_reference"] = {"type": 0, "message_id": reply_to, "channel_id": chat}
            message["referenced_message"] = self._world.messages[chat].get(reply_to)
        return message

    def _attached(self, chat: str, name: str, data: bytes, mime: str) -> Json:
        number = self._world.snowflake()
        self._world.files[number] = (data, mime)
        url = f"{self._world.address}/attachments/{chat}/{number}/{name}"
        return {"id": number, "filename": name, "size": len(data), "url": url, "content_type": mime}

    def sent(self, count: int, *, seconds: float = PATIENCE) -> list[Shown]:
        """Wait until the bot has so many messages; all that it has."""
        return self.wait(self._world.shown, lambda found: len(found) >= count, f"{count} messages", seconds)

    def called(self, name: str) -> list[Call]:
        """The calls of a name so far."""
        with self._world.changed:
            return [call for call in self._world.calls if call.name == name]

    def calls(self, name: str, count: int, *, seconds: float = PATIENCE) -> list[Call]:
        """Wait until there were so many calls of a name."""
        found = lambda: [call for call in self._world.calls if call.name == name]  # noqa: E731
        return self.wait(found, lambda calls: len(calls) >= count, f"{count} of {name}", seconds)

    def answer(self, interaction: str, *, seconds: float = PATIENCE) -> Json:
        """Wait until an interaction is answered; the answer."""
        return self.wait(lambda: self._world.answers[interaction], bool, "an answer", seconds)

    @property
    def answers(self) -> Mapping[str, Json]:
        """Interactions by id; empty where no answer was given."""
        with self._world.changed:
            return dict(self._world.answers)

    def opened(self, count: int, *, seconds: float = PATIENCE) -> list[Json]:
        """Wait until sessions were begun or resumed so often; what each said, and where, without the token."""
        return self.wait(
            lambda: list(self._world.opened), lambda all_: len(all_) >= count, f"{count} sessions", seconds
        )

    def closed(self, count: int, *, seconds: float = PATIENCE) -> list[int | None]:
        """Wait until so many gateway connections ended; with which codes."""
        return self.wait(
            lambda: list(self._world.closes), lambda codes: len(codes) >= count, f"{count} ends", seconds
        )

    def is_online(self) -> bool:
        """Whether a session has a connection."""
        with self._world.changed:
            return any(session.send is not None for session in self._world.sessions.values())

    def online(self, *, seconds: float = PATIENCE) -> None:
        """Wait until the bot is there."""
        self.wait(self.is_online, bool, "the bot", seconds)

    def attachments(self, number: str, *, chat: str = CHAT) -> list[str]:
        """The ids of what hangs on a message."""
        with self._world.changed:
            return [str(each["id"]) for each in self._world.messages[chat][number]["attachments"]]

    def reacted(self, count: int, *, seconds: float = PATIENCE) -> list[tuple[str, str, str]]:
        """Wait until so many reactions of the bot's stand; all that do."""
        return self.wait(
            lambda: list(self._world.reactions),
            lambda all_: len(all_) == count,
            f"{count} reactions",
            seconds,
        )

    @property
    def reactions(self) -> list[tuple[str, str, str]]:
        """Chat, message and emoji of each reaction of the bot's."""
        with self._world.changed:
            return list(self._world.reactions)

    @property
    def typing(self) -> list[str]:
        """Chats in which the bot has shown that it writes."""
        with self._world.changed:
            return list(self._world.typing)

    @property
    def commands(self) -> list[Json]:
        """The commands that people can pick."""
        with self._world.changed:
            return list(self._world.commands)

    async def until_sent(self, count: int, *, seconds: float = PATIENCE) -> list[Shown]:
        """As `sent`, beside the loop."""
        return await self.until(partial(self.sent, count, seconds=seconds))

    def until_met(self) -> None:
        """Wait until the last fault that was arranged has met its call."""
        self.wait(lambda: self._world.faults[-1].left <= 0, bool, "the call of a fault", PATIENCE)
