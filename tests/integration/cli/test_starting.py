"""What a command loads before it does its work, and the commands there are."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fermix.entrypoints.cli.commands import COMMANDS
from fermix.entrypoints.cli.main import main, unsupported
from tests.integration.cli.command_line import LIMIT_SECONDS, Done, environment, fermix
from tests.integration.local_socket.scripted_control import ScriptedControl

HEAVY = {
    "anyio",
    "apsw",
    "asyncio",
    "click",
    "dataclasses",
    "httpx",
    "inspect",
    "logging",
    "openai",
    "pydantic",
    "rich",
    "sqlite3",
    "ssl",
    "starlette",
    "structlog",
    "subprocess",
    "uvicorn",
}
LIGHT_ON_SETTINGS = {"fermix.infrastructure.settings", "fermix.infrastructure.settings.home"}
ASK = {
    f"fermix.entrypoints.cli.{name}"
    for name in (
        "answer_writer",
        "ask_options",
        "ask_run",
        "attachment",
        "client_failures",
        "command_failed",
        "composition",
        "foreground",
        "given_files",
        "home",
        "main",
        "process",
        "question_input",
        "received_file",
        "receiving",
        "terminal",
        "terminal_text",
    )
}

REPORT = """
import json, sys
from fermix.entrypoints.cli.main import main
status = main(json.loads(sys.argv[1]))
sys.stderr.write(json.dumps([status, list(sys.modules)]))
"""


def modules_loaded(home: Path, arguments: Sequence[str]) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT, json.dumps(arguments)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment(home),
        timeout=LIMIT_SECONDS,
    )
    status, modules = json.loads(done.stderr)
    return status, set(modules)


def test_an_ask_of_a_daemon_loads_nothing_heavy(home: Path, daemon: ScriptedControl) -> None:
    status, modules = modules_loaded(home, ["ask", "hello"])
    assert status == 0
    assert modules & HEAVY == set()
    ours = {name for name in modules if name.startswith("fermix.")}
    assert {name for name in ours if name.startswith("fermix.entrypoints.cli.")} == ASK
    assert {name for name in ours if name.startswith("fermix.infrastructure.settings")} == LIGHT_ON_SETTINGS
    assert not any(name.startswith(("fermix.domain", "fermix.application")) for name in ours)


def test_an_unusual_spelling_costs_click_and_nothing_more(home: Path, daemon: ScriptedControl) -> None:
    status, modules = modules_loaded(home, ["ask", "--session=s", "hello"])
    assert status == 0
    assert modules & HEAVY == {"click", "dataclasses", "inspect"} & modules


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_the_version_comes_without_loading_anything_else(home: Path, arguments: list[str]) -> None:
    status, modules = modules_loaded(home, arguments)
    assert status == 0
    assert {name for name in modules if name.startswith("fermix")} == {
        "fermix",
        "fermix.entrypoints",
        "fermix.entrypoints.cli",
        "fermix.entrypoints.cli.main",
        "fermix.version",
    }


def test_the_version_is_printed(home: Path) -> None:
    assert fermix(home, "--version") == Done(0, "fermix 0.1.0\n", "")
    assert fermix(home, "version") == Done(0, "fermix 0.1.0\n", "")
    assert fermix(home, "version", "--help").out.startswith("Usage: fermix version")


def test_help_lists_every_command_without_loading_any(home: Path) -> None:
    done = fermix(home, "--help")
    assert done.status == 0
    for name, entry in COMMANDS.items():
        assert any(line.split() == [name, *entry.summary.split()] for line in done.out.splitlines())
    _, modules = modules_loaded(home, ["--help"])
    assert "fermix.entrypoints.cli.status_command" not in modules


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_a_help_that_begins_as_the_list_says(home: Path, name: str) -> None:
    done = fermix(home, name, "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: fermix {name}")
    assert COMMANDS[name].summary.split(",", maxsplit=1)[0].rstrip(".") in done.out


@pytest.mark.parametrize(("wrong", "right"), [("aks", "ask"), ("stat", "status"), ("Model", "model")])
def test_an_unknown_command_names_the_nearest(home: Path, wrong: str, right: str) -> None:
    done = fermix(home, wrong)
    assert (done.status, done.out) == (2, "")
    assert f"Did you mean '{right}'?" in done.err


def test_no_command_at_all_shows_the_help(home: Path) -> None:
    done = fermix(home)
    assert (done.status, done.out) == (2, "")
    assert "Commands:" in done.err


def test_a_mistake_is_a_document_where_one_was_asked_for(home: Path) -> None:
    done = fermix(home, "aks", "--json")
    assert (done.status, done.err) == (2, "")
    assert done.document["error"]["code"] == "usage"


def test_the_local_model_is_listed_with_its_place(home: Path) -> None:
    assert "not installed" in fermix(home, "model", "list").out
    (model,) = fermix(home, "model", "list", "--json").document["models"]
    assert model["installed"] is False
    assert model["path"].startswith(str(home / "models"))


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_home_is_the_usual_one(tmp_path: Path, blank: str) -> None:
    done = fermix(tmp_path, "model", "list", FERMIX_HOME=blank, HOME=str(tmp_path))
    assert f"{tmp_path}/.fermix/models" in done.out


def test_native_windows_is_told_to_use_wsl() -> None:
    refusal = unsupported("win32")
    assert refusal is not None
    assert "WSL" in refusal
    assert unsupported("linux") is None
    assert unsupported("darwin") is None


def test_main_gives_back_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "fermix 0.1.0\n"
