"""Standard input: what is read, what is not, and how long it is waited for."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.question_input import InputKind, input_kind, read_question
from fermix.entrypoints.exit_codes import ExitCode


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def test_only_pipes_and_files_are_text(tmp_path: Path, pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    screen, terminal = os.openpty()
    one, other = socket.socketpair()
    with (tmp_path / "file").open("w+b") as file, Path(os.devnull).open("rb") as devnull, one, other:
        kinds = [input_kind(fd) for fd in (reader, file.fileno(), terminal, devnull.fileno(), one.fileno())]
    for descriptor in (writer, screen, terminal):
        os.close(descriptor)
    assert kinds == [
        InputKind.TEXT,
        InputKind.TEXT,
        InputKind.TERMINAL,
        InputKind.NOTHING,
        InputKind.NOTHING,
    ]
    assert input_kind(-1) is InputKind.NOTHING


def test_a_silent_pipe_is_waited_for_and_told_once(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    notes: list[str] = []
    told = threading.Event()

    def note(text: str) -> None:
        notes.append(text)
        told.set()

    def write_late() -> None:
        told.wait(10)
        os.write(writer, b"late")
        os.close(writer)

    thread = threading.Thread(target=write_late)
    thread.start()
    question = read_question(AskOptions(), reader, deadline=None, note=note, patience=0.01)
    thread.join(10)
    assert question == "late"
    assert len(notes) == 1
    assert "--no-input" in notes[0]


def test_a_pipe_that_never_ends_is_given_up_at_the_time_limit(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"some")
    with pytest.raises(CommandFailed) as failure:
        read_question(AskOptions(), reader, deadline=time.monotonic() + 0.02, note=lambda _: None)
    os.close(writer)
    assert failure.value.exit_code is ExitCode.TIMED_OUT


def test_a_pipe_without_end_is_read_only_as_far_as_it_could_be_used(tmp_path: Path) -> None:
    with Path("/dev/zero").open("rb") as endless, pytest.raises(CommandFailed, match="1,000,000"):
        read_question(AskOptions(text="-"), endless.fileno(), deadline=None, note=lambda _: None)


def test_a_dash_and_no_input_contradict_each_other() -> None:
    with pytest.raises(CommandFailed, match="forbids") as failure:
        read_question(AskOptions(text="-", no_input=True), 0, deadline=None, note=lambda _: None)
    assert failure.value.exit_code is ExitCode.USAGE


def test_an_input_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(CommandFailed, match="cannot be read"):
        read_question(AskOptions(text="-"), descriptor, deadline=None, note=lambda _: None)
    os.close(descriptor)
