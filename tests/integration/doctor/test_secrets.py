"""No secret, wherever it stands, is ever shown."""

from pathlib import Path

import pytest

from fermix.infrastructure.settings.environment import VARIABLES, Kind
from tests.integration.cli.command_line import fermix

PLANTED = "planted-secret"

CONFIG = f"""\
[fermix_core.providers.openai]
api_key = "{PLANTED}-01"
[fermix_core.providers.own]
base_url = "http://127.0.0.1:9/v1"
api_key = "{PLANTED}-02"
[fermix_core.transcription]
deepgram_api_key = "{PLANTED}-03"
[fermix_core.tools.web_search]
brave_api_key = "{PLANTED}-04"
[fermix_core.telemetry.opik]
api_key = "{PLANTED}-05"
[fermix_channels.telegram]
bot_token = "{PLANTED}-06"
[fermix_channels.slack]
enabled = true
signing_secret = "{PLANTED}-07"
[fermix_channels.whatsapp]
enabled = true
app_secret = "{PLANTED}-08"
verify_token = "{PLANTED}-09"
[fermix_channels.discord]
bot_token = "{PLANTED}-10"
[mcp.servers.files]
command = "serve"
env = {{ TOKEN = "{PLANTED}-11" }}
"""

BROKEN = ["", "prot = 1\n", "[fermix_web\n", f"[fermix_web]\nport = '{PLANTED}-12'\n"]

ENVIRONMENT = {each.name: f"{PLANTED}-{each.name}" for each in VARIABLES if each.kind is Kind.SECRET}


@pytest.mark.requirement("secrets.redacted_in_errors_and_chat")
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize(
    "command",
    [
        ["doctor"],
        ["doctor", "--json"],
        ["config", "show", "--all", "--origin"],
        ["config", "show", "--json"],
        ["config", "get", "fermix_core.providers.openai.api_key"],
        ["config", "get", "mcp.servers.files.env", "--json"],
        ["config", "set", "fermix_core.agent.name", "bob"],
        ["config", "validate", "--json"],
    ],
)
def test_planted_secrets_stay_hidden(home: Path, command: list[str], broken: str) -> None:
    config = home / "config.toml"
    config.write_text(broken + CONFIG if broken == "prot = 1\n" else CONFIG + broken)
    done = fermix(home, *command, text=None, cwd=None, **ENVIRONMENT)
    assert done.out + done.err
    assert PLANTED not in done.out + done.err
    assert "Traceback" not in done.err


def test_a_token_pasted_as_an_owner_is_redacted(home: Path) -> None:
    token = f"{PLANTED}-06"
    (home / "config.toml").write_text(
        f'[fermix_channels.telegram]\nbot_token = "{token}"\nowner_user_id = "{token}"\n'
    )
    done = fermix(home, "doctor")
    assert "can match nobody" in done.out
    assert PLANTED not in done.out
