"""The endpoint that Meta calls: proven before it is read, and answered after it is stored."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.remarks import Remark
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

WRONG_WORD = "the verify token that was entered at Meta is not whatsapp.verify_token"

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
        self._unsigned = 0
        self._wrong_words = 0

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

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was turned away since Meta was last believed: perhaps a stranger's, perhaps Meta's own."""
        found = list[Remark]()
        if self._unsigned:
            found.append(
                Remark(
                    text="turned away, since not signed with whatsapp.app_secret: "
                    f"{_last(self._unsigned)} of {PATH}; "
                    "if Meta made them, copy the app secret again from App settings, Basic, then restart",
                    is_trouble=True,
                )
            )
        if self._wrong_words:
            found.append(
                Remark(
                    text="turned away, since the verify token was another one: "
                    f"{_last(self._wrong_words)} to set up the webhook; enter the word of whatsapp.verify_token "
                    "under WhatsApp, Configuration, Webhook",
                    is_trouble=True,
                )
            )
        return tuple(found)

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
            return self._answer_challenge(request)
        signature = request.headers.get("x-hub-signature-256", "")
        if not is_signed(request.body, signature, secret=self._proofs.app_secret):
            _log.log(_level(self._unsigned), "whatsapp.signature_refused", extra={"signed": bool(signature)})
            self._unsigned += 1
            return _STRANGER
        self._unsigned = self._wrong_words = 0
        if self._inbox is None:
            return _NOT_NOW
        return await self._take(request.body, self._inbox)

    def _answer_challenge(self, request: WebhookRequest) -> WebhookAnswer:
        challenge = answer_to_challenge(request.query, verify_token=self._proofs.verify_token)
        if challenge is not None:
            self._wrong_words = 0
            return WebhookAnswer(body=challenge.encode("utf-8", "replace"))
        if "hub.verify_token" in request.query:
            _log.log(_level(self._wrong_words), "whatsapp.challenge_refused", extra={"cause": WRONG_WORD})
            self._wrong_words += 1
        return _STRANGER

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


def _level(before: int) -> int:
    """Of the log: what goes on is told once, until Meta is believed again."""
    return logging.DEBUG if before else logging.WARNING


def _last(count: int) -> str:
    return "the last call" if count == 1 else f"the last {count} calls"
