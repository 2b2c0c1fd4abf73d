"""The Telegram channel: messages in by long polling, and out with formatting and files."""

import logging
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

import anyio

from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelRateLimited,
    ChannelUnreachable,
    Delivered,
    Inbox,
    OutgoingPart,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.remarks import Remark
from fermix.domain.commands import CommandSpec
from fermix.domain.ids import AccountId
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.drafts import TelegramDrafts
from fermix.infrastructure.channels.telegram.errors import (
    NoAnswer,
    NotSent,
    Refused,
    listen_error,
    send_error,
)
from fermix.infrastructure.channels.telegram.fetching import TelegramMedia
from fermix.infrastructure.channels.telegram.moves import Moves
from fermix.infrastructure.channels.telegram.outgoing import Outgoing
from fermix.infrastructure.channels.telegram.pace import Pace
from fermix.infrastructure.channels.telegram.polling import Patience, Poller, Position
from fermix.infrastructure.channels.telegram.taps import TapAnswers, TelegramButtons, beside
from fermix.infrastructure.channels.telegram.token_lock import TokenLock
from fermix.infrastructure.channels.telegram.typing import TelegramTyping
from fermix.infrastructure.channels.telegram.wire_in import OddUpdate, OurBot, read_us
from fermix.infrastructure.channels.telegram.wire_out import CAPS_HERE, menu

MENU_SECONDS = 5.0

_log = logging.getLogger("fermix.telegram")


PRIVACY_MODE = Remark(
    text="its privacy mode is on, so in groups it sees only commands, replies to it and mentions; to let it see "
    "all: @BotFather, /setprivacy, Disable, then take the bot out of the group and add it again"
)
"""What its owner reads of a bot that Telegram keeps most of a group's messages from."""

_PATIENCE = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """How the channel listens.

    Attributes:
        lock: held while it does, so that no other home reads the same bot; `None`: nobody looks.
    """

    patience: Patience = _PATIENCE
    lock: TokenLock | None = None


_USUAL = Listening()


def account_of(token: str) -> AccountId:
    """The bot's user id: the part of its token before the colon."""
    return AccountId(token.partition(":")[0])


class TelegramChannel:
    """One bot. Entered and left as a context manager, which closes its connections."""

    def __init__(
        self,
        *,
        api: BotApi,
        account: AccountId,
        commands: tuple[CommandSpec, ...],
        pace: Pace,
        clock: Clock,
        listening: Listening = _USUAL,
    ) -> None:
        self._api = api
        self._listening = listening
        self._account = account
        self._commands = commands
        self._pace = pace
        self._clock = clock
        self._moves = Moves()
        self._position = Position()
        self._typing = TelegramTyping(api=api, moves=self._moves)
        self._drafts = TelegramDrafts(api=api, moves=self._moves, pace=pace, clock=clock)
        self._buttons = TelegramButtons(api=api)
        self._media = TelegramMedia(api=api)
        self._outgoing = Outgoing(api=api, moves=self._moves, buttons=self._buttons)
        self._menu_is_set = False
        self._us: OurBot | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.aclose()

    @property
    def account(self) -> AccountId:
        """The bot's user id."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """All that the table of caps says."""
        return ChannelFeatures.within(CAPS_HERE, offers_again=True)

    @property
    def typing(self) -> TelegramTyping:
        """Every chat of Telegram's can show that an answer is being written."""
        return self._typing

    @property
    def drafts(self) -> TelegramDrafts:
        """A bot may change and remove what it has written, in every chat."""
        return self._drafts

    @property
    def buttons(self) -> TelegramButtons:
        """Inline keyboards, in every chat."""
        return self._buttons

    @property
    def media_source(self) -> TelegramMedia:
        """Whatever people send can be fetched, up to 20 MB."""
        return self._media

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Whether it sees what people write in groups, once Telegram has told."""
        return () if self._us is None or self._us.hears_all else (PRIVACY_MODE,)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # Telegram keeps the place
        """Listen until cancelled; see the `Channel` port."""
        lock = self._listening.lock
        with nullcontext() if lock is None else lock.held():
            await self._listen(inbox)

    async def _listen(self, inbox: Inbox) -> None:
        answers = TapAnswers(api=self._api, buttons=self._buttons)
        async with self._api.polling(), beside(answers.run):
            us = self._us = await self._introduce()
            poller = Poller(
                api=self._api,
                us=us,
                clock=self._clock,
                patience=self._listening.patience,
                position=self._position,
                moved=self._moves.remember,
                tapped=answers.tapped,
            )
            await poller.look(inbox)
            _log.info("telegram.listens", extra={"bot": us.name, "account": self._account})
            await self._set_menu()
            await poller.listen(inbox)

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; see the `Channel` port.

        What comes too fast does not wait here, so that no other chat waits behind it.
        """
        must_carry(self.features, part.body)
        chat = self._moves.now(part.target.chat)
        wait = self._pace.take(chat, now=self._clock.monotonic())
        if wait > 0:
            raise ChannelRateLimited(
                "this would be too fast for Telegram", retry_after=timedelta(seconds=wait)
            )
        try:
            return await self._outgoing.send(part, chat)
        except (NotSent, NoAnswer, Refused) as exc:
            error = send_error(exc)
            if isinstance(error, ChannelRateLimited):
                until = self._clock.monotonic() + error.retry_after.total_seconds()
                self._pace.hold(chat, until=until)
            raise error from exc

    async def _introduce(self) -> OurBot:
        try:
            return read_us(await self._api.call("getMe"))
        except (NotSent, NoAnswer, Refused) as exc:
            raise listen_error(exc) from exc
        except OddUpdate as exc:
            raise ChannelUnreachable(str(exc)) from exc

    async def _set_menu(self) -> None:
        """Show the commands in the chats' menu, once; without it they work as well."""
        if self._menu_is_set:
            return
        try:
            with anyio.fail_after(MENU_SECONDS):
                await self._api.call("setMyCommands", commands=menu(self._commands))
        except (NotSent, NoAnswer, Refused, TimeoutError) as exc:
            _log.warning("telegram.menu_not_set", extra={"cause": type(exc).__name__})
            return
        self._menu_is_set = True
