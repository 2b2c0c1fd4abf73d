"""The `Channel` port over Parley: listens by asking, and says what it is given."""

from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from fermix.application.ports.carrying import must_carry
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.application.ports.clock import Clock
from fermix.domain.delivery import MediaPart, ReactionPart, TextPart
from fermix.domain.ids import AccountId, PlatformMessageId
from fermix.domain.splitting import TextUnit, units
from fermix_parley import wire
from fermix_parley.line import NoAnswer, NobodyThere, Server, ask

LISTEN_SECONDS = 40.0
"""The server answers a listener after half a minute, with nothing if there was nothing."""

SAY_SECONDS = 20.0

PAUSE = timedelta(seconds=1)
"""Before what was not taken is asked for again."""

FEATURES = ChannelFeatures(max_text=wire.MAX_TEXT, text_unit=TextUnit.CODE_POINTS, offers_again=True)
"""Texts of a thousand characters, and nothing else; what was not acknowledged is offered again."""

_NOT_TAKEN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})


class ParleyChannel:
    """The `Channel` port. It holds no connection: each request has one of its own, which ends with it."""

    def __init__(self, *, server: Server, token: str, account: str, clock: Clock) -> None:
        self._server = server
        self._token = token
        self._account = AccountId(account)
        self._clock = clock

    @property
    def account(self) -> AccountId:
        """See `Channel.account`: the bot's nickname."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """See `Channel.features`."""
        return FEATURES

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:  # noqa: ARG002  # the server keeps the place
        """See `Channel.run`. Asking for what comes next is Parley's acknowledgement, so it is done last."""
        after: int | None = None
        while True:
            heard = await self._listen(after)
            for _ in range(heard.unreadable):
                inbox.unreadable()
            verdicts = await inbox.accept([Offered(message=raw) for _, raw in heard.messages])
            after = _taken(heard, verdicts)
            if after < heard.after:
                await self._clock.sleep_until(self._clock.now() + PAUSE)

    async def send(self, part: OutgoingPart) -> Delivered:
        """See `Channel.send`."""
        must_carry(self.features, part.body)
        match part.body:
            case TextPart(text=text):
                if units(text, FEATURES.text_unit) > wire.MAX_TEXT:
                    raise ChannelRejected(f"the text is longer than {wire.MAX_TEXT} characters")
                return Delivered(platform_id=PlatformMessageId(await self._say(part)))
            case MediaPart() | ReactionPart():
                raise ChannelRejected("Parley carries words only")
            case _:
                assert_never(part.body)

    async def _listen(self, after: int | None) -> wire.Heard:
        try:
            request = wire.listen_request(self._token, after)
            return wire.read_heard(await ask(self._server, request, seconds=LISTEN_SECONDS))
        except (NobodyThere, NoAnswer, wire.NotUnderstood) as exc:
            raise ChannelUnreachable(str(exc)) from exc

    async def _say(self, part: OutgoingPart) -> str:
        try:
            request = wire.say_request(self._token, part)
            return wire.read_said(await ask(self._server, request, seconds=SAY_SECONDS))
        except NobodyThere as exc:
            raise ChannelUnreachable(str(exc)) from exc
        except (NoAnswer, wire.NotUnderstood) as exc:
            raise ChannelOutcomeUnknown(str(exc)) from exc


def _taken(heard: wire.Heard, verdicts: Sequence[Verdict]) -> int:
    """The number up to which everything was taken, or could not be read."""
    for (number, _), verdict in zip(heard.messages, verdicts, strict=True):
        if verdict in _NOT_TAKEN:
            return number - 1
    return heard.after
