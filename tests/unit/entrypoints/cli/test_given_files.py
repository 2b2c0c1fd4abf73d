"""Files that a command line names: which go into the question, which go along, and which are no files."""

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.composition import MAX_CHARACTERS, Attached
from fermix.entrypoints.cli.given_files import GivenFiles, read_files
from fermix.entrypoints.exit_codes import ExitCode

PNG = b"\x89PNG\r\n\x1a\n\x00\x00"


def given(*names: object) -> GivenFiles:
    with ExitStack() as opened:
        return read_files([str(name) for name in names], opened)


def test_texts_go_into_the_question_and_everything_else_goes_along(tmp_path: Path) -> None:
    text, picture, latin = tmp_path / "a.png", tmp_path / "b.txt", tmp_path / "c.txt"
    text.write_bytes("\ufeffa text, whatever its name says \u00fc".encode())
    picture.write_bytes(PNG)
    latin.write_bytes(b"gr\xfc\xdfe")
    found = given(text, picture, latin)
    assert found.texts == (Attached(f"File {text}", "a text, whatever its name says \u00fc"),)
    assert [(each.shown, each.size) for each in found.others] == [(str(picture), 10), (str(latin), 5)]


def test_an_empty_file_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert given(tmp_path / "empty").others == ()


def test_a_large_file_is_a_text_only_as_far_as_it_is_one(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (4 * MAX_CHARACTERS - 2) + "\u00fc\u00fc".encode() + b"y")
    with pytest.raises(CommandFailed, match="1,000,000") as failure:
        given(large)
    assert failure.value.exit_code is ExitCode.USAGE
    large.write_bytes(b"x" * 4 * MAX_CHARACTERS + b"\xff")
    assert len(given(large).others) == 1


def test_a_link_is_followed_and_one_to_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(PNG)
    (tmp_path / "link").symlink_to("picture")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "round").symlink_to("round")
    assert given(tmp_path / "link").others[0].size == len(PNG)
    for name, why in (("broken", "No such file"), ("round", "[Ll]evels of symbolic links|[Ll]oop")):
        with pytest.raises(CommandFailed, match=why):
            given(tmp_path / name)


def test_what_is_no_file_is_told_in_a_sentence_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    for name, sentence in (
        (tmp_path, "is a folder; name the files in it."),
        (tmp_path / "fifo", "is a pipe; pipe it into the command instead."),
        (tmp_path / "socket", "is no file but a device or a socket."),
        (os.devnull, "is no file but a device or a socket."),
        (tmp_path / "nothing", "cannot be read: No such file or directory."),
        ("a\0b", "cannot be read: "),
    ):
        with pytest.raises(CommandFailed, match=sentence) as failure:
            given(name)
        assert failure.value.exit_code is ExitCode.USAGE
