"""The sign that an answer is being written; WhatsApp ties it to the message that is answered."""

from fermix.application.ports.clock import Clock
from fermix.domain.route import Target
from fermix.infrastructure.channels.whatsapp.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.whatsapp.graph import Graph
from fermix.infrastructure.channels.whatsapp.wire_out import typing_notice

SHOWN_SECONDS = 25.0
"""How long it stays; it goes when a message arrives. Source:
https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators."""

_AGAIN_AFTER = SHOWN_SECONDS - 5.0
_MOST = 10_000


class WhatsAppTyping:
    """Shows it; whoever asks again while it stands costs nothing. The message counts as read from then on."""

    def __init__(self, *, graph: Graph, clock: Clock) -> None:
        self._graph = graph
        self._clock = clock
        self._shown: dict[str, float] = {}

    async def show(self, target: Target) -> None:
        """Show it; see the `Typing` port. Without a message that is answered nothing can be shown."""
        if target.reply_to is None:
            return
        now = self._clock.monotonic()
        shown = self._shown.get(target.chat)
        if shown is not None and now - shown < _AGAIN_AFTER:
            return
        try:
            await self._graph.post_message(typing_notice(target.reply_to))
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc
        if len(self._shown) >= _MOST:
            self._shown.clear()
        self._shown[target.chat] = now

    def is_over(self, chat: str) -> None:
        """A message went there, with which the sign goes."""
        self._shown.pop(chat, None)
