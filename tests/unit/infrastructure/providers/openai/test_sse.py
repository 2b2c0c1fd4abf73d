"""The event stream decoder: the same events however the bytes are cut, within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError
from fermix.infrastructure.providers.openai.sse import Event, SseDecoder
from tests.unit.infrastructure.providers.openai.cutting import cut

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


def decode(*chunks: bytes) -> list[Event]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish()


@given(st.lists(st.lists(LINE, min_size=1), max_size=5), LINE_ENDS, st.lists(st.integers(0, 10_000)))
def test_any_cutting_of_the_bytes_gives_the_same_events(
    texts: list[list[str]], end: str, places: list[int]
) -> None:
    stream = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in texts).encode()

    assert decode(*cut(stream, places)) == [Event("", "\n".join(lines)) for lines in texts]


@given(st.binary(), st.lists(st.integers(0, 10_000)))
def test_arbitrary_bytes_never_depend_on_where_they_are_cut(data: bytes, places: list[int]) -> None:
    assert decode(*cut(data, places)) == decode(data)


def test_comments_ids_and_empty_events_say_nothing() -> None:
    assert decode(b": ping\n\nid: 7\nretry: 3\n\nevent: lonely\n\ndata: x\n\n") == [Event("", "x")]


def test_an_event_keeps_its_name_and_the_next_has_none() -> None:
    assert decode(b"event: a\ndata:1\n\ndata: 2\n\n") == [Event("a", "1"), Event("", "2")]


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert decode(b"data: [DONE]") == [Event("", "[DONE]")]


def test_an_error_field_is_an_error_event() -> None:
    assert decode(b'error: {"code":500}\n\n') == [Event("error", '{"code":500}')]


def test_a_byte_order_mark_is_not_part_of_the_first_field() -> None:
    assert decode(b"\xef\xbb", b"\xbfdata: x\n\n") == [Event("", "x")]


def test_a_line_that_never_ends_is_refused() -> None:
    decoder = SseDecoder(max_event_bytes=100)
    for _ in range(10):
        decoder.feed(b"0123456789")

    with pytest.raises(AnswerRefusedError):
        decoder.feed(b"0")


def test_an_event_of_endless_lines_is_refused() -> None:
    decoder = SseDecoder(max_event_bytes=100)
    for _ in range(10):
        decoder.feed(b"data: 789\n")

    with pytest.raises(AnswerRefusedError):
        decoder.feed(b"d")
