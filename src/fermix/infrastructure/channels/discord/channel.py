"""The Discord channel: text in over the gateway, text out over REST."""

import base64
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import Self

import anyio

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import ChannelFeatures, Delivered, Inbox, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.domain.commands import CommandSpec
from fermix.domain.ids import AccountId
from fermix.infrastructure.channels.discord.answers import Answers, DiscordButtons
from fermix.infrastructure.channels.discord.drafts import DiscordDrafts
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.discord.fetching import DiscordMedia
from fermix.infrastructure.channels.discord.gateway import GatewayClient
from fermix.infrastructure.channels.discord.history import History
from fermix.infrastructure.channels.discord.inflow import Inflow
from fermix.infrastructure.channels.discord.interactions import command_list, same_commands
from fermix.infrastructure.channels.discord.listening import GatewayLine
from fermix.infrastructure.channels.discord.outgoing import Outgoing
from fermix.infrastructure.channels.discord.rest import Requests, RestClient
from fermix.infrastructure.channels.discord.typing import DiscordTyping
from fermix.infrastructure.channels.discord.wire_in import Room
from fermix.infrastructure.channels.discord.wire_out import LIMITS

COMMANDS_SECONDS = 30.0

NONCE_KEPT_FOR = timedelta(minutes=2)
"""Discord checks an enforced nonce "in the past few minutes"; the least that can mean.
Source: https://docs.discord.com/developers/resources/message#create-message."""

_log = logging.getLogger("fermix.discord")


def account_of(token: str, *, otherwise: str | None = None) -> AccountId:
    """The bot's user id, which the first part of its token holds; `otherwise` where it does not."""
    first = token.partition(".")[0]
    try:
        number = base64.b64decode(first + "=" * (-len(first) % 4), validate=True).decode()
    except ValueError:
        number = ""
    return AccountId(number if number.isascii() and number.isdecimal() else otherwise or "bot")


class DiscordChannel:
    """One bot. Entered and left as a context manager, which closes its connections."""

    def __init__(
        self,
        *,
        requests: Requests,
        account: AccountId,
        commands: tuple[CommandSpec, ...],
        gateway: str | None,
        blobs: ReadsBlobs,
        clock: Clock,
    ) -> None:
        self._requests = requests
        self._account = account
        self._commands = command_list(commands)
        self._rest = RestClient(requests)
        self._line = GatewayLine(gateway=gateway, clock=clock)
        self._client: GatewayClient | None = None
        self._typing = DiscordTyping(rest=self._rest)
        self._drafts = DiscordDrafts(rest=self._rest)
        self._buttons = DiscordButtons(rest=self._rest)
        self._media = DiscordMedia(rest=self._rest, requests=requests)
        self._outgoing = Outgoing(rest=self._rest, blobs=blobs, buttons=self._buttons)
        self._answers = Answers(rest=self._rest, buttons=self._buttons)
        self._inflow = Inflow(
            account=account,
            history=History(rest=self._rest, clock=clock),
            answers=self._answers,
            clock=clock,
            room=self._room,
        )
        self._commands_are_set = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._requests.aclose()

    @property
    def account(self) -> AccountId:
        """The bot's user id."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """Text of 2000 characters. What was not taken is offered again, after a start by reading it back."""
        return replace(ChannelFeatures.within(LIMITS, offers_again=True), nonce_kept_for=NONCE_KEPT_FOR)

    @property
    def typing(self) -> DiscordTyping:
        """Every chat of Discord's can show that an answer is being written."""
        return self._typing

    @property
    def drafts(self) -> DiscordDrafts:
        """A bot may change and remove what it has written, in every chat."""
        return self._drafts

    @property
    def buttons(self) -> DiscordButtons:
        """Buttons under messages, in every chat."""
        return self._buttons

    @property
    def media_source(self) -> DiscordMedia:
        """What hangs on messages, for as long as Discord keeps it."""
        return self._media

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """Listen until cancelled; see the `Channel` port.

        A refusal is told once: whoever connects again and again with a bad token is locked out by Discord.
        """
        if self._line.refusal is not None:
            _log.info("discord.waits_for_restart", extra={"cause": self._line.refusal})
            await anyio.sleep_forever()
        client = GatewayClient(rest=RestClient(self._requests), ears=self._inflow)
        self._client = client
        try:
            async with client.opened():
                await _together(
                    lambda: self._line.run(client),
                    lambda: self._inflow.run(inbox, cursor=cursor),
                    self._answers.run,
                    self._set_commands,
                )
        finally:
            with anyio.CancelScope(shield=True):
                await self._requests.aclose()

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; see the `Channel` port. Sent twice within minutes, it is one message."""
        must_carry(self.features, part.body)
        try:
            return await self._outgoing.send(part)
        except (NotSent, NoAnswer, Refused) as exc:
            raise send_error(exc) from exc

    def _room(self, chat: object) -> Room:
        return Room() if self._client is None else self._client.room(chat)

    async def _set_commands(self) -> None:
        """Show the commands in Discord's own list, once; typed as text they work without it."""
        us = await self._inflow.known()
        if not self._commands_are_set:
            try:
                with anyio.fail_after(COMMANDS_SECONDS):
                    await self._list_commands(int(us.application))
                self._commands_are_set = True
            except (NotSent, NoAnswer, Refused, TimeoutError) as exc:
                _log.warning("discord.commands_not_set", extra={"cause": f"{type(exc).__name__} {exc}"})
        await anyio.sleep_forever()

    async def _list_commands(self, application: int) -> None:
        if not same_commands(self._commands, await self._rest.get_global_commands(application)):
            await self._rest.bulk_upsert_global_commands(application, self._commands)


async def _together(*works: Callable[[], Coroutine[object, object, None]]) -> None:
    """Do several things until one ends or fails; its failure comes out as it is."""
    failures = list[Exception]()
    async with anyio.create_task_group() as tasks:

        async def do(work: Callable[[], Coroutine[object, object, None]]) -> None:
            try:
                await work()
            except Exception as exc:  # noqa: BLE001  # raised below, out of the group that would wrap it
                failures.append(exc)
            tasks.cancel_scope.cancel()

        for work in works:
            tasks.start_soon(do, work)
    if failures:
        raise failures[0]
