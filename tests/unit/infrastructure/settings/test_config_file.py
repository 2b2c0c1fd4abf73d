import os
from pathlib import Path

import pytest

from fermix.infrastructure.settings.config_file import MAX_BYTES, read_config_file
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.problems import ConfigError
from tests.unit.infrastructure.settings.conftest import Load, Problems


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path / "fresh", {"HOME": "/people/ada"})
    assert not loaded.exists
    assert loaded.warnings == ()
    assert loaded.path == tmp_path / "fresh" / "config.toml"
    assert loaded.settings.home == tmp_path / "fresh"
    assert loaded.settings.core.agent.turn_timeout_seconds == 900


def test_an_empty_file_says_nothing(load: Load, tmp_path: Path) -> None:
    loaded = load("")
    assert loaded.exists
    assert loaded.settings == load_settings(tmp_path, {"HOME": "/people/ada"}).settings


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            b"\xef\xbb\xbf[fermix_web]\n",
            "config.toml:1: begins with a byte order mark; save it as plain UTF-8",
        ),
        (
            "[fermix_web]".encode("utf-16"),
            "config.toml:1: begins with a byte order mark; save it as plain UTF-8",
        ),
        (b'[fermix_web]\n# ok\nx = "\xff"\n', "config.toml:3: holds a byte that is not UTF-8"),
        (b"a = " + b"[" * 5000, "config.toml: is nested too deeply"),
        (b"a = 1" + b"0" * 5000, "config.toml: holds a number that is too long"),
        (b"#" * (MAX_BYTES + 1), "config.toml: is larger than 1024 KiB"),
    ],
)
def test_a_file_that_is_no_text_of_ours_is_named_with_the_reason(
    problems: Problems, content: bytes, line: str
) -> None:
    assert problems(content) == [line]


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ('[sandbox]\npath = "C:\\Users\\new"\n', "config.toml:2: is not valid TOML: "),
        ("# x\n\n[fermix_channels.telegram\nenabled = true\n", "config.toml:3: is not valid TOML: "),
        ("[a]\nb = 1\n[a]\n", "config.toml:3: is not valid TOML: "),
        ("a = 1\na = 2\n", "config.toml:2: is not valid TOML: "),
        ('a = """\n\n', "config.toml:3: is not valid TOML: "),
        ("sk-secret-token-123\n", "config.toml:1: is not valid TOML: "),
        ("a = \x00\n", "config.toml:1: is not valid TOML: "),
    ],
)
def test_a_file_that_is_not_toml_is_named_with_its_line(problems: Problems, content: str, start: str) -> None:
    (line,) = problems(content)
    assert line.startswith(start)
    assert "secret" not in line


def test_a_windows_path_in_double_quotes_gets_a_hint(problems: Problems) -> None:
    (line,) = problems('path = "C:\\Users\\new"\n')
    assert "in double quotes a backslash is written twice" in line


def test_a_folder_a_pipe_and_a_dangling_link_are_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    reasons = {
        "folder": "is a folder, not a file",
        "pipe": "is not a regular file",
        "link": "is a link to a file that does not exist",
        "file/config.toml": f"cannot be read: {tmp_path / 'file'} is not a folder",
    }
    for name, reason in reasons.items():
        with pytest.raises(ConfigError) as caught:
            read_config_file(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {reason}"


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("a = 1")
    (tmp_path / "config.toml").symlink_to(tmp_path / "real.toml")
    assert read_config_file(tmp_path / "config.toml").table == {"a": 1}


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0)
    if os.access(path, os.R_OK):
        # The administrator may read everything; what the system refuses to everybody is a path that is too long.
        path = tmp_path / ("x" * 300)
    with pytest.raises(ConfigError, match="cannot be read: "):
        read_config_file(path)


def test_the_file_is_never_written(load: Load, problems: Problems, tmp_path: Path) -> None:
    problems("[broken\n")
    assert (tmp_path / "config.toml").read_text() == "[broken\n"
    load("# kept\n")
    assert (tmp_path / "config.toml").read_text() == "# kept\n"
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]
