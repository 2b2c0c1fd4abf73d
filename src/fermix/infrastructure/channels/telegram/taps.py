"""Buttons under our messages, the taps on them, and what the one who tapped is told."""

import logging
import re
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from telegram import InaccessibleMessage, Message, Update

from fermix.application.ports.channel import Verdict
from fermix.domain import approval_wording as wording
from fermix.domain.delivery import Choice
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.telegram.wire_in import KINDS, OddUpdate, topic_of

_DATA = re.compile(r"confirm:(?P<token>[A-Z2-7]{8})")
"""What our buttons carry; far below the 64 bytes that are allowed."""

MAX_REMEMBERED = 200
"""Messages with buttons that are known by their token."""

MAX_ANSWERS = 32
"""Taps that wait for their answer, the newest; until then a client shows them as under way, for some seconds."""

ANSWER_SECONDS = 5.0

_log = logging.getLogger("fermix.telegram")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """A tap on one of our buttons.

    Attributes:
        query: what an answer to the tap names.
        chat: where the message with the button is.
        number: which one it is there.
    """

    query: str
    token: str
    chat: str
    number: int


def keyboard(choices: tuple[Choice, ...]) -> Mapping[str, object]:
    """Parameters that put buttons under a message, one in a row."""
    if not choices:
        return {}
    rows = [[{"text": choice.label, "callback_data": f"confirm:{choice.token}"}] for choice in choices]
    return {"reply_markup": {"inline_keyboard": rows}}


def read_tap(update: Update) -> tuple[Tap, RawMessage] | None:
    """A tap, as the message of the one who tapped; `None` for other updates and for buttons that are not ours.

    A tap has a key of its own: it is neither the message it is under nor another tap on it.

    Raises:
        OddUpdate: it has not the promised shape.
    """
    query = update.callback_query
    data = None if query is None else _DATA.fullmatch(query.data or "")
    if query is None or data is None:
        return None
    under = query.message
    if not isinstance(under, Message | InaccessibleMessage):
        raise OddUpdate("a tap on no message")
    tap = Tap(query=query.id, token=data["token"], chat=str(under.chat.id), number=under.message_id)
    raw: RawMessage = {
        "key": f"tap:{query.id}",
        "id": under.message_id,
        "content": f"/confirm {tap.token}",
        "sender": query.from_user.username or query.from_user.first_name or "unknown",
        "sender_id": query.from_user.id,
        "sender_is_bot": query.from_user.is_bot,
        "chat_id": under.chat.id,
        "chat_kind": KINDS.get(under.chat.type, "group"),
        "chat_title": under.chat.title,
        "reply_target": under.chat.id,
        "thread_ts": topic_of(under) if isinstance(under, Message) else None,
        "tap": True,
    }
    return tap, raw


class TelegramButtons:
    """See the `Buttons` port. Which message a token stands under is known from sending it, and from taps."""

    def __init__(self, *, api: BotApi) -> None:
        self._api = api
        self._places: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def remember(self, token: str, chat: str, number: int) -> None:
        """A button with that token is under this message."""
        self._places[token] = (chat, number)
        while len(self._places) > MAX_REMEMBERED:
            self._places.popitem(last=False)

    async def close(self, target: Target, token: str) -> None:  # noqa: ARG002  # the port's
        """Take the buttons away; the text stays."""
        place = self._places.pop(token, None)
        if place is None:
            return
        try:
            await self._api.call("editMessageReplyMarkup", chat_id=place[0], message_id=place[1])
        except (NotSent, NoAnswer, Refused) as exc:
            if not (isinstance(exc, Refused) and (exc.says_nothing_changed or exc.says_nothing_to_edit)):
                raise send_error(exc) from exc


class TapAnswers:
    """Tells people what became of their taps, beside the polls; what fails is not tried again."""

    def __init__(self, *, api: BotApi, buttons: TelegramButtons) -> None:
        self._api = api
        self._buttons = buttons
        self._waiting: deque[tuple[str, bool]] = deque(maxlen=MAX_ANSWERS)
        self._news = anyio.Event()

    def tapped(self, tap: Tap, verdict: Verdict) -> None:
        """A tap was taken, or refused: who tapped is told in private."""
        refused = verdict is Verdict.DROPPED
        if not refused:
            self._buttons.remember(tap.token, tap.chat, tap.number)
        self._waiting.append((tap.query, refused))
        self._news.set()

    async def run(self) -> None:
        """Answer until cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            while self._waiting:
                await self._answer(*self._waiting.popleft())

    async def _answer(self, query: str, refused: bool) -> None:
        note = {"text": wording.TAP_REFUSED, "show_alert": True} if refused else {}
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._api.call("answerCallbackQuery", callback_query_id=query, **note)
        except (NotSent, NoAnswer, Refused, TimeoutError) as exc:
            _log.info("telegram.tap_not_answered", extra={"cause": type(exc).__name__})


@asynccontextmanager
async def beside(work: Callable[[], Coroutine[object, object, None]]) -> AsyncGenerator[None]:
    """Do `work` beside the block, until the block ends; what the block raises comes out as it is."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except Exception as exc:  # noqa: BLE001  # raised below, out of the group that would wrap it
            failure = exc
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
