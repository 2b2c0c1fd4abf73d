"""The WhatsApp channel: what people write comes in through a webhook, answers leave through the Cloud API."""

import logging
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, assert_never

import anyio

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    Delivered,
    Inbox,
    OutgoingPart,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.remarks import Remark
from fermix.domain.delivery import MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import AccountId, PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.whatsapp.errors import (
    CREDENTIAL_REFUSED,
    NoAnswer,
    NotSent,
    Refused,
    concerns_all,
    listen_error,
    send_error,
)
from fermix.infrastructure.channels.whatsapp.graph import Graph
from fermix.infrastructure.channels.whatsapp.holds import Holds
from fermix.infrastructure.channels.whatsapp.media import WhatsAppMedia, upload
from fermix.infrastructure.channels.whatsapp.typing import WhatsAppTyping
from fermix.infrastructure.channels.whatsapp.webhook import Proofs, WhatsAppWebhook
from fermix.infrastructure.channels.whatsapp.wire_out import (
    CAPS_HERE,
    MAX_CAPTION,
    MAX_TEXT,
    file_message,
    formatted,
    reaction_message,
    respelt,
    sent_as,
    text_message,
)

_log = logging.getLogger("fermix.whatsapp")

TOKEN_CHECKED_EVERY = timedelta(seconds=50)
"""Meta tells nobody that a token has run out; this is less than half of the calls that an app may make an hour."""


class WhatsAppChannel:
    """One phone number. Entered and left as a context manager, which closes its connections."""

    def __init__(self, *, graph: Graph, proofs: Proofs, blobs: ReadsBlobs, clock: Clock) -> None:
        number = graph.place.phone_number_id
        self._graph = graph
        self._blobs = blobs
        self._clock = clock
        self._account = AccountId(number)
        self._webhook = WhatsAppWebhook(proofs=proofs, phone_number_id=number)
        self._typing = WhatsAppTyping(graph=graph, clock=clock)
        self._media = WhatsAppMedia(graph)
        self._holds = Holds()
        self._refused = anyio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._graph.aclose()

    @property
    def account(self) -> AccountId:
        """The id of the business phone number."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """Text of 4096 characters, files and any single emoji."""
        return ChannelFeatures.within(CAPS_HERE, offers_again=True, webhook=True)

    @property
    def webhook(self) -> WhatsAppWebhook:
        """The endpoint that Meta calls."""
        return self._webhook

    @property
    def typing(self) -> WhatsAppTyping:
        """Every chat can show that an answer is being written."""
        return self._typing

    @property
    def media_source(self) -> WhatsAppMedia:
        """Files are fetched by their id, which Meta keeps for 30 days."""
        return self._media

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the endpoint turned away lately."""
        return self._webhook.remarks

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # Meta keeps what was not taken
        """Take what Meta brings until cancelled; see the `Channel` port.

        Ends as rejected when a send, or a look every minute, finds out that the token is refused: Meta keeps
        messages for days, while answers that cannot leave would pile up here.
        """
        self._refused = anyio.Event()
        with self._webhook.filling(inbox):
            try:
                us = await self._graph.about_us()
            except (NotSent, NoAnswer, Refused) as exc:
                raise listen_error(exc) from exc
            await inbox.accept([])
            _log.info("whatsapp.listens", extra={"number": str(us.get("display_phone_number"))[:40]})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_token)
                await self._refused.wait()
                tasks.cancel_scope.cancel()
            raise ChannelRejected(CREDENTIAL_REFUSED)

    async def _watch_token(self) -> None:
        """Find out that the token is refused although nothing is to be sent; other trouble is a send's to tell."""
        while True:
            await self._clock.sleep_until(self._clock.now() + TOKEN_CHECKED_EVERY)
            try:
                await self._graph.about_us()
            except (NotSent, NoAnswer, Refused) as exc:
                if isinstance(exc, Refused) and exc.is_about_us:
                    self._refused.set()

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; see the `Channel` port.

        A wait that Meta asked for is kept for whoever it concerns. One refusal that says how to do better is
        followed: a number that is not known as it is spelt is tried in its other spelling.
        """
        must_carry(self.features, part.body)
        if isinstance(part.body, TextPart) and len(part.body.text) > MAX_TEXT:
            raise ChannelRejected(f"the text has {len(part.body.text)} characters; {MAX_TEXT} are allowed")
        wait = self._holds.wait_of(part.target.chat, now=self._clock.monotonic())
        if wait is not None:
            raise ChannelRateLimited("Meta asked to wait", retry_after=wait)
        try:
            answer = await self._say(await self._prepared(part.target, part.body))
        except (NotSent, NoAnswer, Refused) as exc:
            raise self._noted(exc, part.target) from exc
        self._typing.is_over(part.target.chat)
        return Delivered() if isinstance(part.body, ReactionPart) else Delivered(platform_id=_id_in(answer))

    async def _prepared(self, target: Target, body: Part) -> dict[str, Any]:
        match body:
            case TextPart(text=text):
                return text_message(target, formatted(text, limit=MAX_TEXT))
            case ReactionPart():
                return reaction_message(target, body)
            case MediaPart(caption=caption):
                how = sent_as(body)
                media = await upload(self._graph, self._blobs, body, how)
                caption = formatted(caption, limit=MAX_CAPTION) if caption.strip() else ""
                return file_message(target, body, how, media=media, caption=caption)
            case _:
                assert_never(body)

    async def _say(self, message: dict[str, Any]) -> Any:
        try:
            return await self._graph.post_message(message)
        except Refused as exc:
            other = respelt(message) if exc.is_about_spelling else None
            if other is None:
                raise
        return await self._graph.post_message(other)

    def _noted(self, exc: NotSent | NoAnswer | Refused, target: Target) -> Exception:
        error = send_error(exc)
        if isinstance(exc, Refused) and exc.is_about_us:
            self._refused.set()
        if isinstance(exc, Refused) and isinstance(error, ChannelRateLimited):
            until = self._clock.monotonic() + error.retry_after.total_seconds()
            self._holds.hold(None if concerns_all(exc) else target.chat, until=until)
        return error


def _id_in(answer: Any) -> PlatformMessageId:
    """The id of what was taken.

    Raises:
        ChannelOutcomeUnknown: the answer names none.
    """
    messages = answer.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    wamid = first.get("id") if isinstance(first, dict) else None
    if not isinstance(wamid, str) or not wamid:
        raise ChannelOutcomeUnknown("WhatsApp answered without the id of the message")
    return PlatformMessageId(wamid)
