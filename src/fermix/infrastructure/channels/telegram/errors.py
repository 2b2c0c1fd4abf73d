"""How a call can fail, and what that means for whoever made it."""

import re
from datetime import timedelta
from typing import TypeAlias, assert_never

import orjson
from telegram.error import TelegramError

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
    "Telegram refuses the bot token: copy it again from @BotFather into telegram.bot_token, then restart"
)
"""What its owner reads of a 401 or 404."""

ANOTHER_POLLER = (
    "another program reads this bot's messages with the same token: "
    "stop it, or give this one a bot of its own"
)
"""What its owner reads of a 409."""

_QUOTED = re.compile(r'"[^"]*("|$)')
"""Where a description repeats words of the message that was refused."""

_NO_PICTURE = ("PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED", "PHOTO_EXT_INVALID")
_NO_CHAT = ("chat not found", "peer_id_invalid", "group chat was deactivated", "group chat was deleted")

DEFAULT_WAIT_SECONDS = 5


class NotSent(TelegramError):
    """The request did not leave: no connection."""


class NoAnswer(TelegramError):
    """The request may have arrived; no whole answer came back."""


class Refused(TelegramError):
    """The server answered that it did not do it.

    Attributes:
        status: the error code.
        description: the server's words; they name no secret and no text, but are not for people.
        retry_after: seconds to wait, on a 429.
        migrate_to: the supergroup that the group has become.
    """

    def __init__(
        self,
        status: int,
        description: str,
        *,
        retry_after: float | None = None,
        migrate_to: int | None = None,
    ) -> None:
        super().__init__(f"{status} {description}")
        self.status = status
        self.description = description
        self.retry_after = retry_after
        self.migrate_to = migrate_to

    @property
    def says_nothing_changed(self) -> bool:
        """An edit to what is already shown: done, as far as anybody can see."""
        return self.status == 400 and "message is not modified" in self.description.lower()

    @property
    def says_it_is_gone(self) -> bool:
        """A message to delete that is not there: done, as far as anybody can see."""
        return self.status == 400 and "message to delete not found" in self.description.lower()

    @property
    def says_nothing_to_edit(self) -> bool:
        """A message to edit that is not there any more."""
        return self.status == 400 and "message to edit not found" in self.description.lower()

    @property
    def says_too_big(self) -> bool:
        """A file to fetch that is larger than bots may have."""
        return self.status == 400 and "file is too big" in self.description.lower()

    @property
    def is_about_picture(self) -> bool:
        """The file is none that can be shown as a picture; as a document it can."""
        said = self.description.upper()
        return self.status == 400 and any(each in said for each in _NO_PICTURE)

    @property
    def says_chat_is_gone(self) -> bool:
        """The bot was blocked or thrown out, or the chat is no more; it is about no part in particular."""
        said = self.description.lower()
        return (self.status == 403 and "forbidden" in said) or (
            self.status == 400 and any(each in said for each in _NO_CHAT)
        )

    @property
    def is_about_entities(self) -> bool:
        """The formatting was not understood; the same text without it will be."""
        said = self.description.lower()
        return self.status == 400 and ("entit" in said or "can't parse" in said)

    @property
    def is_left_webhook(self) -> bool:
        """Updates go to a webhook that somebody set on the bot."""
        return self.status == 409 and "webhook" in self.description.lower()


CallError: TypeAlias = NotSent | NoAnswer | Refused


def read_refusal(status: int, body: bytes) -> Refused | NoAnswer:
    """The error in an answer that is none of success; a page of a proxy in between says nothing certain."""
    try:
        answer = orjson.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or answer.get("ok") is not False:
        return (
            NoAnswer(f"an answer that is not Telegram's ({status})") if status < 400 else Refused(status, "")
        )
    code, parameters = answer.get("error_code"), answer.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    return Refused(
        code if isinstance(code, int) and not isinstance(code, bool) else status,
        _QUOTED.sub('"…"', str(answer.get("description", "")))[:300],
        retry_after=named_wait(parameters.get("retry_after")),
        migrate_to=_whole(parameters.get("migrate_to_chat_id")),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def send_error(exc: CallError) -> SendError:
    """What a failed send means for the part.

    A refused token keeps the part, since its owner will mend that. So does a refusal without Telegram's words: a
    proxy in between turned the message away, and it never got there. Of a 5xx nobody knows whether the message was
    already on its way, but a 503 turns it away at the door.
    """
    match exc:
        case NotSent():
            return ChannelUnreachable(exc.message)
        case NoAnswer():
            return ChannelOutcomeUnknown(exc.message)
        case Refused():
            return _send_refusal(exc)
        case _:
            assert_never(exc)


def _send_refusal(exc: Refused) -> SendError:
    if exc.status == 429:
        return ChannelRateLimited("Telegram asks to wait", retry_after=_wait(exc))
    if exc.status in {401, 404}:
        return ChannelUnreachable(CREDENTIAL_REFUSED)
    if exc.status == 503:
        return ChannelUnreachable("Telegram is not available (503)")
    if exc.status >= 500:
        return ChannelOutcomeUnknown(f"Telegram failed ({exc.status})")
    if not exc.description:
        return ChannelUnreachable(f"something before Telegram turned it away ({exc.status})")
    kind = ChannelTargetGone if exc.says_chat_is_gone else ChannelRejected
    return kind(f"Telegram refused it: {exc.description}")


def listen_error(exc: CallError) -> ChannelRateLimited | ChannelRejected | ChannelUnreachable:
    """What it means for the channel that Telegram could not be asked for messages."""
    if not isinstance(exc, Refused):
        return ChannelUnreachable(f"Telegram cannot be reached: {exc.message}")
    if exc.status == 429:
        return ChannelRateLimited("Telegram asks to wait", retry_after=_wait(exc))
    if exc.status in {401, 404}:
        return ChannelRejected(CREDENTIAL_REFUSED)
    if exc.status == 409:
        return ChannelRejected(ANOTHER_POLLER)
    if exc.status >= 500:
        return ChannelUnreachable(f"Telegram has trouble of its own ({exc.status})")
    return ChannelUnreachable(f"Telegram did not understand us: {exc.description or exc.status}")


def _wait(exc: Refused) -> timedelta:
    return timedelta(seconds=DEFAULT_WAIT_SECONDS if exc.retry_after is None else exc.retry_after)
