"""Files that come in pieces: whole or not at all, beside what is there and never over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.entrypoints.cli.file_saving import FileSaver
from fermix.entrypoints.cli.received_file import ReceivedFile
from fermix.entrypoints.cli.receiving import with_files_saved
from fermix.infrastructure.local_socket.asking import AskEvent, TextDelta
from fermix.infrastructure.local_socket.file_events import FileBegun, FileBroken, FileEvent, FilePiece


def begun(name: str = "a.png", *, size: int = 6) -> FileBegun:
    return FileBegun(kind="image", name=name, mime="image/png", size=size, caption="look")


def saved(folder: Path, *events: FileEvent) -> list[ReceivedFile]:
    saver = FileSaver(folder)
    return [received for event in events if (received := saver.take(event)) is not None]


def test_a_file_is_saved_under_its_name_when_its_last_piece_has_come(tmp_path: Path) -> None:
    saver = FileSaver(tmp_path)
    assert saver.take(begun()) is None
    assert saver.take(FilePiece(b"abc")) is None
    assert not (tmp_path / "a.png").exists()
    received = saver.take(FilePiece(b"def"))
    assert received == ReceivedFile("a.png", str(tmp_path / "a.png"), "image/png", 6, "image", "look")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a.png", b"abcdef")]


def test_an_empty_file_is_saved_at_once(tmp_path: Path) -> None:
    (received,) = saved(tmp_path, begun(size=0))
    assert received.path == str(tmp_path / "a.png")


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"mine")
    (tmp_path / "a (1).png").symlink_to(tmp_path / "elsewhere")
    (received,) = saved(tmp_path, begun(), FilePiece(b"abcdef"))
    assert received.path == str(tmp_path / "a (2).png")
    assert (tmp_path / "a.png").read_bytes() == b"mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_that_leads_elsewhere_stays_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (received,) = saved(folder, begun("../../.profile"), FilePiece(b"abcdef"))
    assert received.path == str(folder / "profile")
    assert list(tmp_path.iterdir()) == [folder]


def test_more_bytes_than_were_told_are_not_written(tmp_path: Path) -> None:
    (received,) = saved(tmp_path, begun(), FilePiece(b"abcdefgh"), FilePiece(b"more"))
    assert received.path is not None
    assert Path(received.path).read_bytes() == b"abcdef"


def test_of_a_file_that_breaks_off_nothing_stays_and_its_reason_is_told(tmp_path: Path) -> None:
    (received,) = saved(tmp_path, begun(), FilePiece(b"abc"), FileBroken("The file is not here any more."))
    assert received.path is None
    assert received.told() == "The file a.png could not be saved. The file is not here any more."
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_told_once_and_the_next_file_has_its_own_chance(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    saver = FileSaver(folder)
    lost = saver.take(begun())
    assert lost is not None
    assert lost.problem == "No such file or directory."
    assert saver.take(FilePiece(b"abcdef")) is None
    assert saver.take(FileBroken("late")) is None
    folder.mkdir()
    saver.take(begun())
    received = saver.take(FilePiece(b"abcdef"))
    assert received is not None
    assert received.path == str(folder / "a.png")


def test_a_reader_that_leaves_in_the_middle_of_a_file_leaves_nothing_behind(tmp_path: Path) -> None:
    def events() -> Iterator[AskEvent | FileEvent]:
        yield TextDelta("first")
        yield begun()
        yield FilePiece(b"abc")
        raise KeyboardInterrupt

    shown = with_files_saved(events(), tmp_path)
    assert next(shown) == TextDelta("first")
    with pytest.raises(KeyboardInterrupt):
        next(shown)
    assert list(tmp_path.iterdir()) == []


def test_what_is_told_of_a_file_has_its_place_its_size_and_its_caption(tmp_path: Path) -> None:
    (received,) = saved(tmp_path, begun(), FilePiece(b"abcdef"))
    assert received.told() == f"Saved {tmp_path}/a.png (image/png, 6 bytes): look"
    assert received._replace(size=12_300, caption="").told().endswith("(image/png, 12 kB)")
    assert received._replace(size=12_300_000, caption="").told().endswith("(image/png, 12.3 MB)")
