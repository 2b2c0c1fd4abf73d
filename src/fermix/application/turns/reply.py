"""Showing a file or a reaction before a turn ends: committed as any part, then sent, then told how that ended."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.delivery.deliverer import Deliverer, EarlyPart
from fermix.application.ports.channel import Channel, ChannelFeatures
from fermix.application.ports.outbox import NotDelivered, Sent
from fermix.application.ports.reply import REACT, SEND_ATTACHMENT, NotShown, ShowAnswer, Shown, UnderWay
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.caps import MediaCap
from fermix.domain.captions import with_whole_caption
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart
from fermix.domain.ids import ChannelName
from fermix.domain.reactions import NoReactions, Reactions
from fermix.domain.recovery import Repeat

ANSWERED_WITHIN = 10.0
"""Seconds that a turn waits for a platform's answer: a model that knows of a refusal can say so in words."""


class OfferReply:
    """Decides which turns may show something before they end, and gives each of them its way."""

    def __init__(self, *, channels: Mapping[ChannelName, Channel], deliverer: Deliverer) -> None:
        self._channels = channels
        self._deliverer = deliverer

    def seam(self, claim: ClaimedTurn, journal: Journal) -> "TurnReply | None":
        """The way of one turn; `None` where there is none: its channel carries text alone, or it was handed on."""
        channel = self._channels.get(claim.messages[-1].target.channel)
        if channel is None or claim.scope.delegated:
            return None
        features = channel.features
        if not features.media_out and isinstance(features.reactions, NoReactions):
            return None
        return TurnReply(deliverer=self._deliverer, features=features, claim=claim, journal=journal)


@dataclass(slots=True, kw_only=True)
class TurnReply:
    """See `ReplySeam`.

    Attributes:
        shown: whatever was not refused, in order: what a turn without text has answered with.
    """

    deliverer: Deliverer
    features: ChannelFeatures
    claim: ClaimedTurn
    journal: Journal
    shown: list[Part] = field(default_factory=list[Part])

    @property
    def files(self) -> Mapping[MediaKind, MediaCap]:
        """See `ReplySeam.files`."""
        return self.features.media_out

    @property
    def reactions(self) -> Reactions:
        """See `ReplySeam.reactions`."""
        return self.features.reactions

    async def show_file(self, file: MediaPart) -> ShowAnswer:
        """See `ReplySeam.show_file`.

        A turn that has sent a file is not run again after a death, since the file would come twice. What was
        committed by then leaves all the same.
        """
        shown, *rest = with_whole_caption(
            file,
            max_caption=self.files[file.kind].max_caption,
            max_text=self.features.max_text,
            unit=self.features.text_unit,
        )
        intent = json.dumps({"file": file.file_name, "kind": file.kind, "bytes": file.blob.size_bytes})
        with anyio.CancelScope(shield=True):
            early = await self._show(SEND_ATTACHMENT, intent, shown, Repeat.UNSAFE)
            for words in rest:
                await self._show("caption", "{}", words, Repeat.TEXT)
        return await self._seen(shown, early)

    async def react(self, emoji: str) -> ShowAnswer:
        """See `ReplySeam.react`.

        A turn that has only reacted may run again after a death: its next reaction takes the place of the first,
        or is the same.
        """
        last = self.claim.messages[-1].message
        reaction = ReactionPart(message=last.id, emoji=emoji)
        with anyio.CancelScope(shield=True):
            early = await self._show(REACT, "{}", reaction, Repeat.HARMLESS)
        return await self._seen(reaction, early)

    async def _show(self, name: str, intent: str, part: Part, repeat: Repeat) -> EarlyPart | None:
        """Commit a part, and send what was committed."""
        target = self.claim.messages[-1].target
        to_send = await self.journal.send(name, intent, part, target, repeat=repeat)
        return self.deliverer.submit_early(self.claim.turn, to_send)

    async def _seen(self, part: Part, early: EarlyPart | None) -> ShowAnswer:
        """What becomes of a part while the turn waits for it."""
        self.shown.append(part)
        match None if early is None else await early.ended(within=ANSWERED_WITHIN):
            case Sent():
                return Shown()
            case NotDelivered(error=cause):
                self.shown.remove(part)
                return NotShown(cause=cause)
            case _:
                return UnderWay()
