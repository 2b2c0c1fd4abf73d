"""The gateway as one channel sees it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.stages import Door
from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import Offered, Verdict
from fermix.domain.ids import ChatId
from fermix.domain.route import ChatMove


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInbox:
    """What is offered here goes through the door of its channel."""

    gateway: Gateway
    door: Door

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        """Take one list; see the `Inbox` port. The cursor is kept under the channel's own name."""
        own = None if cursor is None else replace(cursor, origin=self.door.registration.origin)
        receipts = await self.gateway.accept(offered, self.door, cursor=own)
        return tuple(receipt.verdict for receipt in receipts)

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        """Take note of a chat's new id; see the `Inbox` port."""
        ours = self.door.registration
        move = ChatMove(channel=ours.channel, account=ours.account, old=old, new=new)
        return await self.gateway.move_chat(move)

    def unreadable(self) -> None:
        """Count what could not be read; see the `Inbox` port."""
        self.gateway.count_unreadable(self.door.registration.channel)
