"""Drafts: messages of ours that are edited while their text is written, and deleted when none comes of them."""

from typing import Any

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    Delivered,
)
from fermix.application.ports.clock import Clock
from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.slack.holds import Holds
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.infrastructure.channels.slack.wire_in import is_ts
from fermix.infrastructure.channels.slack.wire_out import edit, message


class SlackDrafts:
    """See the `Drafts` port. A draft is called as its message is, which means nothing in another chat.

    A wait that Slack asks for is kept for drafts of that chat and for nothing else: they are what it asked to
    slow down, and a reply is worth a try of its own.
    """

    def __init__(self, *, api: SlackApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._holds = Holds()

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        """Send the first text as any message, in its thread."""
        self._holds.must_be_over(target.chat, now=self._clock.monotonic())
        return id_in(await self._show(target, "chat.postMessage", message(target, text)))

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        """Replace the text, unless Slack asked to wait."""
        self._holds.must_be_over(target.chat, now=self._clock.monotonic())
        await self._show(target, "chat.update", edit(target, _ts(draft), text))

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        """Replace the text for good, at once."""
        await self._show(target, "chat.update", edit(target, _ts(draft), body.text))
        return Delivered(platform_id=draft)

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:
        """Delete the message."""
        try:
            await self._api.call("chat.delete", channel=target.chat, ts=_ts(draft))
        except (NotSent, NoAnswer, Refused) as exc:
            if not (isinstance(exc, Refused) and exc.code == "message_not_found"):
                raise send_error(exc) from exc

    async def _show(self, target: Target, method: str, parameters: dict[str, object]) -> Any:
        try:
            return await self._api.call(method, **parameters)
        except (NotSent, NoAnswer, Refused) as exc:
            error = send_error(exc)
            if isinstance(error, ChannelRateLimited):
                self._holds.hold(target.chat, error.retry_after, now=self._clock.monotonic())
            raise error from exc


def id_in(answer: Any) -> PlatformMessageId:
    """The id of what was taken.

    Raises:
        ChannelOutcomeUnknown: the answer names none.
    """
    ts = answer.get("ts")
    if not is_ts(ts):
        raise ChannelOutcomeUnknown("Slack answered without the id of the message")
    return PlatformMessageId(ts)


def _ts(draft: PlatformMessageId) -> str:
    if not is_ts(draft):
        raise ChannelRejected("not a draft of Slack's")
    return draft
