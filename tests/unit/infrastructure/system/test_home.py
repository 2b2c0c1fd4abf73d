import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fermix.infrastructure.system.home import HomeProblem, HomeUnusable, home_unusable, open_home


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _problem_of_an_ordinary_user(action: Callable[[], object]) -> str:
    """What `action` says in a child that is not root, for root may read and write everything."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            action()
            os.write(writer, b"none")
        except HomeUnusable as exc:
            os.write(writer, exc.reason.encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        return answer.read()


@pytest.mark.requirement("home.modes")
def test_a_missing_home_is_made_private_with_the_folders_above_it(tmp_path: Path) -> None:
    home = open_home(tmp_path / "deep" / "er")

    assert _mode(home.path) == 0o700


@pytest.mark.requirement("home.modes")
def test_a_home_open_to_others_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "home"
    path.mkdir(mode=0o755)

    open_home(path)

    assert _mode(path) == 0o700


def test_opening_twice_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "home"

    open_home(path)
    open_home(path)

    assert list(path.iterdir()) == []


def test_a_home_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert open_home(tmp_path / "link").ledger.parent.samefile(tmp_path / "real")


def test_a_file_in_the_place_of_the_home_is_named(tmp_path: Path) -> None:
    path = tmp_path / "home"
    path.write_text("I was here first")

    with pytest.raises(HomeUnusable, match="not a folder") as caught:
        open_home(path)

    assert caught.value.reason is HomeProblem.NOT_A_FOLDER
    assert str(path) in str(caught.value)
    assert path.read_text() == "I was here first"


def test_a_file_above_the_home_is_not_a_folder_either(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(HomeUnusable) as caught:
        open_home(tmp_path / "file" / "home")

    assert caught.value.reason is HomeProblem.NOT_A_FOLDER


def test_a_link_to_nothing_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(tmp_path / "gone")

    with pytest.raises(HomeUnusable) as caught:
        open_home(tmp_path / "home")

    assert caught.value.reason is HomeProblem.NOT_A_FOLDER


def test_a_home_below_a_folder_that_all_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)

    with pytest.raises(HomeUnusable, match="every user may replace it") as caught:
        open_home(shared / "home")

    assert caught.value.reason is HomeProblem.EXPOSED


def test_a_sticky_shared_folder_above_is_fine(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)

    open_home(shared / "home")


def test_an_unreadable_home_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "home"
    path.mkdir(mode=0o000)
    try:
        assert _problem_of_an_ordinary_user(lambda: open_home(path)) == HomeProblem.NO_PERMISSION
    finally:
        path.chmod(0o700)


def test_the_home_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        (tmp_path / "home").mkdir()
        os.chown(tmp_path / "home", 65534, -1)
        target = tmp_path / "home"
    else:
        target = Path("/")

    with pytest.raises(HomeUnusable) as caught:
        open_home(target)

    assert caught.value.reason is HomeProblem.NOT_OURS


def test_a_home_whose_name_is_no_text_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff\xfe")

    with pytest.raises(HomeUnusable, match="UTF-8") as caught:
        open_home(path)

    assert caught.value.reason is HomeProblem.NOT_TEXT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "name", "sentence"),
    [
        (errno.EISDIR, "daemon.json", "The home /h cannot be used: /h/daemon.json: Is a directory."),
        (errno.EEXIST, "logs", "The home /h cannot be used: /h/logs: File exists."),
        (
            errno.ELOOP,
            "home.lock",
            "The home /h cannot be used: /h/home.lock: Too many levels of symbolic links.",
        ),
        (errno.EIO, "", "The home /h cannot be used: Input/output error."),
    ],
)
def test_what_is_in_the_way_inside_the_home_is_named(number: int, name: str, sentence: str) -> None:
    error = OSError(number, os.strerror(number), str(Path("/h") / name))

    assert str(home_unusable(Path("/h"), error)) == sentence


def test_of_a_file_that_cannot_take_its_place_the_place_is_named() -> None:
    error = OSError(errno.EISDIR, "Is a directory", "/h/.daemon.json.7", None, "/h/daemon.json")

    assert str(home_unusable(Path("/h"), error)) == (
        "The home /h cannot be used: /h/daemon.json: Is a directory."
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, HomeProblem.NO_PERMISSION),
        (errno.EROFS, HomeProblem.READ_ONLY),
        (errno.ENOSPC, HomeProblem.NO_SPACE),
        (errno.EDQUOT, HomeProblem.NO_SPACE),
        (errno.ENOTDIR, HomeProblem.NOT_A_FOLDER),
        (errno.EIO, HomeProblem.BROKEN),
    ],
)
def test_an_error_of_the_system_becomes_a_reason_and_a_sentence(number: int, reason: HomeProblem) -> None:
    error = home_unusable(Path("/h"), OSError(number, os.strerror(number)))

    assert error.reason is reason
    assert str(error).startswith("The home /h cannot be used: ")
    assert str(error).endswith(".")
