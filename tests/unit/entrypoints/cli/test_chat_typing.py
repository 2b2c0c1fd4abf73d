"""What was typed: lines out of a pipe, the history file, and when Enter does not send."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fermix.entrypoints.cli.chat.history import MAX_ENTRY_CHARACTERS, HistoryFile
from fermix.entrypoints.cli.chat.lines import LineReader, LineTooLong
from fermix.entrypoints.cli.chat.prompt import ends_in_continuation


def lines_of(content: bytes, *, max_bytes: int = 100) -> list[bytes | None]:
    """Every line; `None` stands for one that was too long."""
    reader, writer = os.pipe()
    try:
        os.write(writer, content)
        os.close(writer)
        lines = LineReader(reader, max_bytes=max_bytes)
        found: list[bytes | None] = []
        while True:
            try:
                line = lines.next_line()
            except LineTooLong:
                found.append(None)
                continue
            if line is None:
                return found
            found.append(line)
    finally:
        os.close(reader)


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.booleans())
def test_lines_are_read_as_they_were_written(lines: list[bytes], ends: bool) -> None:
    content = b"\n".join(lines) + b"\n" * ends
    expected = content.split(b"\n")
    assert lines_of(content) == (expected[:-1] if expected[-1] == b"" else expected)


def test_a_line_over_the_limit_is_skipped_and_the_next_is_read() -> None:
    assert lines_of(b"one\n" + b"x" * 101 + b"\ntwo") == [b"one", None, b"two"]
    assert lines_of(b"x" * 50_000) == [None]


def test_messages_are_remembered_in_order_for_their_owner_alone(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "history")
    assert history.read() == []
    texts = ["one\ntwo", "ü\u2028\x1b", "\ud800"]
    for text in texts:
        history.add(text)
    assert HistoryFile(tmp_path / "history").read() == texts
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_a_history_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "history").touch(mode=0o644)
    HistoryFile(tmp_path / "history").add("one")
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_the_history_does_not_grow_without_end(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "history", max_entries=10, max_bytes=10_000)
    for number in range(100):
        history.add(f"{number}")
    kept = history.read()
    assert kept == [f"{number}" for number in range(100 - len(kept), 100)]
    assert 5 <= len(kept) <= 10
    assert [path.name for path in tmp_path.iterdir()] == ["history"]


def test_its_bytes_are_bounded_too(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "history", max_bytes=1_000)
    for number in range(50):
        history.add(f"{number:0100}")
    assert (tmp_path / "history").stat().st_size <= 1_200
    assert history.read()[-1].endswith("49")


def test_a_pasted_document_is_not_remembered(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "history")
    history.add("x" * (MAX_ENTRY_CHARACTERS + 1))
    assert history.read() == []


def test_lines_that_are_none_of_ours_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "history").write_bytes(b'"one"\nnonsense\n{"a": 1}\n\xff\n"two"\n')
    assert HistoryFile(tmp_path / "history").read() == ["one", "two"]


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "history")
    history = HistoryFile(tmp_path / "history")
    with pytest.raises(OSError, match="not a regular file"):
        history.read()
    with pytest.raises(OSError, match=r"No such device|not configured"):
        history.add("one")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "history").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        HistoryFile(tmp_path / "history").add("one")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("text", "goes_on"), [("", False), ("a", False), ("a\\", True), ("a\\\\", False), ("\\\\\\", True)]
)
def test_a_line_ending_in_a_backslash_goes_on(text: str, goes_on: bool) -> None:
    assert ends_in_continuation(text) is goes_on
