"""The Slack channel: what people write comes in through a webhook, answers leave through the Web API."""

import logging
import re
from contextlib import nullcontext
from datetime import timedelta
from types import TracebackType
from typing import Self, assert_never

import anyio

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    OutgoingPart,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.remarks import Remark
from fermix.domain.commands import CommandSpec
from fermix.domain.delivery import MediaPart, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChatId
from fermix.infrastructure.channels.slack.drafts import SlackDrafts, id_in
from fermix.infrastructure.channels.slack.errors import (
    CREDENTIAL_REFUSED,
    CallError,
    NoAnswer,
    NotSent,
    Refused,
    listen_error,
    send_error,
)
from fermix.infrastructure.channels.slack.holds import Holds
from fermix.infrastructure.channels.slack.media import SlackMedia, upload
from fermix.infrastructure.channels.slack.reactions import Reactions
from fermix.infrastructure.channels.slack.socket_mode import SlackSocket
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.infrastructure.channels.slack.webhook import SlackWebhook
from fermix.infrastructure.channels.slack.wire_in import Us
from fermix.infrastructure.channels.slack.wire_out import CAPS_HERE, MAX_TEXT, message

_log = logging.getLogger("fermix.slack")

TOKEN_CHECKED_EVERY = timedelta(seconds=50)
"""Slack tells a webhook nothing of a token that was revoked; `auth.test` may be asked far more often."""

_NUMBERS = re.compile(r"xoxb-(\d+)-(\d+)-")


def account_of(token: str) -> AccountId:
    """The numbers of workspace and bot that a token begins with, which stay when it is made anew."""
    numbers = _NUMBERS.match(token)
    return AccountId(f"{numbers[1]}-{numbers[2]}" if numbers else "bot")


def names_of(commands: tuple[CommandSpec, ...]) -> frozenset[str]:
    """Every name and alias of these commands."""
    return frozenset(name for spec in commands for name in (spec.name, *spec.aliases))


class SlackChannel:
    """One app in one workspace. Entered and left as a context manager, which closes its connections.

    Where there is a `socket`, Slack's calls come over it.
    """

    def __init__(
        self,
        *,
        api: SlackApi,
        account: AccountId,
        webhook: SlackWebhook,
        blobs: ReadsBlobs,
        clock: Clock,
        socket: SlackSocket | None = None,
    ) -> None:
        self._api = api
        self._socket = socket
        self._account = account
        self._webhook = webhook
        self._blobs = blobs
        self._clock = clock
        self._drafts = SlackDrafts(api=api, clock=clock)
        self._media = SlackMedia(api)
        self._reactions = Reactions(api)
        self._holds = Holds()
        self._listening: anyio.CancelScope | None = None
        self._us: Us | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.aclose()

    @property
    def account(self) -> AccountId:
        """The app in its workspace."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """All that the table of caps says."""
        return ChannelFeatures.within(CAPS_HERE, offers_again=True, webhook=True)

    @property
    def webhook(self) -> SlackWebhook:
        """The endpoint that Slack calls."""
        return self._webhook

    @property
    def drafts(self) -> SlackDrafts:
        """An app may change and remove what it has written, in every chat."""
        return self._drafts

    @property
    def media_source(self) -> SlackMedia:
        """Files are fetched by their id, as long as Slack keeps them."""
        return self._media

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the endpoint turned away lately."""
        return self._webhook.remarks

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # Slack calls again
        """Take what Slack brings until cancelled; see the `Channel` port.

        Ends as rejected when a send, or a look every minute, finds out that the token is refused: answers that
        cannot leave would pile up.
        Once it is known who we are, what comes in is taken from the start on, since Slack calls for minutes only.
        """
        with nullcontext() if self._us is None else self._webhook.filling(inbox, self._us):
            try:
                us = self._us = _us(await self._api.ask("auth.test"))
            except (NotSent, NoAnswer, Refused) as exc:
                raise listen_error(exc) from exc

        async def listens() -> None:
            await inbox.accept([])
            _log.info("slack.listens", extra={"user": us.user, "account": self._account})

        failure: Exception = ChannelRejected(CREDENTIAL_REFUSED)
        with self._webhook.filling(inbox, us):
            async with anyio.create_task_group() as tasks:
                self._listening = tasks.cancel_scope
                tasks.start_soon(self._watch_token)
                try:
                    if self._socket is not None:
                        await self._socket.listen(self._webhook.take, listens)
                    await listens()
                    await anyio.sleep_forever()
                except Exception as exc:  # noqa: BLE001  # raised below, out of the group that would wrap it
                    failure = exc
                    tasks.cancel_scope.cancel()
        raise failure

    async def _watch_token(self) -> None:
        """Find out that the token is refused although nothing is to be sent; other trouble is a send's to tell."""
        while True:
            await self._clock.sleep_until(self._clock.now() + TOKEN_CHECKED_EVERY)
            try:
                await self._api.ask("auth.test")
            except (NotSent, NoAnswer, Refused) as exc:
                if isinstance(exc, Refused) and exc.is_about_us and self._listening is not None:
                    self._listening.cancel()

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; see the `Channel` port. A wait that Slack asked for is kept for its chat."""
        must_carry(self.features, part.body)
        if isinstance(part.body, TextPart) and len(part.body.text) > MAX_TEXT:
            raise ChannelRejected(f"the text has {len(part.body.text)} characters; {MAX_TEXT} are allowed")
        chat = part.target.chat
        self._holds.must_be_over(chat, now=self._clock.monotonic())
        try:
            return await self._deliver(part)
        except (NotSent, NoAnswer, Refused) as exc:
            raise self._noted(chat, exc) from exc

    async def _deliver(self, part: OutgoingPart) -> Delivered:
        body, target = part.body, part.target
        match body:
            case TextPart(text=text):
                return Delivered(
                    platform_id=id_in(await self._api.call("chat.postMessage", **message(target, text)))
                )
            case ReactionPart():
                await self._reactions.put(target, body)
                return Delivered()
            case MediaPart():
                await upload(self._api, self._blobs, target, body)
                return Delivered()
            case _:
                assert_never(body)

    def _noted(self, chat: ChatId, exc: CallError) -> Exception:
        error = send_error(exc)
        if isinstance(exc, Refused) and exc.is_about_us and self._listening is not None:
            self._listening.cancel()
        if isinstance(error, ChannelRateLimited):
            self._holds.hold(chat, error.retry_after, now=self._clock.monotonic())
        return error


def _us(answer: object) -> Us:
    """Who `auth.test` says we are.

    Raises:
        ChannelUnreachable: it does not say.
    """
    told = answer if isinstance(answer, dict) else {}
    user, bot = told.get("user_id"), told.get("bot_id")
    if not isinstance(user, str) or not user:
        raise ChannelUnreachable("Slack does not say who we are")
    return Us(user=user, bot=bot if isinstance(bot, str) else "")
