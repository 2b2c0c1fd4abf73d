"""A descriptor that threads read from while somebody else may give it up."""

import os
from pathlib import Path
from threading import Thread

import pytest

from fermix.infrastructure.workspace.streaming import PIECE, SharedHandle


def is_open(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def pipe_in(shared: SharedHandle) -> tuple[int, int]:
    """A pipe that is read through `shared`: where to write, and the descriptor that it keeps."""
    reading, writing = os.pipe()
    free = os.dup(reading)
    os.close(free)  # the next duplicate gets this number
    shared.take(reading)
    os.close(reading)
    return writing, free


def test_a_file_is_read_to_its_end_in_pieces(tmp_path: Path) -> None:
    content = os.urandom(PIECE + 7)
    (tmp_path / "file").write_bytes(content)
    shared = SharedHandle()
    with (tmp_path / "file").open("rb") as file:
        assert shared.take(file.fileno()) == len(content)
    assert (shared.read(), shared.read(), shared.read()) == (content[:PIECE], content[PIECE:], b"")
    shared.give_up()
    assert shared.read() == b""


def test_giving_up_waits_for_no_thread_and_the_thread_closes_behind_itself() -> None:
    shared = SharedHandle()
    writing, kept = pipe_in(shared)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(shared.read()))
    reader.start()
    shared.give_up()
    os.write(writing, b"late")
    reader.join(timeout=5)
    assert not reader.is_alive()
    assert read in ([b"late"], [b""])
    assert not is_open(kept)
    os.close(writing)


def test_what_is_handed_over_too_late_is_closed_at_once() -> None:
    shared = SharedHandle()
    shared.give_up()
    writing, kept = pipe_in(shared)
    assert not is_open(kept)
    assert shared.read() == b""
    os.close(writing)


@pytest.mark.parametrize("times", [1, 2])
def test_giving_up_closes_once(times: int) -> None:
    shared = SharedHandle()
    writing, kept = pipe_in(shared)
    for _ in range(times):
        shared.give_up()
    assert not is_open(kept)
    os.close(writing)
