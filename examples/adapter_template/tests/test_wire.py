"""What Parley says, and what becomes of it."""

import json

import pytest
from fermix_parley.wire import NotUnderstood, read_heard, read_said

from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
)

MESSAGE = {"number": 4, "from": {"nickname": "ann", "name": "Ann"}, "room": {"id": "ann"}, "text": "hi"}


def answer(**fields: object) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        ({"refused": "too_fast", "wait": 7}, ChannelRateLimited),
        ({"refused": "too_fast"}, ChannelRejected),
        ({"refused": "no_such_room"}, ChannelTargetGone),
        ({"refused": "unknown_token"}, ChannelRejected),
        ({"refused": ["odd"]}, ChannelRejected),
    ],
)
def test_a_refusal_is_told_by_what_can_be_done(refusal: dict[str, object], error: type[ChannelError]) -> None:
    with pytest.raises(error):
        read_said(answer(**refusal))


@pytest.mark.parametrize("line", [b"", b"nothing", b"[]", b"{}", b'{"number": "4"}', b'{"number": true}'])
def test_what_is_no_answer_is_not_understood(line: bytes) -> None:
    with pytest.raises(NotUnderstood):
        read_said(line)
    with pytest.raises(NotUnderstood):
        read_heard(line)


def test_what_nobody_can_read_is_counted_and_the_rest_is_kept() -> None:
    heard = read_heard(answer(messages=[None, {"number": 3}, MESSAGE, {**MESSAGE, "text": 5}], after=9))
    assert [(number, raw["content"]) for number, raw in heard.messages] == [(4, "hi")]
    assert (heard.unreadable, heard.after) == (3, 9)


def test_a_time_beyond_every_calendar_is_left_out() -> None:
    ((_, raw),) = read_heard(answer(messages=[{**MESSAGE, "at": 2**50}], after=4)).messages
    assert "sent_at" not in raw
