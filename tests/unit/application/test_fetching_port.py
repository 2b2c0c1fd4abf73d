"""What every adapter keeps to that fetches attachments."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    MediaTooLarge,
)
from fermix.application.ports.fetching import asked_again, within

pytestmark = pytest.mark.anyio


async def coming(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def test_a_file_of_just_so_many_bytes_comes_whole() -> None:
    assert [piece async for piece in within(coming([b"abc", b"", b"de"]), limit=5)] == [b"abc", b"", b"de"]


async def test_the_piece_with_one_byte_too_many_is_not_handed_on() -> None:
    pieces = within(coming([b"abc", b"def", b"never"]), limit=5)
    assert await anext(pieces) == b"abc"
    with pytest.raises(MediaTooLarge) as caught:
        await anext(pieces)
    assert caught.value.limit == 5


async def test_a_question_with_an_unknown_end_can_be_asked_again() -> None:
    again = asked_again(ChannelOutcomeUnknown("no answer"))
    assert isinstance(again, ChannelUnreachable)
    assert str(again) == "no answer"


async def test_every_other_error_stays_what_it_is() -> None:
    for error in (
        ChannelUnreachable("x"),
        ChannelRejected("x"),
        ChannelRateLimited("x", retry_after=timedelta(1)),
    ):
        assert asked_again(error) is error
