"""The Signal channel: what people write, and what we answer, through signal-cli."""

from functools import partial
from types import TracebackType
from typing import Self, assert_never

import anyio
from anyio.abc import TaskGroup

from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRejected,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
)
from fermix.domain.caps import CAPS
from fermix.domain.delivery import MediaPart, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, PlatformMessageId
from fermix.domain.phone_numbers import digits_of
from fermix.infrastructure.channels.signal.attachments import SignalAttachments
from fermix.infrastructure.channels.signal.errors import (
    CannotStart,
    NoAnswer,
    NotSent,
    Refused,
    failure_in,
    listen_error,
    results_of,
    send_error,
)
from fermix.infrastructure.channels.signal.mailbox import HEARD
from fermix.infrastructure.channels.signal.outgoing_files import OutgoingFiles
from fermix.infrastructure.channels.signal.same_moment import SameMoment
from fermix.infrastructure.channels.signal.transport import Transport
from fermix.infrastructure.channels.signal.typing import SignalTyping
from fermix.infrastructure.channels.signal.wire_in import OurAccount, Silent, Unreadable, read_notice
from fermix.infrastructure.channels.signal.wire_out import Order, file_order, reaction_order, text_order

_FEATURES = ChannelFeatures.within(CAPS[ChannelName("signal")])


class SignalChannel:
    """One account. Entered and left as a context manager, which ends signal-cli.

    signal-cli acknowledges what it receives by itself. Each message is committed before the next line of its is
    read, so that what a death can lose is what stood in the pipe.

    Args:
        number: the account, with `+`.
    """

    def __init__(
        self, *, number: str, transport: Transport, files: OutgoingFiles, attachments: SignalAttachments
    ) -> None:
        self._us = OurAccount(number=number)
        self._transport = transport
        self._files = files
        self._attachments = attachments
        self._typing = SignalTyping(transport=transport)
        self._keys = SameMoment()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._transport.keep)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)  # what happened inside is not the group's to wrap

    @property
    def account(self) -> AccountId:
        """The digits of our phone number."""
        return AccountId(digits_of(self._us.number))

    @property
    def features(self) -> ChannelFeatures:
        """Text of any length, files of 100 MiB, any single emoji; nothing is offered again."""
        return _FEATURES

    @property
    def typing(self) -> SignalTyping:
        """Shown while the lasting process runs."""
        return self._typing

    @property
    def media_source(self) -> SignalAttachments:
        """Files that signal-cli has stored."""
        return self._attachments

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # Signal keeps the place
        """Listen until cancelled; see the `Channel` port."""
        try:
            await self._transport.listen(partial(self._take, inbox))
        except (CannotStart, NotSent, NoAnswer, Refused) as exc:
            raise listen_error(exc) from exc

    async def _take(self, inbox: Inbox, notice: object) -> None:
        if notice is HEARD:
            await inbox.accept(())
            return
        heard = read_notice(notice, self._us)
        if isinstance(heard, Unreadable):
            inbox.unreadable()
        elif not isinstance(heard, Silent):
            heard["key"] = self._keys.key_of(heard)
            # Nothing is offered again here; whoever was not taken has been told so by the gateway.
            await inbox.accept((Offered(message=heard),))

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; see the `Channel` port."""
        must_carry(self.features, part.body)
        chat = part.target.chat
        match part.body:
            case TextPart(text=text):
                return _delivered(await self._do(text_order(chat, text)))
            case MediaPart() as body:
                async with self._files.on_disk(body, nonce=part.nonce) as path:
                    order = file_order(chat, str(path), body.caption, size=body.blob.size_bytes)
                    return _delivered(await self._do(order))
            case ReactionPart() as body:
                if (reaction := reaction_order(chat, body)) is None:
                    raise ChannelRejected("the message that was reacted to has no id of Signal's")
                _delivered(await self._do(reaction))
                return Delivered()
            case _:
                assert_never(part.body)

    async def _do(self, order: Order) -> object:
        try:
            return await self._transport.do(order)
        except (CannotStart, NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc


def _delivered(answer: object) -> Delivered:
    failure = failure_in(results_of(answer))
    if failure is not None:
        raise failure
    stamp = answer.get("timestamp") if isinstance(answer, dict) else None
    if type(stamp) is not int:
        raise ChannelOutcomeUnknown("signal-cli's answer is none")
    return Delivered(platform_id=PlatformMessageId(str(stamp)))
