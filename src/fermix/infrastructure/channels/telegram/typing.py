"""The word "typing…" in a chat, which Telegram shows for five seconds or until a message arrives."""

from fermix.domain.route import Target
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.telegram.moves import Moves
from fermix.infrastructure.channels.telegram.wire_out import place


class TelegramTyping:
    """See the `Typing` port."""

    def __init__(self, *, api: BotApi, moves: Moves) -> None:
        self._api = api
        self._moves = moves

    async def show(self, target: Target) -> None:
        """Show it in the chat, or in its topic."""
        try:
            await self._api.call(
                "sendChatAction", action="typing", **place(target, self._moves.now(target.chat))
            )
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc
