"""`fermix setup` told by flags: what it saves, what it says, and what it leaves alone."""

import json
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Refuse
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TOKEN, telegram_server
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment
from tests.integration.setup.setting_up import KEY, NO_KEYCHAIN, private, setup, written

TELEGRAM = ("--telegram-bot-token", "-", "--telegram-owner-user-id", "1001")
OPENAI_KEY = "fermix_core.providers.openai.api_key"


def test_a_key_from_standard_input_goes_to_a_store_and_its_sentinel_into_the_file(home: Path) -> None:
    done = setup(home, "--openai-api-key", "-", "--skip-probe", text=f"  {KEY}\r\n".encode())
    assert done.status == 0
    assert written(home) == {"fermix_core": {"providers": {"openai": {"api_key": "@file", "primary": True}}}}
    assert private(home) == {OPENAI_KEY: KEY}
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600
    assert KEY not in done.out + done.err
    assert "other users could see" not in done.err
    assert "fermix ask" in done.out


def test_a_home_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "new"
    assert setup(home, "--xai-api-key", "-", "--skip-probe", text=b"xai-1\n").status == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_several_secrets_are_read_line_by_line_in_the_order_of_the_flags(home: Path) -> None:
    given = ("--telegram-bot-token", "-", "--mistral-api-key", "-", "--openai-api-key=-", "--skip-probe")
    done = setup(home, *given, text=b"12345:AA\nm-1\nsk-1")
    assert done.status == 0
    assert private(home) == {
        "fermix_channels.telegram.bot_token": "12345:AA",
        "fermix_core.providers.mistral.api_key": "m-1",
        OPENAI_KEY: "sk-1",
    }
    assert written(home)["fermix_core"]["providers"]["openai"] == {"api_key": "@file", "primary": True}


def test_a_line_that_is_missing_is_named_and_nothing_is_saved(home: Path) -> None:
    done = setup(home, "--xai-api-key", "-", "--openai-api-key", "-", text=b"x-1\n")
    assert (done.status, done.err) == (2, "fermix: Standard input has no line for --openai-api-key.\n")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("line", [b"\xff\xfe\n", b"x" * 100_000])
def test_a_line_that_is_no_text_or_too_long_is_refused(home: Path, line: bytes) -> None:
    assert setup(home, "--xai-api-key", "-", text=line).status == 2
    assert list(home.iterdir()) == []


def test_a_secret_on_the_command_line_works_with_a_note(home: Path) -> None:
    done = setup(home, "--xai-api-key", KEY, "--skip-probe")
    assert done.status == 0
    assert "other users could see --xai-api-key among the running commands" in done.err
    assert KEY not in done.out + done.err


@pytest.mark.parametrize("arguments", [(), ("--no-input",), ("--reconfigure",), ("--skip-probe", "--json")])
def test_without_a_terminal_and_flags_nothing_is_asked(home: Path, arguments: tuple[str, ...]) -> None:
    done = setup(home, *arguments)
    assert done.status == 2
    assert "Give the answers as flags" in done.out + done.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--provider", "opnai"), 'did you mean "openai"?'),
        (("--anthropic-api-key", "k"), "anthropic cannot run in this version"),
        (("--provider", "openai", "--auth-mode", "oauth"), "subscription"),
        (("--telegram-owner-user-id", "@ada"), "a Telegram id is a number"),
        (("--print-state", "--xai-api-key", "k"), "three different things"),
        (("--provider", "ollama"), "needs a model"),
    ],
)
def test_what_cannot_be_followed_changes_nothing(home: Path, arguments: tuple[str, ...], reason: str) -> None:
    done = setup(home, *arguments)
    assert (done.status, done.out) == (2, "")
    assert reason in done.err
    assert list(home.iterdir()) == []


WRITTEN = """\
# mine
[fermix_core.providers.openai]
api_key = "plain-key"  # old
primary = true

[fermix_web]
port = 5000
"""


def test_comments_sections_and_the_primary_stay(home: Path) -> None:
    (home / "config.toml").write_text(WRITTEN)
    done = setup(home, "--xai-api-key", "-", "--skip-probe", text=b"x-1\n")
    assert done.status == 0
    text = (home / "config.toml").read_text()
    assert text.startswith(WRITTEN)
    assert written(home)["fermix_core"]["providers"]["xai"] == {"api_key": "@file"}


def test_the_provider_that_is_named_takes_over(home: Path) -> None:
    (home / "config.toml").write_text(WRITTEN)
    done = setup(home, "--provider", "xai", "--api-key", "-", "--skip-probe", text=b"x-1\n")
    assert done.status == 0
    providers = written(home)["fermix_core"]["providers"]
    assert providers["openai"] == {"api_key": "plain-key"}
    assert providers["xai"] == {"api_key": "@file", "primary": True}
    assert "# old" in (home / "config.toml").read_text()


def test_a_broken_file_stops_with_its_lines_before_anything_is_read(home: Path) -> None:
    broken = '[fermix_core]\nprofile = "a b"\n[fermix_web]\nprot = 1\n'
    (home / "config.toml").write_text(broken)
    done = setup(home, "--xai-api-key", "-", text=b"x-1\n")
    assert (done.status, done.out) == (7, "")
    assert "config.toml:2" in done.err
    assert "config.toml:4" in done.err
    assert (home / "config.toml").read_text() == broken
    assert not (home / "secrets").exists()
    assert setup(home, "--print-state", "--json").document["exit_code"] == 7


def test_a_secret_that_was_kept_is_forgotten_again_where_the_file_cannot_be_edited(home: Path) -> None:
    # An array where a table must be: the file loads, and the edit cannot be made without disturbing it.
    (home / "config.toml").write_text("fermix_core = { providers = { xai = { api_key = '@file' } } }\n")
    first = setup(home, "--xai-api-key", "-", "--skip-probe", text=b"x-1\n")
    assert first.status == 0
    (home / "config.toml").write_text("fermix_core = { providers = { xai = { api_key = '@file' } } }\n")
    (home / ".config.toml.draft").write_text("somebody's own file where the draft would be")
    (home / ".config.toml.draft").chmod(0o400)
    done = setup(home, "--xai-api-key", "-", "--openai-api-key", "-", "--skip-probe", text=b"x-2\no-2\n")
    assert done.status == 1
    assert private(home) == {"fermix_core.providers.xai.api_key": "x-1"}


def test_a_home_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("somebody's own")
    done = setup(tmp_path / "file" / "home", "--xai-api-key", "-", "--skip-probe", text=b"x-1\n")
    assert done.status in {1, 7}
    assert "is not a folder" in done.err


def test_two_setups_at_once_both_save_and_one_provider_is_primary(home: Path) -> None:
    def run(name: str) -> int:
        return setup(home, f"--{name}-api-key", "-", "--skip-probe", text=f"{name}-key\n".encode()).status

    names = ["openai", "xai", "mistral", "openrouter"]
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(run, names)) == [0] * 4
    providers = written(home)["fermix_core"]["providers"]
    assert sorted(providers) == sorted(names)
    assert [one.get("primary", False) for one in providers.values()].count(True) == 1
    assert set(private(home).values()) == {f"{name}-key" for name in names}


def test_escapes_in_a_value_reach_no_terminal(home: Path) -> None:
    done = setup(home, "--provider", "openai", "--default-model", "\x1b]0;title\x07")
    assert done.status == 2
    done = setup(home, "--provider", "\x1b[31mred")
    assert done.status == 2
    done = setup(home, "--provider", "openai", "--default-model", "m\u202eodel", "--skip-probe")
    assert "\u202e" not in done.out + done.err
    assert "\x1b" not in done.out + done.err


def test_a_variable_that_wins_is_named(home: Path) -> None:
    done = setup(home, "--xai-api-key", "-", "--skip-probe", text=b"x\n", XAI_API_KEY="other")
    assert "XAI_API_KEY is set in this environment and wins over the file" in done.err


def test_a_document_says_everything_once(home: Path) -> None:
    done = setup(home, "--whatsapp-access-token", "-", "--json", "--skip-probe", text=b"t-1\n")
    assert (done.status, done.err) == (0, "")
    found = done.document
    assert (found["ok"], found["saved"], found["exit_code"], found["checks"]) == (True, True, 0, [])
    assert found["changes"] == [{"key": "fermix_channels.whatsapp.access_token", "value": "********"}]
    assert [(one["key"], one["kept"]) for one in found["secrets"]] == [
        ("fermix_channels.whatsapp.access_token", "@file")
    ]
    assert any("whatsapp cannot start yet" in note for note in found["notes"])


def test_a_webhook_is_told_what_its_platform_must_know(home: Path) -> None:
    done = setup(
        home,
        *("--slack-bot-token", "-", "--slack-signing-secret", "-", "--slack-owner-user-id", "U01"),
        "--skip-probe",
        text=b"xoxb-1\nsign\n",
    )
    assert done.status == 0
    assert written(home)["fermix_channels"]["slack"]["enabled"] is True
    assert "/webhook/slack" in done.out
    assert "`fermix run`" in done.out


@pytest.mark.requirement("media.transcription.setup_and_doctor")
def test_setup_sets_the_transcription_and_doctor_reports_it_offline(home: Path) -> None:
    def row(**more: str) -> dict[str, str]:
        done = subprocess.run(
            [*PROGRAM, "doctor", "--json"],
            env=environment(home, **{**NO_KEYCHAIN, **more}),
            capture_output=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )
        rows = json.loads(done.stdout)["rows"]
        found: dict[str, str] = next(one for one in rows if one["name"] == "transcription")
        return found

    told = ("--transcription-backend", "deepgram", "--transcription-model", "nova-2")
    assert setup(home, *told, "--skip-probe").status == 0
    assert written(home)["fermix_core"]["transcription"] == {"backend": "deepgram", "model": "nova-2"}
    assert (row()["status"], "deepgram" in row()["sentence"]) == ("fail", True)
    done = setup(home, "--transcription-api-key", "-", text=b"dg-planted\n")
    assert done.status == 0
    assert "[ OK ] transcription: deepgram transcribes with nova-2" in done.out
    assert row()["status"] == "ok"
    assert row()["sentence"] == "deepgram transcribes with nova-2, because it is set; its key is there"
    assert written(home)["fermix_core"]["transcription"]["deepgram_api_key"] == "@file"


def test_what_was_entered_is_tried(home: Path, model: StrictServer) -> None:
    told = (
        "--provider",
        "mine",
        "--base-url",
        model.base_url,
        "--default-model",
        "strict-1",
        "--api-key",
        "-",
    )
    done = setup(home, *told, text=KEY.encode())
    assert (done.status, done.out.count("[ OK ] provider mine: mine answers with strict-1")) == (0, 1)
    with telegram_server(token=TOKEN) as server:
        (home / "config.toml").write_text(
            f'[fermix_channels.telegram]\napi_base_url = "{server.api_base_url}"\n'
        )
        done = setup(home, *TELEGRAM, text=TOKEN.encode())
        assert done.status == 0
        assert "[ OK ] channel telegram: Telegram knows the credentials, and calls us" in done.out


def test_refused_credentials_stay_saved_and_end_with_four(home: Path, model: StrictServer) -> None:
    told = ("--provider", "mine", "--base-url", model.base_url, "--default-model", "m", "--api-key", "-")
    done = setup(home, *told, "--json", text=b"sk-wrong-key-000000000")
    assert (done.status, done.document["ok"], done.document["saved"]) == (4, False, True)
    (check,) = done.document["checks"]
    assert (check["status"], check["refused"]) == ("fail", True)
    assert "sk-wrong" not in done.out
    assert written(home)["fermix_core"]["providers"]["mine"]["api_key"] == "@file"


def test_another_failure_ends_with_one(home: Path, model: StrictServer) -> None:
    model.will(Refuse(status=404, body={"error": {"message": "no such model", "code": "model_not_found"}}))
    told = ("--provider", "mine", "--base-url", model.base_url, "--default-model", "m", "--api-key", "-")
    done = setup(home, *told, text=KEY.encode())
    assert done.status == 1
    assert "[FAIL] provider mine" in done.out


def test_a_network_that_cannot_be_reached_is_said_plainly(home: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    (home / "config.toml").write_text(f'[fermix_channels.telegram]\napi_base_url = "{nowhere}"\n')
    done = setup(home, *TELEGRAM, text=TOKEN.encode())
    assert done.status == 1
    assert "Telegram could not be reached: no connection could be made" in done.out
    assert TOKEN.partition(":")[2] not in done.out + done.err
    told = ("--provider", "mine", "--base-url", f"{nowhere}/v1", "--default-model", "m")
    done = setup(home, *told)
    assert done.status == 1
    assert "could not reach mine" in done.out


def test_a_token_that_telegram_does_not_know_is_refused(home: Path) -> None:
    with telegram_server(token=TOKEN) as server:
        (home / "config.toml").write_text(
            f'[fermix_channels.telegram]\napi_base_url = "{server.api_base_url}"\n'
        )
        done = setup(home, "--telegram-bot-token", "-", "--telegram-owner-user-id", "1", text=b"1:AAwrong\n")
    assert done.status == 4
    assert "Telegram refused the credentials" in done.out


def test_the_state_is_printed_without_a_secret(home: Path) -> None:
    setup(home, "--telegram-bot-token", "-", "--skip-probe", text=b"12345:planted\n")
    done = setup(home, "--print-state")
    assert done.status == 0
    assert "telegram: incomplete (bot_token in the private file)" in done.out
    assert "missing        fermix_channels.telegram.owner_user_id" in done.out
    found = setup(home, "--print-state", "--json").document
    assert (found["ok"], found["missing"]) == (True, ["fermix_channels.telegram.owner_user_id"])
    assert "planted" not in done.out + str(found)


PLAIN = """\
# mine
[fermix_core.providers.openai]
api_key = "planted-openai"  # of work
[fermix_core.providers.xai]
api_key = "@file"
[fermix_channels.telegram]
bot_token = "12345:planted"
owner_user_id = 1001
[mcp.servers.one]
command = "run"
env = { TOKEN_ONE = "planted-env" }
"""


def test_plain_secrets_are_moved_to_the_store(home: Path) -> None:
    (home / "config.toml").write_text(PLAIN)
    done = setup(home, "--migrate-secrets")
    assert done.status == 0
    text = (home / "config.toml").read_text()
    assert "planted" not in text + done.out + done.err
    assert text == PLAIN.replace('"planted-openai"', '"@file"').replace('"12345:planted"', '"@file"').replace(
        '"planted-env"', '"@file"'
    )
    assert private(home) == {
        OPENAI_KEY: "planted-openai",
        "fermix_channels.telegram.bot_token": "12345:planted",
        "mcp.servers.one.env.TOKEN_ONE": "planted-env",
    }
    again = setup(home, "--migrate-secrets", "--json")
    assert (again.status, again.document["saved"], again.document["changes"]) == (0, False, [])


def test_a_migration_that_fails_leaves_everything_as_it_was(home: Path) -> None:
    text = PLAIN.replace("TOKEN_ONE", '"an odd name"')
    (home / "config.toml").write_text(text)
    done = setup(home, "--migrate-secrets")
    assert done.status == 1
    assert "no secret store takes" in done.err
    assert (home / "config.toml").read_text() == text
    assert private(home) == {}


def test_nothing_is_left_beside_the_file(home: Path) -> None:
    setup(home, "--xai-api-key", "-", "--skip-probe", text=b"x\n")
    assert sorted(path.name for path in home.iterdir()) == [
        ".config.toml.lock",
        ".setup.lock",
        "config.toml",
        "secrets",
    ]


def test_where_the_file_says_so_no_keychain_is_looked_for(home: Path) -> None:
    (home / "config.toml").write_text('[fermix_core]\nsecret_store = "file"\n')
    done = setup(home, "--xai-api-key", "-", "--skip-probe", text=b"x-1\n")
    assert (done.status, done.err) == (0, "")
    assert private(home) == {"fermix_core.providers.xai.api_key": "x-1"}
