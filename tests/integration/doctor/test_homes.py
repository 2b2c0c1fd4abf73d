"""Doctor in homes of every state: it says what is, changes nothing, and never gives up."""

import os
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from fermix.entrypoints.doctor import CHECKS
from fermix.infrastructure.providers.local.files import model_file
from tests.integration.cli.command_line import fermix
from tests.integration.doctor.ledgers import a_ledger
from tests.integration.doctor.looking import doctor, trace_of
from tests.needs import Unprivileged

ORDER = [
    "home",
    "config",
    "secrets",
    "provider",
    "local model",
    "transcription",
    "database",
    "daemon",
    "disk",
    "paused",
    "channels",
    "refused",
    "control socket",
]


def test_a_home_that_is_not_there_yet_is_no_fault(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    seen = doctor(home)
    assert seen.status == 0
    assert list(seen.rows) == ORDER == [check.name for check in CHECKS]
    assert {name: row["status"] for name, row in seen.rows.items()} == {
        **dict.fromkeys(ORDER, "ok"),
        "local model": "warn",
        "transcription": "ok" if find_spec("faster_whisper") else "skip",
        "refused": "skip",
        "control socket": "skip",
    }
    assert "does not exist yet" in seen.words_of("home")
    assert "fermix model install" in seen.words_of("local model")
    assert not home.parent.exists()


def test_a_home_that_is_set_up_is_well(home: Path) -> None:
    (home / "config.toml").write_text("[fermix_core.providers.openai]\ndefault_model = 'm'\n")
    (home / "config.toml").chmod(0o600)
    a_ledger(home / "ledger.db")
    before = trace_of(home)
    seen = doctor(home, OPENAI_API_KEY="sk-planted-key-1")
    assert seen.status == 0
    assert "fail" not in {row["status"] for row in seen.rows.values()}
    assert "because it is the only one configured; its key is there, from OPENAI_API_KEY" in seen.words_of(
        "provider"
    )
    assert "no damage found" in seen.words_of("database")
    assert trace_of(home) == before


def test_the_table_is_aligned_plain_text(home: Path) -> None:
    (home / "config.toml").write_text(
        "[fermix_channels.slack]\nenabled = true\n"
        "[fermix_core.transcription]\nbackend = 'deepgram'\ndeepgram_api_key = 'k'\n"
    )
    (home / "config.toml").chmod(0o600)
    done = fermix(home, "doctor")
    assert (done.status, done.err) == (1, "")
    assert done.out.isascii()
    lines = done.out.splitlines()
    assert lines[0].startswith("[ OK ] home            ")
    row = lines.index("[FAIL] channels        misconfigured: slack")
    assert "every message will be denied" in lines[row + 1]
    assert lines[row + 2].lstrip().startswith("> ")
    assert lines[-1] == "8 ok, 2 to be looked at, 1 failed, 3 skipped"


@pytest.mark.parametrize(
    "broken", ['path = "C:\\Users\\new"\n', "[fermix_channels.telegram\nx = 'planted'\n"]
)
def test_with_a_broken_file_the_rest_is_still_looked_at(home: Path, broken: str) -> None:
    config = home / "config.toml"
    config.write_text(broken)
    seen = doctor(home)
    assert seen.status == 1
    assert f"{config}:1: is not valid TOML" in seen.words_of("config")
    for name in ("provider", "local model", "channels"):
        assert seen.rows[name]["status"] == "skip"
        assert "needs the settings, which are broken" in seen.words_of(name)
    assert [seen.status_of(name) for name in ("home", "database", "daemon", "disk")] == ["ok"] * 4
    assert "planted" not in seen.text
    assert config.read_text() == broken


def test_every_problem_of_the_file_is_listed(home: Path) -> None:
    (home / "config.toml").write_text("[fermix_web]\nprot = 1\nport = 99999\n")
    seen = doctor(home, PORT="x")
    assert seen.rows["config"]["sentence"] == "3 problems stop every start"
    assert [detail.rpartition("config.toml")[2][:24] for detail in seen.rows["config"]["details"]] == [
        ":2: fermix_web.prot: is ",
        ":3: fermix_web.port: mus",
        "environment: PORT: must ",
    ]


def test_every_warning_is_listed(home: Path) -> None:
    (home / "config.toml").write_text(
        "[fermix_core.browser]\nx = 1\n[fermix_channels.telegram]\nenabled = false\n"
        'allowed_user_ids = [2002, " 3003 ", "", "4004,5005"]\nowner_user_id = 1001\n'
    )
    (home / "config.toml").chmod(0o644)
    seen = doctor(home, FERMIX_MODLE="x", OPENAI_API_KEY="sk-planted-key-1")
    assert (seen.status, seen.status_of("config")) == (0, "warn")
    words = seen.words_of("config")
    assert "fermix_core.browser (line 1)" in words
    assert '"", "4004,5005" can match nobody' in words
    assert "FERMIX_MODLE" in words
    assert "mode 0644" in words


def test_a_home_open_to_others_is_remarked_on(home: Path) -> None:
    home.chmod(0o755)
    seen = doctor(home)
    assert seen.status_of("home") == "warn"
    assert "mode 0755" in seen.words_of("home")
    assert home.stat().st_mode & 0o777 == 0o755


def test_a_file_in_the_homes_place_fails(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    seen = doctor(home)
    assert seen.status == 1
    assert "no folder" in seen.words_of("home")
    assert list(seen.rows) == ORDER


def test_a_home_below_a_folder_open_to_all_fails(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert f"{shared} is writable by all" in doctor(shared / "home").words_of("home")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_home_whose_path_is_no_text_fails_and_the_rest_is_still_looked_at(
    tmp_path: Path, is_there: bool
) -> None:
    home = tmp_path / os.fsdecode(b"caf\xe9")
    if is_there:
        home.mkdir(mode=0o700)
        a_ledger(tmp_path / "ledger.db")
        (tmp_path / "ledger.db").rename(home / "ledger.db")
    seen = doctor(home)
    assert (seen.status, seen.status_of("home")) == (1, "fail")
    assert "is not UTF-8 text" in seen.words_of("home")
    assert seen.status_of("database") == "ok"
    assert list(seen.rows) == ORDER


DIAGNOSE = """
import os, sys
from pathlib import Path
from fermix.entrypoints.cli.doctor_command import table_of
from fermix.entrypoints.doctor import diagnose
report = diagnose(Path({home!r}), {{"HOME": "/nonexistent"}})
sys.stdout.write(table_of(report))
sys.exit(report.failed)
"""


def test_another_users_home_is_said_to_be_closed(home: Path, as_nobody: Unprivileged) -> None:
    (home / "config.toml").write_text("[fermix_web]\nport = 1\n")
    a_ledger(home / "ledger.db")
    done = as_nobody.python_as_another(
        DIAGNOSE.format(home=str(home)),
        preload=["fermix.entrypoints.doctor", "fermix.entrypoints.cli.doctor_command"],
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "[FAIL] home" in done.stdout
    assert "permission denied" in done.stdout
    assert "Traceback" not in done.stdout
    assert len([line for line in done.stdout.splitlines() if line.startswith("[")]) == len(ORDER)


def test_an_own_home_without_permissions_is_said_to_be_closed(home: Path, as_nobody: Unprivileged) -> None:
    (home / "config.toml").write_text("[fermix_web]\nport = 1\n")
    home.chmod(0o000)
    done = as_nobody.python("-c", DIAGNOSE.format(home=str(home)))
    home.chmod(0o700)
    assert (done.returncode, done.stderr) == (1, "")
    assert "may not read, write and enter" in done.stdout
    assert "[SKIP] daemon" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a home of another user")
def test_a_home_of_another_user_is_not_taken_for_ones_own(home: Path) -> None:
    os.chown(home, 1234, 1234)
    assert "belongs to another user" in doctor(home).words_of("home")


def test_a_socket_left_behind_is_no_daemon(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(home / "daemon.sock"))
    (home / "daemon.sock").chmod(0o600)
    seen = doctor(home)
    assert "left by a former owner" in seen.words_of("control socket")
    assert "not running" in seen.words_of("daemon")


def test_a_key_in_a_secret_store_is_not_waited_for(home: Path) -> None:
    (home / "config.toml").write_text(
        "[fermix_core.providers.openai]\nprimary = true\napi_key = '@keyring'\n"
    )
    (home / "config.toml").chmod(0o600)
    seen = doctor(home, PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring")
    assert (seen.status, seen.status_of("provider")) == (1, "fail")
    told = "fermix_core.providers.openai.api_key is kept in the system's keychain: PYTHON_KEYRING_BACKEND"
    assert told in seen.words_of("provider")
    assert told in seen.words_of("config")
    assert (seen.status_of("secrets"), told in seen.words_of("secrets")) == ("warn", True)


def test_a_pasted_line_end_is_no_part_of_a_key(home: Path) -> None:
    seen = doctor(home, OPENAI_API_KEY="sk-planted-key-1\n")
    assert "from OPENAI_API_KEY" in seen.words_of("provider")
    assert "planted" not in seen.text


@pytest.mark.parametrize(
    ("file", "environ", "reason"),
    [
        ("[fermix_core.providers.openai]\nprimary = true\n", {}, "because it is primary"),
        (
            "",
            {"XAI_API_KEY": "xai-planted-1", "FERMIX_PROVIDER": "openai"},
            "because FERMIX_PROVIDER names it",
        ),
        ("", {"XAI_API_KEY": "xai-planted-1"}, "the first one configured"),
        ('[fermix_core.agent]\nprovider = "openai"\n', {}, "because fermix_core.agent.provider names it"),
        ('[fermix_core.providers.openai]\napi_key = "sk-planted-2"\n', {}, "the only one configured"),
    ],
)
def test_why_a_provider_answers_is_said(home: Path, file: str, environ: dict[str, str], reason: str) -> None:
    (home / "config.toml").write_text(file)
    seen = doctor(home, **{"OPENAI_API_KEY": "sk-planted-key-1", **environ})
    assert seen.rows["provider"]["sentence"].startswith("openai answers with gpt-5.4-mini")
    assert reason in seen.words_of("provider")


def test_the_key_of_the_file_is_said_to_be_from_there(home: Path) -> None:
    (home / "config.toml").write_text('[fermix_core.providers.openai]\napi_key = "sk-planted-2"\n')
    assert "its key is there, from config.toml" in doctor(home).words_of("provider")


def test_a_named_provider_without_a_key_fails(home: Path) -> None:
    seen = doctor(home, FERMIX_PROVIDER="openai")
    assert (seen.status, seen.status_of("provider")) == (1, "fail")
    assert "OPENAI_API_KEY" in seen.words_of("provider")


def test_a_cut_model_file_fails_where_it_is_needed(home: Path) -> None:
    model = model_file(home)
    model.parent.mkdir()
    model.write_bytes(b"GGUF")
    before = trace_of(home)
    assert (doctor(home).status, doctor(home).status_of("local model")) == (1, "fail")
    assert "damaged" in doctor(home).words_of("local model")
    assert doctor(home, OPENAI_API_KEY="sk-planted-key-1").status_of("local model") == "warn"
    assert trace_of(home) == before


@pytest.mark.requirement("ingress.fail_closed.doctor_row")
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("owner_user_id = 'U1'", "slack: configured: owner set, nobody else allowed"),
        ("allowed_user_ids = ['U1', 'U2']", "slack: configured: no owner, 2 allowed"),
        ("", "slack: misconfigured: neither owner_user_id nor allowed_user_ids is set"),
        ("owner_user_id = 'a b'", "slack: misconfigured: neither owner_user_id nor allowed_user_ids is set"),
        ("owner_user_id = 'U1'\nstreaming = 'draft'", "slack: configured: owner set, nobody else allowed"),
        ("owner_user_id = 'U1'\nmode = 'socket'", "slack: misconfigured: app_token must be set"),
    ],
)
def test_a_channel_is_called_configured_or_misconfigured(home: Path, keys: str, said: str) -> None:
    (home / "config.toml").write_text(f"[fermix_channels.slack]\nenabled = true\n{keys}\n")
    seen = doctor(home, SLACK_BOT_TOKEN="xoxb-planted-1", SLACK_SIGNING_SECRET="planted-signing")
    assert said in seen.words_of("channels")
    assert (seen.status_of("channels") == "fail") == ("misconfigured" in said)


def test_drafts_that_a_channel_cannot_show_are_named(home: Path) -> None:
    (home / "config.toml").write_text(
        "[fermix_channels.whatsapp]\nenabled = true\nphone_number_id = '1'\nverify_token = 'planted-word'\n"
        "app_secret = 'planted-secret'\nowner_user_id = '15551230001'\nstreaming = 'draft'\n"
    )
    seen = doctor(home, WHATSAPP_ACCESS_TOKEN="EAAplanted")
    assert 'so streaming = "draft" does nothing' in seen.words_of("channels")
