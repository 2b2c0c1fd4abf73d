"""The lines of the control socket: any cut of the stream, any text, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.local_socket.protocol import (
    MAX_LINE_BYTES,
    VERSION,
    ErrorCode,
    Event,
    LineBuffer,
    ProtocolFault,
    Refusal,
    Request,
    Result,
    decode_line,
    decode_reply,
    decode_request,
    encode_error,
    encode_event,
    encode_line,
    encode_request,
    encode_result,
)

any_text = st.text(st.characters(exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
ids = st.text(max_size=64)


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line)), st.data())
def test_lines_come_out_as_they_went_in_however_the_stream_is_cut(
    lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    buffer = LineBuffer()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        buffer.feed(stream[start:end])
        while (line := buffer.next_line()) is not None:
            found.append(line)
    assert found == lines
    assert buffer.is_empty


def test_a_line_at_the_limit_passes_and_one_byte_more_does_not() -> None:
    buffer = LineBuffer(max_bytes=10)
    buffer.feed(b"0123456789\n")
    assert buffer.next_line() == b"0123456789"
    buffer.feed(b"0123456789x")
    with pytest.raises(ProtocolFault) as fault:
        buffer.next_line()
    assert fault.value.code is ErrorCode.TOO_LARGE


def test_a_line_over_the_limit_is_refused_although_its_end_has_come() -> None:
    buffer = LineBuffer(max_bytes=3)
    buffer.feed(b"0123\nab\n")
    with pytest.raises(ProtocolFault):
        buffer.next_line()


@given(ids, st.text(), objects)
def test_a_request_is_read_as_it_was_written(request_id: str, verb: str, params: dict[str, object]) -> None:
    request = Request(request_id, verb, VERSION, params)
    line = encode_request(request)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_request(line[:-1]) == request


@given(ids, objects)
def test_a_reply_is_read_as_it_was_written(request_id: str, content: dict[str, object]) -> None:
    assert decode_reply(encode_result(request_id, content)) == Result(request_id, content)
    assert decode_reply(encode_event(request_id, content)) == Event(request_id, content)


@given(st.none() | ids, st.sampled_from(ErrorCode), st.text())
def test_an_error_is_read_as_it_was_written(request_id: str | None, code: ErrorCode, message: str) -> None:
    assert decode_reply(encode_error(request_id, code, message)) == Refusal(request_id, code, message)


@given(any_text)
def test_any_text_survives_even_half_a_surrogate_pair(text: str) -> None:
    read = decode_line(encode_line({"text": text}))["text"]
    assert json.dumps(read) == json.dumps(text)


def test_a_message_longer_than_a_line_is_not_written() -> None:
    with pytest.raises(ProtocolFault, match="the limit is"):
        encode_line({"text": "x" * MAX_LINE_BYTES})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"not json",
        b"\x00\x01\x02",
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b"null",
        b'{"id": NaN}',
        b"[" * 100_000,
        b'{"a": ' * 50_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
        b'{"id": "1", "verb": "ask"}',
        b'{"id": 1, "verb": "ask", "version": "1.0", "params": {}}',
        b'{"id": "1", "verb": 7, "version": "1.0", "params": {}}',
        b'{"id": "1", "verb": "ask", "version": "1.0", "params": []}',
        b'{"id": "1", "verb": "ask", "version": "one", "params": {}}',
        b'{"id": "1", "verb": "ask", "version": 1.0, "params": {}}',
        b'{"id": "' + b"x" * 65 + b'", "verb": "ask", "version": "1.0", "params": {}}',
    ],
)
def test_what_is_no_request_is_a_bad_request(line: bytes) -> None:
    with pytest.raises(ProtocolFault) as fault:
        decode_request(line)
    assert fault.value.code is ErrorCode.BAD_REQUEST


@given(st.binary(max_size=200))
def test_rubbish_is_refused_and_never_crashes(line: bytes) -> None:
    try:
        decode_request(line)
    except ProtocolFault:
        return


@given(st.integers(0, 10_000))
def test_a_client_of_any_minor_version_is_served(minor: int) -> None:
    line = json.dumps({"id": "1", "verb": "ask", "version": f"1.{minor}", "params": {}, "more": 1}).encode()
    assert decode_request(line).verb == "ask"


@pytest.mark.parametrize("version", ["0.1", "2.0", "10.0", "99999999999999999999.0"])
def test_a_client_of_another_major_version_is_told_to_restart_the_daemon(version: str) -> None:
    line = json.dumps({"id": "7", "verb": "ask", "version": version, "params": {}}).encode()
    with pytest.raises(ProtocolFault, match="Restart the daemon") as fault:
        decode_request(line)
    assert fault.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert fault.value.request_id == "7"
