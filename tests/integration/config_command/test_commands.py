"""`fermix config` as the process a user would start."""

import json
import os
import pty
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from fermix.application.ports.control import OwnerKind
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment, fermix
from tests.integration.config_command.conftest import WRITTEN
from tests.integration.local_socket.scripted_control import ScriptedControl, served

KEY = "fermix_core.providers.openai.api_key"
SECRET = "sk-planted-secret-1"


def test_the_path_is_told_whether_it_exists_or_not(home: Path) -> None:
    path = home / "config.toml"
    assert fermix(home, "config", "path") == (0, f"{path}\n", "")
    assert fermix(home, "config", "path", "--json").document == {
        "ok": True,
        "path": str(path),
        "exists": False,
    }
    assert not path.exists()


def test_what_is_in_force_is_shown_masked_with_its_origins(home: Path, config: Path) -> None:
    done = fermix(home, "config", "show", "--origin", PORT="6000")
    assert (done.status, done.err) == (0, "")
    assert tomllib.loads(done.out)["fermix_web"] == {"port": 6000}
    assert "port = 6000  # environment, PORT" in done.out
    assert 'bot_token = "********"  # file, line 7' in done.out
    assert "planted" not in done.out


def test_defaults_are_shown_when_asked_for(home: Path, config: Path) -> None:
    shown = tomllib.loads(fermix(home, "config", "show", "--all").out)
    assert shown["fermix_core"]["agent"]["max_iterations"] == 100


def test_what_is_in_force_is_a_document_for_programs(home: Path, config: Path) -> None:
    document = fermix(home, "config", "show", "--json").document
    assert document["settings"]["fermix_channels"]["telegram"]["bot_token"] == "********"
    assert document["origins"]["fermix_web.port"] == {"origin": "file", "line": 11}
    assert "planted" not in json.dumps(document)


def test_nothing_set_is_said(home: Path) -> None:
    done = fermix(home, "config", "show")
    assert (done.status, done.out) == (0, "")
    assert "defaults" in done.err


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("fermix_web.port", "5000\n"),
        ("fermix_core.agent.name", "ada\n"),
        ("fermix_core.agent.max_iterations", "100\n"),
        ("fermix_channels.telegram.allow_from", '["1001"]\n'),
        ("fermix_core.memory.enabled", "true\n"),
    ],
)
def test_one_value_is_told(home: Path, config: Path, key: str, shown: str) -> None:
    assert fermix(home, "config", "get", key) == (0, shown, "")


def test_an_unset_key_gives_nothing(home: Path) -> None:
    done = fermix(home, "config", "get", "fermix_core.personalization.timezone")
    assert (done.status, done.out) == (0, "")
    assert "is unset" in done.err
    document = fermix(home, "config", "get", "--json", "fermix_core.personalization.timezone").document
    assert document["value"] is None


def test_a_secret_is_masked_and_never_leaves_for_a_file(home: Path, config: Path) -> None:
    key = "fermix_channels.telegram.bot_token"
    assert fermix(home, "config", "get", key).out == "********\n"
    for options in (["--reveal"], ["--reveal", "--json"]):
        done = fermix(home, "config", "get", key, *options)
        assert done.status == 2
        assert "planted" not in done.out + done.err


def test_a_secret_is_revealed_on_a_terminal(home: Path, config: Path) -> None:
    ours, theirs = pty.openpty()
    arguments = [*PROGRAM, "config", "get", "--reveal", "fermix_channels.telegram.bot_token"]
    done = subprocess.run(
        arguments,
        check=False,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=LIMIT_SECONDS,
    )
    os.close(theirs)
    shown = os.read(ours, 1000)
    os.close(ours)
    assert (done.returncode, shown) == (0, b"12345:planted-bot-token\r\n")


def test_a_key_is_set_and_taken_out(home: Path, config: Path) -> None:
    done = fermix(home, "config", "set", "fermix_core.agent.name", "bob")
    assert done == (0, f"{config}: fermix_core.agent.name is set\n", "")
    assert config.read_text() == WRITTEN.replace("ada", "bob")
    done = fermix(home, "config", "set", "--unset", "fermix_core.agent.name", "--json")
    assert done.document["changed"] is True
    assert config.read_text() == WRITTEN.replace('name = "ada"  # her name\n', "")


def test_setting_the_first_key_makes_home_and_file(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    assert fermix(home, "config", "set", "fermix_web.port", "6000").status == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600


def test_an_unknown_key_gets_the_nearest_name(home: Path, config: Path) -> None:
    done = fermix(home, "config", "set", "fermix_web.prot", "1")
    assert done.status == 2
    assert "fermix_web.port" in done.err
    document = fermix(home, "config", "get", "fermix_web.prot", "--json").document
    assert document["error"]["code"] == "unknown_key"
    assert document["nearest"] == ["fermix_web.port"]


@pytest.mark.parametrize("value", ["99999", "abc"])
def test_a_bad_value_changes_nothing(home: Path, config: Path, value: str) -> None:
    done = fermix(home, "config", "set", "fermix_web.port", value)
    assert done.status == 7
    assert "fermix_web.port: must be" in done.err
    assert config.read_text() == WRITTEN


@pytest.mark.parametrize("arguments", [["fermix_web.port"], ["fermix_web.port", "1", "--unset"], []])
def test_half_a_command_is_wrong_usage(home: Path, config: Path, arguments: list[str]) -> None:
    assert fermix(home, "config", "set", *arguments).status == 2
    assert config.read_text() == WRITTEN


def test_a_secret_is_read_from_standard_input(home: Path) -> None:
    done = fermix(home, "config", "set", KEY, "-", text=f"{SECRET}\n".encode())
    assert (done.status, done.err) == (0, "")
    assert SECRET not in done.out
    assert tomllib.loads((home / "config.toml").read_text())["fermix_core"]["providers"]["openai"] == {
        "api_key": SECRET
    }


def test_a_secret_among_the_arguments_is_remarked_on(home: Path) -> None:
    done = fermix(home, "config", "set", KEY, SECRET)
    assert done.status == 0
    assert "standard input" in done.err
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "é"])
def test_a_bad_secret_is_refused_without_being_shown(home: Path, value: str) -> None:
    done = fermix(home, "config", "set", KEY, "-", text=f"planted-{value}".encode())
    assert done.status == 7
    assert "planted" not in done.out + done.err
    assert not (home / "config.toml").exists()


def test_what_can_match_nobody_is_remarked_on(home: Path, config: Path) -> None:
    done = fermix(home, "config", "set", "fermix_channels.telegram.allowed_user_ids", '["4004,5005", 7]')
    assert done.status == 0
    assert '"4004,5005" can match nobody' in done.err


def test_a_channel_that_lets_nobody_in_is_remarked_on(home: Path) -> None:
    done = fermix(home, "config", "set", "fermix_channels.slack.enabled", "true")
    assert "every message will be denied" in done.err


def test_a_provider_that_cannot_answer_is_remarked_on(home: Path) -> None:
    done = fermix(home, "config", "set", "fermix_core.providers.anthropic.primary", "true")
    assert done.status == 0
    assert "anthropic" in done.err
    assert fermix(home, "config", "validate").status == 7


def test_a_variable_that_wins_is_named(home: Path, config: Path) -> None:
    assert "PORT is set" in fermix(home, "config", "set", "fermix_web.port", "6001", PORT="6000").err


def test_an_allowlist_keeps_the_name_it_was_written_under(home: Path) -> None:
    config = home / "config.toml"
    config.write_text("[fermix_channels.telegram]\nallow_from = [1]  # me\n")
    fermix(home, "config", "set", "fermix_channels.telegram.allowed_user_ids", "[1, 2]")
    assert config.read_text() == "[fermix_channels.telegram]\nallow_from = [1, 2]  # me\n"


def test_an_unknown_key_can_be_taken_out_of_the_file(home: Path, config: Path) -> None:
    config.write_text(f"{WRITTEN}prot = 1\n")
    assert fermix(home, "config", "validate").status == 7
    assert fermix(home, "config", "set", "--unset", "fermix_web.prot").status == 0
    assert config.read_text() == WRITTEN
    assert fermix(home, "config", "set", "--unset", "fermix_web.prot").status == 2


@pytest.mark.parametrize(
    "broken", ['path = "C:\\Users\\new"\n', "[fermix_channels.telegram\nx = 'planted'\n"]
)
@pytest.mark.parametrize(
    "command", [["show"], ["get", "fermix_web.port"], ["set", "fermix_web.port", "1"], ["validate"]]
)
def test_a_broken_file_is_named_with_its_line_and_left_alone(
    home: Path, config: Path, broken: str, command: list[str]
) -> None:
    config.write_text(broken)
    done = fermix(home, "config", *command)
    assert (done.status, done.out) == (7, "")
    assert f"{config}:1: is not valid TOML" in done.err
    assert "planted" not in done.err
    assert config.read_text() == broken


def test_validate_lists_every_problem(home: Path, config: Path) -> None:
    assert fermix(home, "config", "validate") == (0, f"{config} is valid\n", "")
    config.write_text("[fermix_web]\nprot = 1\nport = 99999\n")
    done = fermix(home, "config", "validate", "--json", PORT="x")
    assert done.status == 7
    found = {(each["line"], each["key"]) for each in done.document["problems"]}
    assert found == {(2, "fermix_web.prot"), (3, "fermix_web.port"), (None, "PORT")}


@pytest.mark.parametrize(
    ("key", "applies", "words"),
    [
        ("fermix_channels.telegram.owner_user_id", "within_seconds", "within seconds"),
        ("fermix_web.port", "after_restart", "restart the daemon"),
    ],
)
def test_with_a_daemon_it_is_said_when_it_applies(
    home: Path, config: Path, key: str, applies: str, words: str
) -> None:
    with served(home / "daemon.sock", ScriptedControl()):
        assert words in fermix(home, "config", "set", key, "1001").out
        assert fermix(home, "config", "set", key, "1002", "--json").document["applies"] == applies


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"fermix_core.agent.name", b"caf\xe9"),
        (b"fermix_core.providers.openai.api_key", b"sk-\xe9"),
        (b"fermix_channels.telegram.allowed_user_ids", b'["\xe9"]'),
        (b'fermix_core.providers."caf\xe9".base_url', b"http://127.0.0.1"),
    ],
)
def test_what_is_no_utf_8_is_refused_and_changes_nothing(
    home: Path, config: Path, key: bytes, value: bytes
) -> None:
    before = config.read_bytes()
    done = fermix(home, "config", "set", key, value)
    assert done.status in {2, 7}
    assert "Traceback" not in done.err
    assert "sk-" not in done.err
    assert config.read_bytes() == before


def test_another_ask_at_work_applies_nothing(home: Path, config: Path) -> None:
    with served(home / "daemon.sock", ScriptedControl(kind=OwnerKind.IN_PROCESS)):
        assert fermix(home, "config", "set", "fermix_web.port", "1", "--json").document["applies"] is None


def test_edits_at_once_all_take_effect(home: Path, config: Path) -> None:
    keys = [f"fermix_core.agent.{name}" for name in ("max_iterations", "max_concurrent_turns")]
    keys += ["fermix_core.queue.max_waiting", "fermix_core.queue.keep_sent_days"]
    running = [
        subprocess.Popen(
            [*PROGRAM, "config", "set", key, "17"],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for key in keys
    ]
    assert [each.wait(LIMIT_SECONDS) for each in running] == [0, 0, 0, 0]
    table = tomllib.loads(config.read_text())["fermix_core"]
    assert table["agent"] == {"name": "ada", "max_iterations": 17, "max_concurrent_turns": 17}
    assert table["queue"] == {"max_waiting": 17, "keep_sent_days": 17}


WITH_A_SMALL_LIMIT = """
import resource, sys
from fermix.entrypoints.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
sys.exit(main(["config", "set", "fermix_web.port", "6000"]))
"""


def test_a_full_disk_changes_nothing(home: Path, config: Path) -> None:
    done = subprocess.run(
        [PROGRAM[0], "-c", WITH_A_SMALL_LIMIT],
        check=False,
        capture_output=True,
        text=True,
        env=environment(home),
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 1
    assert "Nothing was saved" in done.stderr
    assert config.read_text() == WRITTEN
