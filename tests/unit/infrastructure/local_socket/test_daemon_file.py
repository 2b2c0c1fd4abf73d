"""`daemon.json`: whole or absent, private, and taken away only by the one that wrote it."""

from pathlib import Path

import pytest

from fermix.infrastructure.local_socket.daemon_file import (
    DaemonFile,
    read_daemon_file,
    remove_daemon_file,
    write_daemon_file,
)

CONTENT = DaemonFile(instance="one", epoch=3, pid=42, socket="/run/user/1000/fermix/x.sock", http_port=4030)


def test_it_is_read_as_it_was_written_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    write_daemon_file(tmp_path, CONTENT)
    assert read_daemon_file(tmp_path) == CONTENT
    assert (tmp_path / "daemon.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["daemon.json"]


def test_a_new_owner_replaces_it(tmp_path: Path) -> None:
    write_daemon_file(tmp_path, CONTENT)
    later = CONTENT._replace(instance="two", epoch=4, http_port=None)
    write_daemon_file(tmp_path, later)
    assert read_daemon_file(tmp_path) == later


def test_a_home_without_one_has_none(tmp_path: Path) -> None:
    assert read_daemon_file(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"instance": 1}', b"{" * 70_000])
def test_a_broken_one_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "daemon.json").write_bytes(content)
    assert read_daemon_file(tmp_path) is None


def test_it_goes_with_the_instance_that_wrote_it(tmp_path: Path) -> None:
    write_daemon_file(tmp_path, CONTENT)
    remove_daemon_file(tmp_path, "another")
    assert read_daemon_file(tmp_path) == CONTENT
    remove_daemon_file(tmp_path, CONTENT.instance)
    assert read_daemon_file(tmp_path) is None
    remove_daemon_file(tmp_path, CONTENT.instance)


def test_a_home_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "daemon.json").mkdir()
    with pytest.raises(OSError, match="daemon"):
        write_daemon_file(tmp_path, CONTENT)
    assert [path.name for path in tmp_path.iterdir()] == ["daemon.json"]
