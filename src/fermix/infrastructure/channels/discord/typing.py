"""The words "… is typing" in a chat, which Discord shows for ten seconds or until a message arrives."""

from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.discord.rest import RestClient
from fermix.infrastructure.channels.discord.wire_out import number_of


class DiscordTyping:
    """See the `Typing` port."""

    def __init__(self, *, rest: RestClient) -> None:
        self._rest = rest

    async def show(self, target: Target) -> None:
        """Show it in the chat."""
        try:
            await self._rest.send_typing(number_of(target.chat))
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc
