"""The file on disk: replaced whole, only by what loads, and never over somebody else's edit."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fermix.infrastructure.settings.config_file import ConfigFile
from fermix.infrastructure.settings.document_edit import with_value
from fermix.infrastructure.settings.editing import ATTEMPTS, Edit, FileBusy, Saved, edit_config
from fermix.infrastructure.settings.problems import ConfigError
from tests.integration.config_command.conftest import WRITTEN

PORT = ("fermix_web", "port")
NAME = ("fermix_core", "agent", "name")


def setting(path: tuple[str, ...], value: object) -> Edit:
    def edit(text: str, _file: ConfigFile) -> str:
        return with_value(text, path, value)

    return edit


def save(home: Path, edit: Edit, *, before_saving: Callable[[], None] = lambda: None) -> Saved:
    return edit_config(home, edit, environ={"HOME": "/people/ada"}, before_saving=before_saving)


def left_over(home: Path) -> list[str]:
    return sorted(
        each.name for each in home.iterdir() if each.name not in {"config.toml", ".config.toml.lock"}
    )


def test_everything_else_in_the_file_stays(home: Path, config: Path) -> None:
    saved = save(home, setting(PORT, 6000))
    assert config.read_text() == WRITTEN.replace("5000", "6000")
    assert (saved.path, saved.changed, saved.settings.settings.web.port) == (config, True, 6000)
    assert left_over(home) == []


def test_a_first_file_is_made_for_its_owner_alone(home: Path) -> None:
    save(home, setting(PORT, 6000))
    path = home / "config.toml"
    assert path.read_text() == "[fermix_web]\nport = 6000\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("before", "after"), [(0o644, 0o600), (0o600, 0o600), (0o400, 0o400), (0o755, 0o700)]
)
def test_the_mode_is_kept_or_tightened(home: Path, config: Path, before: int, after: int) -> None:
    config.chmod(before)
    save(home, setting(PORT, 6000))
    assert stat.S_IMODE(config.stat().st_mode) == after


def test_a_value_that_does_not_load_changes_nothing(home: Path, config: Path) -> None:
    inode = config.stat().st_ino
    with pytest.raises(ConfigError) as caught:
        save(home, setting(PORT, 70000))
    assert str(caught.value) == f"{config}:11: fermix_web.port: must be at most 65535"
    assert (config.read_text(), config.stat().st_ino) == (WRITTEN, inode)
    assert left_over(home) == []


@pytest.mark.parametrize(
    "broken",
    [
        'path = "C:\\Users\\new"\n',
        "[fermix_channels.telegram\nbot_token = 'planted'\n",
        "a = 1\na = 2\n",
        "\xff",
    ],
)
def test_a_broken_file_is_never_overwritten(home: Path, config: Path, broken: str) -> None:
    config.write_bytes(broken.encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        save(home, setting(PORT, 6000))
    assert str(caught.value).startswith(f"{config}:")
    assert "planted" not in str(caught.value)
    assert config.read_bytes() == broken.encode("latin-1")


def test_a_link_is_followed_and_stays(home: Path, config: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    target = config.rename(kept / "my.toml")
    config.symlink_to(target)
    saved = save(home, setting(PORT, 6000))
    assert config.is_symlink()
    assert saved.path == target
    assert target.read_text() == WRITTEN.replace("5000", "6000")


def test_a_link_to_nowhere_is_refused(home: Path) -> None:
    (home / "config.toml").symlink_to(home / "gone.toml")
    with pytest.raises(ConfigError, match="is a link to a file that does not exist"):
        save(home, setting(PORT, 6000))
    assert [each.name for each in home.iterdir()] == ["config.toml"]


def test_what_an_editor_saved_meanwhile_is_merged(home: Path, config: Path) -> None:
    def editor() -> None:
        if "bob" not in config.read_text():
            config.write_text(WRITTEN.replace("ada", "bob"))

    save(home, setting(PORT, 6000), before_saving=editor)
    assert config.read_text() == WRITTEN.replace("ada", "bob").replace("5000", "6000")


def test_an_editor_that_replaces_the_file_is_merged_too(home: Path, config: Path) -> None:
    def editor() -> None:
        if "bob" not in config.read_text():
            draft = home / "editor~"
            draft.write_text(WRITTEN.replace("ada", "bob"))
            draft.replace(config)

    save(home, setting(PORT, 6000), before_saving=editor)
    assert config.read_text() == WRITTEN.replace("ada", "bob").replace("5000", "6000")


def test_a_file_that_appears_meanwhile_is_merged(home: Path) -> None:
    config = home / "config.toml"

    def editor() -> None:
        if not config.exists():
            config.write_text(WRITTEN)

    save(home, setting(PORT, 6000), before_saving=editor)
    assert config.read_text() == WRITTEN.replace("5000", "6000")


def test_what_an_editor_broke_meanwhile_is_refused_and_kept(home: Path, config: Path) -> None:
    def editor() -> None:
        config.write_text("[broken")

    with pytest.raises(ConfigError, match="is not valid TOML"):
        save(home, setting(PORT, 6000), before_saving=editor)
    assert config.read_text() == "[broken"


def test_a_file_that_never_rests_is_given_up(home: Path, config: Path) -> None:
    saves = iter(range(100))

    def editor() -> None:
        config.write_text(f"{WRITTEN}# {next(saves)}\n")

    with pytest.raises(FileBusy):
        save(home, setting(PORT, 6000), before_saving=editor)
    assert config.read_text() == f"{WRITTEN}# {ATTEMPTS - 1}\n"
    assert left_over(home) == []


def test_what_a_killed_edit_left_is_cleared_away(home: Path, config: Path) -> None:
    draft = home / ".config.toml.draft"
    draft.mkdir()
    (draft / "config.toml").write_text("bot_token = 'planted'")
    save(home, setting(PORT, 6000))
    assert left_over(home) == []


def test_the_same_text_is_not_written_again(home: Path, config: Path) -> None:
    inode = config.stat().st_ino
    assert not save(home, setting(PORT, 5000)).changed
    assert config.stat().st_ino == inode


def test_a_variable_hides_no_mistake_in_the_file(home: Path, config: Path) -> None:
    with pytest.raises(ConfigError, match="must be at most"):
        edit_config(home, setting(PORT, 70000), environ={"HOME": "/people/ada", "PORT": "6000"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root edits the files of others")
def test_the_file_stays_its_owners(home: Path, config: Path) -> None:
    os.chown(config, 1234, 1234)
    save(home, setting(PORT, 6000))
    assert (config.stat().st_uid, config.stat().st_gid) == (1234, 1234)


DIE_BEFORE_SAVING = """
import os, sys
from pathlib import Path
from fermix.infrastructure.settings.document_edit import with_value
from fermix.infrastructure.settings.editing import edit_config
edit_config(
    Path(sys.argv[1]),
    lambda text, file: with_value(text, ("fermix_web", "port"), 6000),
    environ={},
    before_saving=lambda: os.kill(os.getpid(), 9),
)
"""


def test_a_death_before_the_last_step_leaves_the_old_file(home: Path, config: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DIE_BEFORE_SAVING, str(home)], check=False, timeout=20)
    assert done.returncode == -9
    assert config.read_text() == WRITTEN
    assert stat.S_IMODE((home / ".config.toml.draft").stat().st_mode) == 0o700
    save(home, setting(PORT, 6001))
    assert config.read_text() == WRITTEN.replace("5000", "6001")
    assert left_over(home) == []


def test_a_long_edit_of_another_process_is_waited_for(home: Path, config: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        assert go_on.wait(10)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(save, home, setting(PORT, 6000), before_saving=hold)
        assert entered.wait(10)
        second = pool.submit(save, home, setting(NAME, "bob"))
        assert not second.done()
        go_on.set()
        assert first.result(10).changed
        assert second.result(10).changed
    assert config.read_text() == WRITTEN.replace("ada", "bob").replace("5000", "6000")
