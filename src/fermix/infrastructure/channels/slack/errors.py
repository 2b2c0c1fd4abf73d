"""How a request can fail, and what that means for whoever made it.

Source of the codes: https://docs.slack.dev/reference/methods/chat.postMessage.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeAlias, assert_never

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
    "Slack refuses the bot token: copy the Bot User OAuth Token (xoxb-…) of the app's OAuth & Permissions page "
    "into slack.bot_token, then restart"
)
"""What its owner reads of a token that is wrong, revoked, or of an app that was removed."""

DEFAULT_WAIT_SECONDS = 5

_TOKEN = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "token_expired",
        "token_revoked",
    }
)
_WAIT = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_GONE = frozenset({"channel_not_found", "is_archived", "not_in_channel", "user_disabled", "user_not_found"})
_NOT_AVAILABLE = frozenset(
    {"ekm_access_denied", "request_timeout", "service_unavailable", "team_added_to_org"}
)
_UNKNOWN = frozenset({"fatal_error", "internal_error"})

_REFUSED: Mapping[str, str] = {
    "cannot_reply_to_message": "nobody can reply to that message",
    "invalid_name": "Slack does not know an emoji of that name",
    "messages_tab_disabled": "the app takes no direct messages: turn on its Messages Tab on the App Home page",
    "message_not_found": "the message is not there any more",
    "missing_scope": "the app lacks a permission: add it under OAuth & Permissions and install the app again",
    "msg_too_long": "the text is too long for Slack",
    "no_text": "there is no text",
    "restricted_action": "a setting of the workspace keeps the app from posting there",
    "restricted_action_read_only_channel": "nobody may post in that channel",
    "restricted_action_thread_only_channel": "in that channel nobody may post but in threads",
    "thread_not_found": "the thread is not there any more",
}

_CODE = re.compile(r"[a-z][a-z0-9_]{0,60}")


class NotSent(Exception):
    """The request did not leave: no connection."""


class NoAnswer(Exception):
    """The request may have arrived; no whole answer came back."""


class Refused(Exception):
    """The server answered that it did not do it. Of its words only the code is kept: they repeat what was sent.

    Attributes:
        status: the HTTP status.
        code: Slack's own; `None` when the answer is not Slack's.
        retry_after: seconds to wait, where they are named.
    """

    def __init__(self, *, status: int, code: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code
        self.retry_after = retry_after

    @property
    def is_about_us(self) -> bool:
        """The token is not good."""
        return self.code in _TOKEN or (self.code is None and self.status == 401)

    @property
    def asks_to_wait(self) -> bool:
        """It came too fast."""
        return self.status == 429 or self.code in _WAIT


CallError: TypeAlias = NotSent | NoAnswer | Refused


def read_refusal(status: int, headers: Mapping[str, str], answer: object) -> Refused | NoAnswer:
    """The error in an answer that is none of success; a page of a proxy in between says nothing certain."""
    told = answer.get("error") if isinstance(answer, dict) else None
    code = told if isinstance(told, str) and _CODE.fullmatch(told) else None
    if code is None and (status < 400 or told is not None):
        return NoAnswer(f"an answer that is not Slack's ({status})")
    return Refused(status=status, code=code, retry_after=named_wait(headers.get("Retry-After")))


def send_error(exc: CallError) -> SendError:
    """What a failed send means for the part.

    A refused token keeps the part, since its owner will mend that. So does a refusal without a code of Slack's:
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
    if exc.asks_to_wait:
        return rate_limited(exc)
    if exc.code in _GONE:
        return ChannelTargetGone(f"the chat is none of ours any more ({exc.code})")
    if exc.code in _NOT_AVAILABLE or (exc.code is None and (exc.status == 503 or exc.status < 500)):
        return ChannelUnreachable(f"Slack, or something before it, turned it away ({exc.code or exc.status})")
    if exc.code is None or exc.code in _UNKNOWN or exc.status >= 500:
        return ChannelOutcomeUnknown(f"Slack failed ({exc.code or exc.status})")
    return ChannelRejected(f"Slack refused it ({exc.code}): {in_words(exc.code)}")


def listen_error(exc: CallError) -> ChannelRateLimited | ChannelRejected | ChannelUnreachable:
    """What it means for the channel that Slack does not tell who we are."""
    if not isinstance(exc, Refused):
        return ChannelUnreachable(f"Slack cannot be reached: {exc}")
    if exc.is_about_us:
        return ChannelRejected(CREDENTIAL_REFUSED)
    if exc.asks_to_wait:
        return rate_limited(exc)
    return ChannelUnreachable(f"Slack has trouble of its own ({exc.code or exc.status})")


def rate_limited(exc: Refused) -> ChannelRateLimited:
    """The wait that Slack asks for."""
    seconds = DEFAULT_WAIT_SECONDS if exc.retry_after is None else exc.retry_after
    return ChannelRateLimited("Slack asks to wait", retry_after=timedelta(seconds=seconds))


def in_words(code: str) -> str:
    """What an operator can make of a code."""
    return _REFUSED.get(code, "see the errors of that method in Slack's documentation")
