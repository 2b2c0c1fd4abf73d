"""What goes wrong with signal-cli, and what can be done about it.

Nothing that signal-cli writes to its standard error is kept or shown: it may repeat what people say. What is known
of it is recognised and named in our own words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import TypeAlias, assert_never

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    SendError,
)


class Code(IntEnum):
    """Error codes of the JSON-RPC interface; the small ones are exit codes of the commands, without the sign."""

    USER_ERROR = -1
    UNEXPECTED_ERROR = -2
    IO_ERROR = -3
    UNTRUSTED_KEY = -4
    RATE_LIMITED = -5
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602


DEFAULT_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=24)
_MAX_SECONDS = 10**8


class Trouble(StrEnum):
    """Why signal-cli does not work, as far as its standard error or the system tells."""

    MISSING = "missing"
    FORBIDDEN = "forbidden"
    OLD_JAVA = "old_java"
    NOT_REGISTERED = "not_registered"
    IN_USE = "in_use"
    USAGE = "usage"
    OFFLINE = "offline"
    SILENT = "silent"
    OTHER = "other"


_WORDS = (
    (Trouble.IN_USE, re.compile(rb"in use by another instance")),
    (Trouble.NOT_REGISTERED, re.compile(rb"is not registered\b|^Invalid account")),
    (
        Trouble.OLD_JAVA,
        re.compile(rb"UnsupportedClassVersionError|JAVA_HOME is|no 'java' command|java: not found"),
    ),
    (
        Trouble.USAGE,
        re.compile(rb"^usage:|invalid choice|unrecognized arguments|too few arguments", re.IGNORECASE),
    ),
    (
        Trouble.OFFLINE,
        re.compile(rb"UnknownHostException|ConnectException|NoRouteToHost|unreachable|Closed unexpectedly"),
    ),
)
_NEVER_LEFT = re.compile(r"UnknownHostException|ConnectException|NoRouteToHostException")
_QUOTED = re.compile(r'"[^"]*("|$)')
_NO_MEMBER = re.compile(r"not a (group )?member|group not found", re.IGNORECASE)


def recognised(line: bytes) -> Trouble | None:
    """What a line of signal-cli's standard error means, when it is one that matters."""
    return next((trouble for trouble, words in _WORDS if words.search(line)), None)


_TOLD = {
    Trouble.MISSING: "the program signal-cli is not found: install it, or set signal.cli_path",
    Trouble.FORBIDDEN: "the program signal-cli may not be run: look at signal.cli_path",
    Trouble.OLD_JAVA: "signal-cli does not find the Java it needs: install version 21 or newer, or set JAVA_HOME",
    Trouble.NOT_REGISTERED: "signal-cli does not know the account: register or link it with signal-cli first",
    Trouble.IN_USE: "another signal-cli uses this account on this machine: stop it, then this one goes on",
    Trouble.USAGE: "signal-cli does not understand how it was called: version 0.13 or newer is needed",
    Trouble.OFFLINE: "signal-cli cannot reach Signal",
    Trouble.SILENT: "signal-cli was started and does not answer",
    Trouble.OTHER: "signal-cli ended",
}


class CannotStart(Exception):
    """signal-cli does not get as far as answering; nothing left."""

    def __init__(self, trouble: Trouble, *, how: str = "") -> None:
        super().__init__(f"{_TOLD[trouble]} ({how})" if how else _TOLD[trouble])
        self.trouble = trouble
        self.how = how


class NotSent(Exception):
    """The request did not leave."""


class NoAnswer(Exception):
    """The request may have been carried out; no answer that can be read came back."""


class Refused(Exception):
    """signal-cli answered that it did not do it.

    Attributes:
        code: as above.
        description: its words, without what they quote.
        results: what became of the single recipients, where it told.
    """

    def __init__(self, code: int, description: str, *, results: "tuple[RecipientResult, ...]" = ()) -> None:
        said = (
            _QUOTED.sub('"…"', description)[:200] if code in {Code.USER_ERROR, Code.METHOD_NOT_FOUND} else ""
        )
        super().__init__(f"{code} {said}".rstrip())
        self.code = code
        self.description = said
        self.never_left = _NEVER_LEFT.search(description) is not None
        self.results = results


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientResult:
    """What became of a message for one recipient.

    Attributes:
        kind: `SUCCESS`, or why not.
        retry_after: seconds, where Signal asks to wait.
    """

    kind: str
    retry_after: float | None = None


