"""The word that somebody is typing, which Signal's apps show for some seconds or until a message arrives."""

from fermix.application.ports.channel import ChannelRejected
from fermix.domain.route import Target
from fermix.infrastructure.channels.signal.errors import CannotStart, NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.signal.transport import Transport
from fermix.infrastructure.channels.signal.wire_out import typing_order


class SignalTyping:
    """See the `Typing` port."""

    def __init__(self, *, transport: Transport) -> None:
        self._transport = transport

    async def show(self, target: Target) -> None:
        """Show it in the chat; not where it would take a process, and a place before the answer, of its own."""
        if not self._transport.is_quick:
            raise ChannelRejected("typing is not shown without a lasting process")
        try:
            await self._transport.do(typing_order(target.chat))
        except (CannotStart, NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc
