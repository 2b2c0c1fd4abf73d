"""The endpoint that Slack calls: proven before it is read, and answered after it is stored."""

import logging
from collections.abc import Generator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any, assert_never

import orjson

from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.remarks import Remark
from fermix.application.ports.webhooks import WebhookAnswer, WebhookRequest
from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.slack.bolt import SlackApp
from fermix.infrastructure.channels.slack.calls import Call, Malformed, Odd, Verification, read_call
from fermix.infrastructure.channels.slack.signature import is_fresh, is_signed
from fermix.infrastructure.channels.slack.wire_in import Unreadable, Us, read_command, read_event

PATH = "/webhook/slack"
MAX_BYTES = 1024 * 1024

_log = logging.getLogger("fermix.slack")

_AGAIN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})
_JSON = "application/json"
_TAKEN = WebhookAnswer()
_NOT_NOW = WebhookAnswer(status=503, body=b'{"error":"Try again later"}', content_type=_JSON)
_STRANGER = WebhookAnswer(status=401, body=b'{"error":"Unauthorized"}', content_type=_JSON)
_ODD = WebhookAnswer(status=400, body=b'{"error":"Invalid webhook"}', content_type=_JSON)


class SlackWebhook:
    """The `Webhook` of Slack.

    `command_names` are the words that make a command of a native one: `/fermix new`.
    """

    def __init__(self, *, signing_secret: str, clock: Clock, command_names: AbstractSet[str]) -> None:
        self._secret = signing_secret
        self._clock = clock
        self._command_names = command_names
        self._filled: tuple[Inbox, Us] | None = None
        self._refused = 0
        self._untimely = False
        self._app = SlackApp(take_event=self._take_event, take_command=self._take_command)

    @property
    def path(self) -> str:
        """Where it is."""
        return PATH

    @property
    def methods(self) -> frozenset[str]:
        """Slack only posts."""
        return frozenset({"POST"})

    @property
    def max_bytes(self) -> int:
        """Longest body."""
        return MAX_BYTES

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was turned away since Slack was last believed: perhaps a stranger's, perhaps Slack's own."""
        if not self._refused:
            return ()
        which = "the last call" if self._refused == 1 else f"the last {self._refused} calls"
        why, remedy = (
            ("signed, but at another time than now", "set the clock of this machine")
            if self._untimely
            else (
                "not signed with slack.signing_secret",
                "if Slack made them, copy the Signing Secret again from Basic Information, then restart",
            )
        )
        return (Remark(text=f"turned away, since {why}: {which} of {PATH}; {remedy}", is_trouble=True),)

    @contextmanager
    def filling(self, inbox: Inbox, us: Us) -> Generator[None]:
        """Hand what comes in to an inbox while the block lasts; at other times Slack is told to call again."""
        filled = self._filled = (inbox, us)
        try:
            yield
        finally:
            if self._filled is filled:
                self._filled = None

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """Check and take one call; see the `Webhook` port."""
        if not self._is_slacks(request):
            return _STRANGER
        return await self.take(request.body, request.headers.get("content-type", ""))

    async def take(self, body: bytes, content_type: str) -> WebhookAnswer:
        """Take a call that is Slack's for sure; what is answered 503 must be made again."""
        read = read_call(body, content_type)
        match read:
            case Verification(challenge=challenge):
                return WebhookAnswer(body=orjson.dumps({"challenge": challenge}), content_type=_JSON)
            case Malformed():
                self._unreadable()
                return _ODD
            case Odd():
                self._unreadable()
                return _TAKEN
            case Call(body=text):
                status = await self._app.dispatch(text, content_type)
                return _NOT_NOW if status == 503 else _TAKEN
            case _:
                assert_never(read)

    def _is_slacks(self, request: WebhookRequest) -> bool:
        timestamp = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        signed = is_signed(request.body, timestamp=timestamp, signature=signature, secret=self._secret)
        fresh = is_fresh(timestamp, now=self._clock.now())
        if signed and fresh:
            self._refused = 0
            return True
        # What goes on is told once, until Slack is believed again.
        level = logging.DEBUG if self._refused else logging.WARNING
        _log.log(level, "slack.signature_refused", extra={"signed": signed, "fresh": fresh})
        self._refused += 1
        self._untimely = signed
        return False

    def _unreadable(self) -> None:
        if self._filled is not None:
            self._filled[0].unreadable()

    async def _take_event(self, payload: Mapping[str, Any]) -> int:
        if self._filled is None:
            return 503
        inbox, us = self._filled
        try:
            message = read_event(payload, us)
        except Unreadable:
            inbox.unreadable()
            return 200
        return 200 if message is None else await _admit(inbox, message)

    async def _take_command(self, payload: Mapping[str, Any]) -> int:
        if self._filled is None:
            return 503
        inbox, us = self._filled
        try:
            message = read_command(payload, us, names=self._command_names)
        except Unreadable:
            inbox.unreadable()
            return 200
        return await _admit(inbox, message)


async def _admit(inbox: Inbox, message: RawMessage) -> int:
    """The status that says whether it is stored, or needs not be; Slack calls again after a 503."""
    try:
        verdicts = await inbox.accept([Offered(message=message)])
    except LedgerError as exc:
        _log.warning("slack.not_stored", extra={"cause": type(exc).__name__})
        return 503
    return 503 if _AGAIN.intersection(verdicts) else 200
