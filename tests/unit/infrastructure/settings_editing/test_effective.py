"""What is in force, where it comes from, and how it is shown."""

import tomllib
from pathlib import Path

import pytest

from fermix.infrastructure.settings.effective import Layer, Origin, effective_settings
from fermix.infrastructure.settings.toml_view import shown, toml_view

FILE = """\
[fermix_core.providers.openai]
api_key = "sk-from-the-file"
default_model = "m"

[fermix_channels.signal]
allow_from = ["+1", "+2"]

[mcp.servers.files]
command = "serve"
env = { TOKEN = "in-the-table" }

[fermix_web]
port = 5000
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(FILE)
    return tmp_path


def origins(home: Path, **environ: str) -> dict[str, Origin]:
    return {".".join(each.path): each.origin for each in effective_settings(home, environ).values}


def test_each_value_knows_its_layer(home: Path) -> None:
    found = origins(home, PORT="6000", OPENAI_API_KEY="sk-from-outside")
    assert found["fermix_web.port"] == Origin(layer=Layer.ENVIRONMENT, variable="PORT")
    assert found["fermix_core.providers.openai.api_key"].words() == "environment, OPENAI_API_KEY"
    assert found["fermix_core.providers.openai.default_model"] == Origin(layer=Layer.FILE, line=3)
    assert found["fermix_channels.signal.allowed_sender_ids"].words() == "file, line 6"
    assert found["fermix_core.agent.name"].words() == "default"


def test_the_view_shows_what_was_set_and_masks_secrets(home: Path) -> None:
    view = toml_view(effective_settings(home, {}), defaults=False, origins=False)
    assert tomllib.loads(view) == {
        "fermix_core": {"providers": {"openai": {"api_key": "********", "default_model": "m"}}},
        "fermix_channels": {"signal": {"allowed_sender_ids": ["+1", "+2"]}},
        "fermix_web": {"port": 5000},
        "mcp": {"servers": {"files": {"command": "serve", "env": {"TOKEN": "********"}}}},
    }
    assert "sk-from" not in view
    assert "in-the-table" not in view


def test_the_whole_view_is_toml_and_marks_defaults(home: Path) -> None:
    view = toml_view(effective_settings(home, {}), defaults=True, origins=True)
    assert tomllib.loads(view)["fermix_core"]["agent"]["name"] == "fermix"
    lines = view.splitlines()
    assert 'name = "fermix"  # default' in lines
    assert "port = 5000  # file, line 13" in lines
    assert "# user_name is unset" in lines


def test_a_fresh_home_has_nothing_to_show(tmp_path: Path) -> None:
    effective = effective_settings(tmp_path, {})
    assert toml_view(effective, defaults=False, origins=True) == ""
    assert not list(shown(effective, defaults=False))


def test_a_variable_that_counts_for_any_provider_is_named(tmp_path: Path) -> None:
    effective = effective_settings(tmp_path, {"FERMIX_DEFAULT_MODEL": "m"})
    assert effective.variables == ("FERMIX_DEFAULT_MODEL",)
    assert "FERMIX_DEFAULT_MODEL" in toml_view(effective, defaults=False, origins=False)


def test_no_representation_shows_a_value(home: Path) -> None:
    assert "sk-from" not in repr(effective_settings(home, {}))
    assert "in-the-table" not in repr(effective_settings(home, {}).values)
