"""Buttons, drafts and typing of the platform in memory."""

from contextlib import AbstractContextManager
from typing import Protocol

import anyio.lowlevel

from fermix.application.ports.channel import ChannelOutcomeUnknown, Delivered, OutgoingPart
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.testing.memory_posts import Posts

DRAFT_NONCE = "draft"
"""Drafts are sent once: the platform is not asked to notice doubles of them."""


class Platform(Protocol):
    """What these abilities need of the platform."""

    posts: Posts
    typed: list[str]

    def call(self) -> AbstractContextManager[None]:
        """A call to it; raises `ChannelError`."""
        ...

    def close(self, token: str) -> None:
        """Show a button no longer."""
        ...

    async def take(self, part: OutgoingPart, content: bytes | None = None) -> object:
        """Show a part; raises `ChannelError`."""
        ...


class MemoryButtons:
    """The `Buttons` port over a platform in memory."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def close(self, target: Target, token: str) -> None:  # noqa: ARG002  # the port's
        """See `Buttons.close`."""
        await anyio.lowlevel.checkpoint()
        self._platform.close(token)


class MemoryDrafts:
    """The `Drafts` port over a platform in memory; a draft is called as its message is."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        """See `Drafts.open`."""
        part = OutgoingPart(target=target, body=TextPart(text=text), nonce=DRAFT_NONCE)
        answer = await self._platform.take(part)
        if not isinstance(answer, str):
            raise ChannelOutcomeUnknown("the platform's answer is none")
        return PlatformMessageId(answer)

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        """See `Drafts.edit`."""
        await self.seal(target, draft, TextPart(text=text))

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:  # noqa: ARG002  # the port's
        """See `Drafts.seal`."""
        await anyio.lowlevel.checkpoint()
        with self._platform.call():
            self._platform.posts.change(draft, body)
        return Delivered(platform_id=draft)

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:  # noqa: ARG002  # the port's
        """See `Drafts.discard`."""
        await anyio.lowlevel.checkpoint()
        with self._platform.call():
            self._platform.posts.remove(draft)


class MemoryTyping:
    """The `Typing` port over a platform in memory."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def show(self, target: Target) -> None:
        """See `Typing.show`."""
        await anyio.lowlevel.checkpoint()
        with self._platform.call():
            self._platform.typed.append(target.chat)
