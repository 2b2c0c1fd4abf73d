"""Answers to taps and commands, which Discord wants within three seconds, and the buttons under our messages."""

import logging
from collections import OrderedDict, deque
from dataclasses import dataclass, field

import anyio
from discord.http import MultipartParameters, Route

from fermix.application.ports.channel import Verdict
from fermix.domain import approval_wording as wording
from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused, send_error
from fermix.infrastructure.channels.discord.interactions import (
    DEFERRED_UPDATE,
    MESSAGE,
    Deed,
    Interaction,
    answer,
)
from fermix.infrastructure.channels.discord.rest import RestClient

MAX_REMEMBERED = 200
"""Messages with buttons that are known by their token."""

MAX_WAITING = 32
"""Taps and commands that wait for their answer, the newest; of others clients show that none came."""

DECIDE_SECONDS = 2.0
"""How long an answer waits for the gateway's word; then it is given without it."""

ANSWER_SECONDS = 5.0

TAKEN = "On it."
NOT_YET = "I have it, and will come to it."

_log = logging.getLogger("fermix.discord")


class DiscordButtons:
    """See the `Buttons` port. Which message a token stands under is known from sending it, and from taps."""

    def __init__(self, *, rest: RestClient) -> None:
        self._rest = rest
        self._places: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def remember(self, token: str, chat: str, message: str) -> None:
        """A button with that token is under this message."""
        self._places[token] = (chat, message)
        while len(self._places) > MAX_REMEMBERED:
            self._places.popitem(last=False)

    async def close(self, target: Target, token: str) -> None:  # noqa: ARG002  # the port's
        """Take the buttons away; the text stays."""
        place = self._places.pop(token, None)
        if place is None:
            return
        body = MultipartParameters(payload={"components": []}, multipart=None, files=None)
        try:
            await self._rest.edit_message(int(place[0]), int(place[1]), params=body)
        except (NotSent, NoAnswer, Refused) as exc:
            if not (isinstance(exc, Refused) and exc.says_it_is_gone):
                raise send_error(exc) from exc


@dataclass(slots=True, kw_only=True, eq=False)
class Pending:
    """An interaction whose verdict is still to come."""

    interaction: Interaction
    verdict: Verdict | None = None
    decided: anyio.Event = field(default_factory=anyio.Event)

    def decide(self, verdict: Verdict) -> None:
        """The gateway has said what becomes of it."""
        self.verdict = verdict
        self.decided.set()


class Answers:
    """Answers each interaction in its time, beside everything else; what fails is not tried again."""

    def __init__(self, *, rest: RestClient, buttons: DiscordButtons) -> None:
        self._rest = rest
        self._buttons = buttons
        self._waiting: deque[Pending] = deque(maxlen=MAX_WAITING)
        self._news = anyio.Event()

    def expect(self, interaction: Interaction) -> Pending:
        """An interaction has come."""
        pending = Pending(interaction=interaction)
        self._waiting.append(pending)
        self._news.set()
        return pending

    async def run(self) -> None:
        """Answer until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                while self._waiting:
                    tasks.start_soon(self._answer, self._waiting.popleft())

    async def _answer(self, pending: Pending) -> None:
        with anyio.move_on_after(DECIDE_SECONDS):
            await pending.decided.wait()
        body = self._body(pending)
        if body is None:
            return
        route = Route(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=int(pending.interaction.id),
            webhook_token=pending.interaction.key,
        )
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                await self._rest.request(route, json=body)
        except (NotSent, NoAnswer, Refused, TimeoutError) as exc:
            _log.info("discord.tap_not_answered", extra={"cause": type(exc).__name__})

    def _body(self, pending: Pending) -> object:
        """The answer; nothing for whoever may not command us, so that they learn nothing of us."""
        done, refused = pending.interaction, pending.verdict is Verdict.DROPPED
        if done.deed is Deed.COMMAND:
            text = NOT_YET if pending.verdict is None else TAKEN
            return None if refused else answer(MESSAGE, text=text)
        if refused:
            return answer(MESSAGE, text=wording.TAP_REFUSED)
        self._buttons.remember(done.token, done.chat, done.message)
        return answer(DEFERRED_UPDATE)
