"""How a call to Discord can fail, and what that means for whoever made it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeAlias, assert_never

import orjson

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    SendError,
)
from fermix.infrastructure.http_client.waits import named_wait

CREDENTIAL_REFUSED = (
    "Discord refuses the bot token: reset it in the developer portal (Bot, Reset Token), "
    "put it into discord.bot_token, then restart"
)
"""What its owner reads of a 401 and of close code 4004."""

INTENTS_REFUSED = (
    "Discord does not let this bot read messages: switch on the Message Content Intent in the developer portal "
    "(Bot, Privileged Gateway Intents), then restart"
)
"""What its owner reads of close code 4014."""

FATAL_CLOSES: Mapping[int, str] = {
    4004: CREDENTIAL_REFUSED,
    4010: "Discord refuses how the connection was divided (4010); update Fermix, then restart",
    4011: "this bot is in so many servers that Discord wants its connection divided, which Fermix does not do",
    4012: "Discord no longer speaks this version of its gateway (4012); update Fermix, then restart",
    4013: "Discord does not know what was asked for (4013); update Fermix, then restart",
    4014: INTENTS_REFUSED,
}
"""After these connecting again is forbidden.

https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
"""

DEFAULT_WAIT_SECONDS = 5.0
CLOUDFLARE_WAIT_SECONDS = 60.0

UNKNOWN_MESSAGE = 10008

GONE = frozenset({10003, 10004, 50001, 50007})
"""Unknown channel or server, no access to it, a person who takes no messages from us."""


class NotSent(Exception):
    """The request did not leave."""


class TooSoon(NotSent):
    """It was kept back: Discord has said that it would be refused for so many seconds more."""

    def __init__(self, seconds: float) -> None:
        super().__init__("Discord asked to wait")
        self.seconds = seconds


class NoAnswer(Exception):
    """The request may have arrived; no whole answer came back."""


class Refused(Exception):
    """The server answered that it did not do it.

    Attributes:
        status: the HTTP status.
        code: Discord's own number for the error; 0 when it said none.
        description: Discord's words for that number; they hold no secret and no text. Empty when the answer is
            not Discord's but that of something in between.
        retry_after: seconds to wait, on a 429.
        is_global: the wait is for every call.
    """

    def __init__(
        self,
        status: int,
        *,
        code: int = 0,
        description: str = "",
        retry_after: float | None = None,
        is_global: bool = False,
    ) -> None:
        super().__init__(f"{status} ({code})")
        self.status = status
        self.code = code
        self.description = description
        self.retry_after = retry_after
        self.is_global = is_global

    @property
    def says_it_is_gone(self) -> bool:
        """The message that is meant is not there (any more)."""
        return self.status == 404 and self.code == UNKNOWN_MESSAGE


CallError: TypeAlias = NotSent | NoAnswer | Refused


def read_refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refused | NoAnswer:
    """The error in an answer that is none of success.

    Args:
        headers: by names in lower case.
    """
    try:
        answer = orjson.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("message"), str):
        if status == 429:
            return Refused(429, retry_after=_seconds(headers.get("retry-after"), CLOUDFLARE_WAIT_SECONDS))
        return Refused(status)
    code = answer.get("code")
    wait = None
    if status == 429:
        wait = _seconds(answer.get("retry_after", headers.get("retry-after")), DEFAULT_WAIT_SECONDS)
    return Refused(
        status,
        code=code if type(code) is int else 0,
        description=answer["message"][:200],
        retry_after=wait,
        is_global=answer.get("global") is True,
    )


def _seconds(value: object, default: float) -> float:
    named = named_wait(value)
    return default if named is None else named


def send_error(exc: CallError) -> SendError:
    """What a failed send means for the part.

    A refused token keeps the part, since its owner will mend that. So does a refusal without Discord's words: a
    proxy in between turned the message away, and it never got there. Of a 5xx nobody knows whether the message
    was already on its way, but a 503 turns it away at the door.
    """
    match exc:
        case TooSoon():
            return ChannelRateLimited(str(exc), retry_after=timedelta(seconds=exc.seconds))
        case NotSent():
            return ChannelUnreachable(str(exc))
        case NoAnswer():
            return ChannelOutcomeUnknown(str(exc))
        case Refused():
            return _send_refusal(exc)
        case _:
            assert_never(exc)


def _send_refusal(exc: Refused) -> SendError:
    if exc.status == 429:
        return ChannelRateLimited("Discord asks to wait", retry_after=_wait(exc))
    if exc.status == 401:
        return ChannelUnreachable(CREDENTIAL_REFUSED)
    if exc.status == 503:
        return ChannelUnreachable("Discord is not available (503)")
    if exc.status >= 500:
        return ChannelOutcomeUnknown(f"Discord failed ({exc.status})")
    return _for_good(exc)


def _for_good(exc: Refused) -> ChannelRejected | ChannelUnreachable:
    if not exc.description and exc.status != 413:
        return ChannelUnreachable(f"something before Discord turned it away ({exc.status})")
    said = f"{exc.description or 'too large'} ({exc.code or exc.status})"
    if exc.code in GONE:
        return ChannelTargetGone(f"the chat is gone: {said}")
    return ChannelRejected(f"Discord refused it: {said}")


def listen_error(exc: CallError) -> ChannelRateLimited | ChannelRejected | ChannelUnreachable:
    """What it means for the channel that Discord could not be asked."""
    if isinstance(exc, TooSoon):
        return ChannelRateLimited(str(exc), retry_after=timedelta(seconds=exc.seconds))
    if not isinstance(exc, Refused):
        return ChannelUnreachable(f"Discord cannot be reached: {exc}")
    if exc.status == 429:
        return ChannelRateLimited("Discord asks to wait", retry_after=_wait(exc))
    if exc.status == 401:
        return ChannelRejected(CREDENTIAL_REFUSED)
    if exc.status >= 500:
        return ChannelUnreachable(f"Discord has trouble of its own ({exc.status})")
    return ChannelUnreachable(f"Discord did not understand us: {exc.description or exc.status}")


def _wait(exc: Refused) -> timedelta:
    return timedelta(seconds=DEFAULT_WAIT_SECONDS if exc.retry_after is None else exc.retry_after)
