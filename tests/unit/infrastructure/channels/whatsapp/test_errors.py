"""What Meta's codes mean for a part, and for the channel."""

import json

import pytest

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    SendError,
)
from fermix.infrastructure.channels.whatsapp.errors import (
    CREDENTIAL_REFUSED,
    WINDOW_CLOSED,
    NoAnswer,
    NotSent,
    Refused,
    listen_error,
    read_refusal,
    send_error,
)


def sent(status: int, code: int | None, **headers: str) -> SendError:
    body = (
        json.dumps({"error": {"code": code, "message": "private words"}}).encode()
        if code is not None
        else b""
    )
    refusal = read_refusal(status, headers, body)
    return send_error(refusal)


@pytest.mark.parametrize(
    ("status", "code", "seconds"),
    [
        (400, 4, 60),
        (400, 80007, 60),
        (429, 130429, 5),
        (400, 131048, 600),
        (400, 131056, 6),
        (429, None, 5),
    ],
)
def test_a_limit_that_is_reached_is_waited_out(status: int, code: int | None, seconds: int) -> None:
    error = sent(status, code)
    assert isinstance(error, ChannelRateLimited)
    assert error.retry_after.total_seconds() == seconds


@pytest.mark.parametrize(
    ("named", "seconds"), [("7", 7), ("-1", 0), ("inf", 60), ("soon", 60), ("1e9", 86400)]
)
def test_a_wait_that_is_named_counts_within_reason(named: str, seconds: int) -> None:
    error = sent(400, 4, **{"retry-after": named})
    assert isinstance(error, ChannelRateLimited)
    assert error.retry_after.total_seconds() == seconds


@pytest.mark.parametrize("code", [0, 3, 10, 190, 200, 299, 131005])
def test_a_token_that_is_refused_keeps_the_part_and_stops_the_channel(code: int) -> None:
    assert isinstance(error := sent(401, code), ChannelUnreachable)
    assert str(error) == CREDENTIAL_REFUSED
    assert isinstance(listen_error(Refused(status=401, code=code)), ChannelRejected)


@pytest.mark.parametrize(
    "code", [100, 368, 131008, 131009, 131021, 131026, 131031, 131047, 131051, 131053, 133010]
)
def test_what_meta_will_never_take_is_given_up(code: int) -> None:
    error = sent(400, code)
    assert isinstance(error, ChannelRejected)
    assert str(code) in str(error)
    assert "private" not in str(error)


def test_the_closed_window_is_told_in_words() -> None:
    assert WINDOW_CLOSED in str(sent(400, 131047))


@pytest.mark.parametrize(
    ("status", "code"), [(500, 131000), (500, 1), (500, None), (502, None), (500, 135000)]
)
def test_a_failure_of_metas_own_leaves_it_open_whether_it_was_sent(status: int, code: int | None) -> None:
    assert isinstance(sent(status, code), ChannelOutcomeUnknown)


@pytest.mark.parametrize(
    ("status", "code"), [(503, 131016), (503, 2), (500, 131057), (503, None), (403, None)]
)
def test_what_was_turned_away_at_the_door_did_not_leave(status: int, code: int | None) -> None:
    assert isinstance(sent(status, code), ChannelUnreachable)


def test_a_broken_line_says_truly_whether_the_part_left() -> None:
    assert isinstance(send_error(NotSent("ConnectError")), ChannelUnreachable)
    assert isinstance(send_error(NoAnswer("ReadError")), ChannelOutcomeUnknown)
    assert isinstance(sent(200, None), ChannelOutcomeUnknown)
