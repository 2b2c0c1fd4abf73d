"""How a request can fail, and what that means for whoever made it.

Source of the codes: https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes.
"""

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
    "Meta refuses the access token: make a permanent one of a system user with the permission "
    "whatsapp_business_messaging, set whatsapp.access_token, then restart"
)
"""What its owner reads of a token that is wrong, expired, or may not do this."""

WINDOW_CLOSED = (
    "the last message from this person is more than 24 hours old, and WhatsApp lets nobody write first: "
    "they must write again before anything can be sent to them"
)
"""What the operator reads of 131047."""

_RESPELL = 131030
_CANNOT_BE_REACHED = 131026

_WAITS: Mapping[int, tuple[float, str]] = {
    4: (60, "this app asks too much of Meta"),
    80007: (60, "this business account asks too much of Meta"),
    130429: (5, "too many messages a second leave this number"),
    131048: (600, "too many people blocked or reported this number; look at its quality in WhatsApp Manager"),
    131056: (6, "too many messages go to this person"),
    133016: (600, "this number was registered too often"),
    131064: (600, "this business account has reached its messaging limit"),
}
"""By code: seconds to wait where Meta names none, and why."""

_UNAUTHORISED = frozenset({0, 3, 10, 190, 131005, *range(200, 300)})
_NOT_AVAILABLE = frozenset({2, 131016, 131057, 133004})
_UNKNOWN = frozenset({1, 131000, 135000})

_REFUSED: Mapping[int, str] = {
    33: "this phone number does not exist any more; look at whatsapp.phone_number_id",
    100: "Meta does not understand the request",
    368: "Meta has blocked this business account for a while; look at its Account Quality",
    470: WINDOW_CLOSED,
    130472: "Meta does not deliver it, since this person is part of an experiment",
    130497: "this business account may not write to people in that country",
    131008: "Meta misses something in the request",
    131009: "Meta does not take a value in the request",
    131021: "a number cannot write to itself",
    131026: "this person cannot be reached: no WhatsApp account, too old an app, or new terms not accepted",
    131030: "this number is not among the test recipients of the app; add it there, or publish the app",
    131031: "Meta has locked this business account",
    131037: "the display name of this number is not approved yet",
    131042: "Meta has no valid payment method of this business account",
    131045: "this phone number is not registered for the Cloud API",
    131047: WINDOW_CLOSED,
    131049: "Meta holds it back to protect this person from too many messages",
    131050: "this person does not want such messages",
    131051: "WhatsApp does not take this type of message",
    131052: "Meta could not fetch the file",
    131053: "Meta does not take the file: its type or its size",
    131062: "this kind of message cannot be sent to somebody whose number is hidden",
    132000: "Meta does not take a value in the request",
    133010: "this phone number is not registered for the Cloud API",
}


class NotSent(Exception):
    """The request did not leave: no connection."""


class NoAnswer(Exception):
    """The request may have arrived; no whole answer came back."""


class Refused(Exception):
    """The server answered that it did not do it. Of its words only numbers are kept: they repeat what was sent.

    Attributes:
        status: the HTTP status.
        code: Meta's own; `None` when the answer is not Meta's.
        retry_after: seconds to wait, where they are named.
    """

    def __init__(self, *, status: int, code: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code
        self.retry_after = retry_after

    @property
    def is_about_spelling(self) -> bool:
        """The number is not known as it is spelt, though perhaps otherwise."""
        return self.code == _RESPELL

    @property
    def is_about_us(self) -> bool:
        """The token is not good, or not good for this."""
        return self.code in _UNAUTHORISED or (self.code is None and self.status == 401)


CallError: TypeAlias = NotSent | NoAnswer | Refused


def read_refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refused | NoAnswer:
    """The error in an answer that is none of success; a page of a proxy in between says nothing certain."""
    try:
        answer = orjson.loads(body)
    except ValueError:
        answer = None
    error = answer.get("error") if isinstance(answer, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if type(code) is not int and status < 400:
        return NoAnswer(f"an answer that is not Meta's ({status})")
    return Refused(
        status=status,
        code=code if type(code) is int else None,
        retry_after=named_wait(headers.get("retry-after")),
    )


def send_error(exc: CallError) -> SendError:
    """What a failed send means for the part.

    A refused token keeps the part, since its owner will mend that. So does a refusal without Meta's code:
    something in between turned the message away, and it never got there.
    """
    match exc:
        case NotSent():
            return ChannelUnreachable(str(exc))
        case NoAnswer():
            return ChannelOutcomeUnknown(str(exc))
        case Refused():
            return _send_refusal(exc)
        case _:
            assert_never(exc)


def _send_refusal(exc: Refused) -> SendError:
    if exc.is_about_us:
        return ChannelUnreachable(CREDENTIAL_REFUSED)
    if exc.code in _WAITS or exc.status == 429:
        return rate_limited(exc)
    if exc.code in _NOT_AVAILABLE or (exc.code is None and exc.status == 503):
        return ChannelUnreachable(f"WhatsApp is not available ({exc.code or exc.status})")
    if exc.code in _UNKNOWN or (exc.code not in _REFUSED and exc.status >= 500):
        return ChannelOutcomeUnknown(f"WhatsApp failed ({exc.code or exc.status})")
    if exc.code is None:
        return ChannelUnreachable(f"something before WhatsApp turned it away ({exc.status})")
    refused = ChannelTargetGone if exc.code == _CANNOT_BE_REACHED else ChannelRejected
    return refused(f"WhatsApp refused it ({exc.code}): {in_words(exc.code)}")


def listen_error(exc: CallError) -> ChannelRateLimited | ChannelRejected | ChannelUnreachable:
    """What it means for the channel that Meta does not tell about our number."""
    if not isinstance(exc, Refused):
        return ChannelUnreachable(f"WhatsApp cannot be reached: {exc}")
    if exc.is_about_us:
        return ChannelRejected(CREDENTIAL_REFUSED)
    if exc.code in _WAITS or exc.status == 429:
        return rate_limited(exc)
    if exc.code in {33, 100}:
        return ChannelRejected(
            "Meta does not know this number, or the token may not use it: look at whatsapp.phone_number_id"
        )
    return ChannelUnreachable(f"WhatsApp has trouble of its own ({exc.code or exc.status})")


def rate_limited(exc: Refused) -> ChannelRateLimited:
    """The wait that Meta asks for, or the usual one of its code."""
    usual, why = _WAITS.get(exc.code or 0, (5, "Meta asks to wait"))
    seconds = usual if exc.retry_after is None else exc.retry_after
    return ChannelRateLimited(why, retry_after=timedelta(seconds=seconds))


def concerns_all(exc: Refused) -> bool:
    """Whether a wait is for everybody who is written to, and not for one chat."""
    return exc.code != 131056


def in_words(code: int | None) -> str:
    """What an operator can make of a code."""
    return _REFUSED.get(code or 0, "see Meta's list of error codes")