CallError: TypeAlias = CannotStart | NotSent | NoAnswer | Refused


def results_of(answer: object) -> tuple[RecipientResult, ...]:
    """What an answer, or the data of an error, tells of the single recipients."""
    table = answer if isinstance(answer, Mapping) else {}
    inner = table.get("response")
    return tuple(_results(inner if isinstance(inner, Mapping) else table))


def _results(table: Mapping[str, object]) -> Iterator[RecipientResult]:
    listed = table.get("results")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and isinstance(kind := one.get("type"), str):
            wait = one.get("retryAfterSeconds")
            seconds = float(wait) if isinstance(wait, int | float) and 0 <= wait < _MAX_SECONDS else None
            yield RecipientResult(kind=kind, retry_after=seconds)


def read_error(error: Mapping[str, object]) -> Refused | NoAnswer:
    """The error in an answer."""
    code, said = error.get("code"), error.get("message")
    if type(code) is not int:
        return NoAnswer("an error that is none of signal-cli's")
    return Refused(code, said if isinstance(said, str) else "", results=results_of(error.get("data")))


def send_error(exc: CallError) -> SendError:
    """What a failed call means for the part that it was to send."""
    match exc:
        case CannotStart() | NotSent():
            return ChannelUnreachable(str(exc))
        case NoAnswer():
            return ChannelOutcomeUnknown(str(exc))
        case Refused():
            return _of_results(exc.results) or _of_code(exc)
        case _:
            assert_never(exc)


def _of_code(exc: Refused) -> SendError:
    if exc.never_left or exc.code == Code.INVALID_PARAMS:
        return ChannelUnreachable(_TOLD[Trouble.OFFLINE if exc.never_left else Trouble.NOT_REGISTERED])
    if exc.code == Code.USER_ERROR and _NO_MEMBER.search(exc.description):
        return ChannelTargetGone("the account is not in that group (any more)")
    match exc.code:
        case Code.RATE_LIMITED:
            return ChannelRateLimited("Signal asks to wait", retry_after=DEFAULT_WAIT)
        case Code.UNTRUSTED_KEY:
            return ChannelRejected(_UNTRUSTED)
        case Code.USER_ERROR | Code.INVALID_REQUEST | Code.METHOD_NOT_FOUND:
            return ChannelRejected(f"signal-cli refused it: {exc.description}".rstrip(": "))
        case _:
            return ChannelOutcomeUnknown(f"signal-cli failed ({exc.code})")


_UNTRUSTED = "the recipient's safety number has changed: trust it with signal-cli first"


def _of_results(results: tuple[RecipientResult, ...]) -> SendError | None:
    """Of several recipients one that can be helped by waiting says what is done, since somebody waits there."""
    kinds = {result.kind for result in results}
    if not kinds:
        return None
    if "NETWORK_FAILURE" in kinds:
        return ChannelOutcomeUnknown("Signal could not be reached, or did not answer")
    if "RATE_LIMIT_FAILURE" in kinds:
        waits = [result.retry_after for result in results if result.retry_after is not None]
        wait = (
            min(max(timedelta(seconds=min(max(waits), 1e6)), timedelta(0)), LONGEST_WAIT) if waits else None
        )
        return ChannelRateLimited("Signal asks to wait", retry_after=DEFAULT_WAIT if wait is None else wait)
    if kinds == {"UNREGISTERED_FAILURE"}:
        return ChannelTargetGone("the recipient is not on Signal (any more)")
    return ChannelRejected(_UNTRUSTED if kinds == {"IDENTITY_FAILURE"} else "Signal did not take it")


def failure_in(results: tuple[RecipientResult, ...]) -> SendError | None:
    """Why nobody got a message that signal-cli took; `None` when somebody did."""
    return None if any(result.kind == "SUCCESS" for result in results) else _of_results(results)


def listen_error(exc: CallError) -> ChannelRejected | ChannelUnreachable:
    """What it means for the channel that signal-cli could not be listened to."""
    owners = {Trouble.MISSING, Trouble.FORBIDDEN, Trouble.OLD_JAVA, Trouble.NOT_REGISTERED, Trouble.IN_USE}
    if isinstance(exc, CannotStart) and exc.trouble in owners:
        return ChannelRejected(str(exc))
    if isinstance(exc, Refused) and exc.code == Code.INVALID_PARAMS:
        return ChannelRejected(_TOLD[Trouble.NOT_REGISTERED])
    return ChannelUnreachable(str(exc))
