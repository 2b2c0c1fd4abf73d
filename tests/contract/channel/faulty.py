"""What saboteurs are made of: a channel that does as the one in memory does, and places to change one thing."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import (
    Buttons,
    Channel,
    ChannelError,
    ChannelFeatures,
    Delivered,
    Drafts,
    FetchesMedia,
    Inbox,
    MediaSource,
    Offered,
    OutgoingPart,
    ShowsButtons,
    ShowsDrafts,
    ShowsTyping,
    Typing,
    Verdict,
)
from fermix.domain.delivery import TextPart
from fermix.domain.ids import AccountId, ChatId
from fermix.domain.normalise import RawMessage
from fermix.testing.memory_channel import MemoryPlatform
from tests.contract.channel.memory_far_side import MakeChannel


class Faulty:
    """A channel that does as the one inside does; each saboteur changes one thing."""

    def __init__(self, inside: Channel, platform: MemoryPlatform) -> None:
        self.inside = inside
        self.platform = platform

    @property
    def account(self) -> AccountId:
        return self.inside.account

    @property
    def features(self) -> ChannelFeatures:
        return self.inside.features

    @property
    def media_source(self) -> MediaSource | None:
        return self.inside.media_source if isinstance(self.inside, FetchesMedia) else None

    @property
    def drafts(self) -> Drafts | None:
        return self.inside.drafts if isinstance(self.inside, ShowsDrafts) else None

    @property
    def buttons(self) -> Buttons | None:
        return self.inside.buttons if isinstance(self.inside, ShowsButtons) else None

    @property
    def typing(self) -> Typing | None:
        return self.inside.typing if isinstance(self.inside, ShowsTyping) else None

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await self.inside.run(inbox, cursor=cursor)

    async def send(self, part: OutgoingPart) -> Delivered:
        return await self.inside.send(part)


Accept: TypeAlias = Callable[[Sequence[Offered], CursorMove | None], Awaitable[tuple[Verdict, ...]]]


class Between:
    """An inbox before the real one, in which a saboteur changes what is offered or answered."""

    def __init__(self, inbox: Inbox, accept: Accept) -> None:
        self._inbox = inbox
        self._accept = accept

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        return await self._accept(offered, cursor)

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        return await self._inbox.moved(old=old, new=new)

    def unreadable(self) -> None:
        self._inbox.unreadable()


Raw: TypeAlias = dict[str, Any]


def offers(change: Callable[[Raw], Raw]) -> MakeChannel:
    """A saboteur that changes each message it offers."""

    class Offers(Faulty):
        @override
        async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
            async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
                changed = [
                    replace(each, message=cast("RawMessage", change(dict(each.message)))) for each in offered
                ]
                return await inbox.accept(changed, cursor=move)

            await super().run(Between(inbox, accept), cursor=cursor)

    return Offers


def forgets(*names: str) -> MakeChannel:
    """A saboteur that leaves something out of each message."""
    return offers(lambda raw: {name: value for name, value in raw.items() if name not in names})


def answers(change: Callable[[tuple[Verdict, ...]], tuple[Verdict, ...]]) -> MakeChannel:
    """A saboteur that takes the inbox's verdicts for others."""

    class Answers(Faulty):
        @override
        async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
            async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
                return change(await inbox.accept(offered, cursor=move))

            await super().run(Between(inbox, accept), cursor=cursor)

    return Answers


def sends(change: Callable[[OutgoingPart], OutgoingPart]) -> MakeChannel:
    """A saboteur that sends something else."""

    class Sends(Faulty):
        @override
        async def send(self, part: OutgoingPart) -> Delivered:
            return await super().send(change(part))

    return Sends


def sends_text(change: Callable[[str], str]) -> MakeChannel:
    """A saboteur that sends another text."""
    return sends(
        lambda part: (
            replace(part, body=replace(part.body, text=change(part.body.text)))
            if isinstance(part.body, TextPart)
            else part
        )
    )


def claims(change: Callable[[ChannelFeatures], ChannelFeatures]) -> MakeChannel:
    """A saboteur that says of itself what is not so."""

    class Claims(Faulty):
        @property
        @override
        def features(self) -> ChannelFeatures:
            return change(super().features)

    return Claims


def takes_for(concerned: Callable[[ChannelError], bool], instead: ChannelError | Delivered) -> MakeChannel:
    """A saboteur that takes one failure of sending for something else."""

    class TakesFor(Faulty):
        @override
        async def send(self, part: OutgoingPart) -> Delivered:
            try:
                return await super().send(part)
            except ChannelError as exc:
                if not concerned(exc):
                    raise
                if isinstance(instead, ChannelError):
                    raise instead from exc
                return instead

    return TakesFor


def hears(error: type[ChannelError], instead: ChannelError) -> MakeChannel:
    """A saboteur that takes one failure of listening for something else."""

    class Hears(Faulty):
        @override
        async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
            try:
                await super().run(inbox, cursor=cursor)
            except error as exc:
                raise instead from exc

    return Hears
