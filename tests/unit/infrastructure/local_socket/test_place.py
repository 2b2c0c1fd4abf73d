"""Where the socket lies, and who may have the folder it lies in."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.local_socket.place import (
    MAX_PATH_BYTES,
    SocketPlace,
    UnsafeFolder,
    make_private,
    socket_place,
)

LONG_HOME = Path("/" + "/".join(["a-long-folder-name"] * 8))
UID = 1000


def test_a_short_home_holds_its_socket_itself() -> None:
    place = socket_place(Path("/home/ada/.fermix"), Path("/run/user/1000"), UID)
    assert place == SocketPlace(path=Path("/home/ada/.fermix/daemon.sock"))


def test_a_long_home_uses_the_users_runtime_folder() -> None:
    place = socket_place(LONG_HOME, Path("/run/user/1000"), UID)
    assert place.private_folder == Path("/run/user/1000/fermix")
    assert place.path.parent == place.private_folder


@pytest.mark.parametrize("runtime_dir", [None, Path("/" + "r" * 100)])
def test_without_a_usable_runtime_folder_it_is_a_folder_of_the_user_under_tmp(
    runtime_dir: Path | None,
) -> None:
    assert socket_place(LONG_HOME, runtime_dir, UID).private_folder == Path("/tmp/fermix-1000")


def test_the_longest_path_that_fits_stays_in_the_home() -> None:
    room = MAX_PATH_BYTES - len("/daemon.sock")
    fits = Path("/" + "h" * (room - 1))
    assert socket_place(fits, None, UID).private_folder is None
    assert socket_place(fits.with_name(fits.name + "h"), None, UID).private_folder is not None


def test_bytes_are_counted_and_not_characters() -> None:
    assert socket_place(Path("/" + "ü" * 50), None, UID).private_folder is not None


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_the_path_always_fits_and_is_always_the_same(name: str) -> None:
    place = socket_place(Path("/homes") / name, Path("/run/user/1000"), UID)
    assert len(os.fsencode(place.path)) <= MAX_PATH_BYTES
    assert place == socket_place(Path("/homes") / name, Path("/run/user/1000"), UID)


def test_two_long_homes_have_two_sockets() -> None:
    one, other = (socket_place(LONG_HOME / name, None, UID).path for name in ("one", "other"))
    assert one != other


def test_a_private_folder_is_made_closed_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    make_private(folder, os.getuid())
    make_private(folder, os.getuid())
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(UnsafeFolder, match="0700"):
        make_private(folder, os.getuid())


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    with pytest.raises(UnsafeFolder, match="another user"):
        make_private(folder, os.getuid() + 1)


def test_a_link_is_refused_although_it_leads_to_a_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafeFolder, match="not a folder"):
        make_private(tmp_path / "link", os.getuid())


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolder, match="missing"):
        make_private(tmp_path / "missing" / "fermix", os.getuid())
