"""`fermix ask` without a daemon when the gateway cannot run here: the reason, and the status that sorts it."""

from pathlib import Path

import pytest

from tests.integration.cli.command_line import fermix


@pytest.mark.parametrize(
    ("config", "status", "code"),
    [
        ("nonsense = [", 7, "config_invalid"),
        ("[fermix_core.agent]\nmax_iteratons = 3\n", 7, "config_invalid"),
        ("[fermix_core.providers.openai]\nprimary = true\n", 4, "credential_missing"),
    ],
)
def test_a_wrong_configuration_is_told_with_its_status(
    home: Path, config: str, status: int, code: str
) -> None:
    (home / "config.toml").write_text(config)
    done = fermix(home, "ask", "hello")
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("fermix: ")
    document = fermix(home, "ask", "--json", "hello").document
    assert document["error"]["code"] == code


def test_a_home_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    done = fermix(tmp_path / "home", "ask", "hello")
    assert (done.status, done.out) == (1, "")
    assert str(tmp_path / "home") in done.err


@pytest.mark.parametrize("arguments", [("ask", "hello"), ("model", "install")])
def test_without_a_model_and_without_network_the_status_is_6_and_the_remedy_is_named(
    home: Path, arguments: tuple[str, ...]
) -> None:
    done = fermix(home, *arguments, PIP_NO_INDEX="1", UV_OFFLINE="1")
    assert (done.status, done.out) == (6, "")
    assert "model install" in done.err
