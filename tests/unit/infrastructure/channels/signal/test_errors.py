"""What signal-cli says went wrong, sorted by what can be done."""

from datetime import timedelta
from typing import Any

import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
)
from fermix.infrastructure.channels.signal.errors import (
    CannotStart,
    NoAnswer,
    NotSent,
    Trouble,
    failure_in,
    listen_error,
    read_error,
    recognised,
    results_of,
    send_error,
)


def results(*kinds: str, wait: object = None) -> dict[str, Any]:
    more = {} if wait is None else {"retryAfterSeconds": wait}
    return {"timestamp": 1, "results": [{"type": kind, **more} for kind in kinds]}


@pytest.mark.parametrize(
    ("code", "message", "data", "expected"),
    [
        (-1, "Failed to send message", results("UNREGISTERED_FAILURE"), ChannelTargetGone),
        (-1, "Failed to send message", results("IDENTITY_FAILURE"), ChannelRejected),
        (-1, "Failed to send message", results("NETWORK_FAILURE"), ChannelOutcomeUnknown),
        (-1, "User is not a group member.", None, ChannelTargetGone),
        (-1, "Invalid group id", None, ChannelRejected),
        (-3, "chat.signal.org (java.net.UnknownHostException)", None, ChannelUnreachable),
        (-3, "timeout", None, ChannelOutcomeUnknown),
        (-4, "Failed to send message due to untrusted identities", None, ChannelRejected),
        (-5, "rate limit", None, ChannelRateLimited),
        (-32603, "boom", None, ChannelOutcomeUnknown),
        (-32602, "Specified account does not exist", None, ChannelUnreachable),
        (-32601, "Method not implemented", None, ChannelRejected),
        (None, 5, None, ChannelOutcomeUnknown),
    ],
)
def test_each_error_says_what_can_be_done(
    code: object, message: object, data: object, expected: type[ChannelError]
) -> None:
    error = send_error(read_error({"code": code, "message": message, "data": {"response": data}}))
    assert type(error) is expected


@pytest.mark.parametrize(
    ("wait", "seconds"),
    [
        (7, 7),
        (None, 60),
        ("soon", 60),
        (-5, 60),
        (True, 1),
        (10**30, 60),
        (10**7, 86_400),
        (float("nan"), 60),
    ],
)
def test_a_wait_is_as_asked_within_a_day(wait: object, seconds: float) -> None:
    error = failure_in(results_of(results("RATE_LIMIT_FAILURE", wait=wait)))
    assert isinstance(error, ChannelRateLimited)
    assert error.retry_after == timedelta(seconds=seconds)


def test_in_a_group_it_is_enough_that_somebody_got_it() -> None:
    assert failure_in(results_of(results("SUCCESS", "UNREGISTERED_FAILURE"))) is None
    assert failure_in(results_of({"timestamp": 1, "results": []})) is None


def test_no_words_of_people_are_in_an_error() -> None:
    said = {"code": -32600, "message": 'unexpected token "our secret"'}
    assert "secret" not in str(send_error(read_error(said)))
    assert "secret" not in str(send_error(read_error({**said, "code": -1})))


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        (
            b"INFO  SignalAccount - Config file is in use by another instance, waiting\xe2\x80\xa6",
            Trouble.IN_USE,
        ),
        (b"User +15550000001 is not registered.", Trouble.NOT_REGISTERED),
        (b"Invalid account (phone number), make sure you include the country code.", Trouble.NOT_REGISTERED),
        (b"java.lang.UnsupportedClassVersionError: org/asamk/signal/Main", Trouble.OLD_JAVA),
        (b"ERROR: JAVA_HOME is set to an invalid directory", Trouble.OLD_JAVA),
        (b"signal-cli: error: invalid choice: 'jsonRpc'", Trouble.USAGE),
        (b"Error while checking account +1: Closed unexpectedly", Trouble.OFFLINE),
        (b"WARN  ManagerImpl - something else", None),
    ],
)
def test_what_stands_on_standard_error_is_recognised(line: bytes, trouble: Trouble | None) -> None:
    assert recognised(line) is trouble


@pytest.mark.parametrize("trouble", list(Trouble))
def test_what_did_not_start_did_not_send(trouble: Trouble) -> None:
    assert isinstance(send_error(CannotStart(trouble)), ChannelUnreachable)
    mends_itself = {Trouble.USAGE, Trouble.OFFLINE, Trouble.SILENT, Trouble.OTHER}
    expected = ChannelUnreachable if trouble in mends_itself else ChannelRejected
    assert type(listen_error(CannotStart(trouble))) is expected


def test_what_left_is_never_called_unreachable() -> None:
    assert isinstance(send_error(NoAnswer("x")), ChannelOutcomeUnknown)
    assert isinstance(send_error(NotSent("x")), ChannelUnreachable)
