"""The endpoint that Meta calls: proven before it is read, and answered after it is stored."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.webhooks import WebhookAnswer, WebhookRequest
from fermix.infrastructure.channels.whatsapp.errors import in_words
from fermix.infrastructure.channels.whatsapp.signature import answer_to_challenge, is_signed
from fermix.infrastructure.channels.whatsapp.wire_in import (
    NotDelivered,
    OddPayload,
    Trouble,
    Unreadable,
    read,
)

PATH = "/webhook/whatsapp"
MAX_BYTES = 4 * 1024 * 1024
"""More than any notification has: Meta names 3 MB as the largest."""

_log = logging.getLogger("fermix.whatsapp")

_AGAIN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})
_JSON = "application/json"
_TAKEN = WebhookAnswer(body=b'{"ok":true}', content_type=_JSON)
_NOT_NOW = WebhookAnswer(status=503, body=b'{"error":"Try again later"}', content_type=_JSON)
_STRANGER = WebhookAnswer(status=401, body=b'{"error":"Unauthorized"}', content_type=_JSON)
_ODD = WebhookAnswer(status=400, body=b'{"error":"Invalid webhook"}', content_type=_JSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """What Meta proves itself with.

    Attributes:
        app_secret: signs every call.
        verify_token: the word that is repeated when the webhook is set up.
    """

    app_secret: str = field(repr=False)
    verify_token: str = field(repr=False)


class WhatsAppWebhook:
    """The `Webhook` of WhatsApp."""

    def __init__(self, *, proofs: Proofs, phone_number_id: str) -> None:
        self._proofs = proofs
        self._phone_number_id = phone_number_id
        self._inbox: Inbox | None = None

    @property
    def path(self) -> str:
        """Where it is."""
        return PATH

    @property
    def methods(self) -> frozenset[str]:
        """It is asked with GET once, when it is set up."""
        return frozenset({"GET", "POST"})

    @property
    def max_bytes(self) -> int:
        """Longest body."""
        return MAX_BYTES

    @contextmanager
    def filling(self, inbox: Inbox) -> Generator[None]:
        """Hand what comes in to an inbox while the block lasts; at other times Meta is told to call again."""
        self._inbox = inbox
        try:
            yield
        finally:
            if self._inbox is inbox:
                self._inbox = None

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """Check and take one call; see the `Webhook` port."""
        if request.method != "POST":
            challenge = answer_to_challenge(request.query, verify_token=self._proofs.verify_token)
            return (
                _STRANGER if challenge is None else WebhookAnswer(body=challenge.encode("utf-8", "replace"))
            )
        signature = request.headers.get("x-hub-signature-256", "")
        if not is_signed(request.body, signature, secret=self._proofs.app_secret):
            _log.warning("whatsapp.signature_refused", extra={"signed": bool(signature)})
            return _STRANGER
        if self._inbox is None:
            return _NOT_NOW
        return await self._take(request.body, self._inbox)

    async def _take(self, body: bytes, inbox: Inbox) -> WebhookAnswer:
        messages = list[Offered]()
        try:
            for heard in read(body, phone_number_id=self._phone_number_id):
                match heard:
                    case NotDelivered(message=message, code=code):
                        _log.warning(
                            "whatsapp.not_delivered",
                            extra={"message_id": message, "code": code, "cause": in_words(code)},
                        )
                    case Trouble(code=code):
                        _log.warning("whatsapp.trouble", extra={"code": code, "cause": in_words(code)})
                    case Unreadable():
                        inbox.unreadable()
                    case _:
                        messages.append(Offered(message=heard))
        except OddPayload:
            inbox.unreadable()
            return _ODD
        if not messages:
            return _TAKEN
        try:
            verdicts = await inbox.accept(messages)
        except LedgerError as exc:
            _log.warning("whatsapp.not_stored", extra={"cause": type(exc).__name__})
            return _NOT_NOW
        return _NOT_NOW if _AGAIN.intersection(verdicts) else _TAKEN
