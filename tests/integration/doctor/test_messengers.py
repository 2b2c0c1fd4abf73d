"""The row of each messenger: how it does by its daemon's word, and what its platform has to be told."""

import re
from pathlib import Path

import pytest

from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.application.ports.remarks import Remark
from fermix.entrypoints.doctor_rows.platforms import (
    DISCORD_PERMISSIONS,
    SLACK_EVENTS,
    SLACK_SCOPES,
    WHATSAPP_PERMISSIONS,
)
from fermix.infrastructure.channels.discord.errors import CREDENTIAL_REFUSED as DISCORD_TOKEN
from fermix.infrastructure.channels.discord.errors import INTENTS_REFUSED
from fermix.infrastructure.channels.signal.errors import CannotStart, Trouble
from fermix.infrastructure.channels.slack.errors import CREDENTIAL_REFUSED as SLACK_TOKEN
from fermix.infrastructure.channels.slack.socket_mode import CONNECTION_REFUSED
from fermix.infrastructure.channels.telegram.channel import PRIVACY_MODE
from fermix.infrastructure.channels.telegram.errors import ANOTHER_POLLER
from fermix.infrastructure.channels.telegram.errors import CREDENTIAL_REFUSED as TELEGRAM_TOKEN
from fermix.infrastructure.channels.whatsapp.errors import CREDENTIAL_REFUSED as WHATSAPP_TOKEN
from tests.integration.doctor.looking import Seen, doctor
from tests.integration.local_socket.scripted_control import ScriptedControl, served

DOCS = Path(__file__).parents[3] / "docs"
PEOPLE = "owner_user_id = '15551230001'\n"
SECTIONS = {
    "telegram": f"bot_token = '123456:planted'\n{PEOPLE}",
    "whatsapp": "enabled = true\naccess_token = 'EAAplanted'\nphone_number_id = '1'\nverify_token = 'word'\n"
    f"app_secret = 'planted'\n{PEOPLE}",
    "slack": f"enabled = true\nbot_token = 'xoxb-planted'\nsigning_secret = 'planted'\n{PEOPLE}",
    "discord": f"enabled = true\nbot_token = 'planted'\n{PEOPLE}",
    "signal": f"enabled = true\naccount = '+15550000001'\n{PEOPLE}",
}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for programs, with signal-cli and a Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "signal-cli", "echo 'signal-cli 0.13.18'")
    program(folder, "java", "echo 'openjdk version \"21.0.5\" 2024-10-15' >&2")
    return folder


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return path


def look(home: Path, programs: Path, name: str, section: str, *channels: ChannelHealth) -> Seen:
    """What doctor sees beside a daemon that tells this of its channels; beside none, without any."""
    (home / "config.toml").write_text(f"[fermix_channels.{name}]\n{section}")
    (home / "config.toml").chmod(0o600)
    path = {"PATH": f"{programs}:/usr/bin:/bin", "JAVA_HOME": ""}
    if not channels:
        return doctor(home, **path)
    with served(home / "daemon.sock", ScriptedControl(channels=channels)):
        return doctor(home, **path)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_channel_that_is_set_up_and_listens_is_well(home: Path, programs: Path, name: str) -> None:
    health = ChannelHealth(name=name, status=ChannelStatus.READY)
    seen = look(home, programs, name, SECTIONS[name], health)
    assert seen.status_of(f"channel {name}") == "ok"
    assert "it listens" in seen.words_of(f"channel {name}")
    without = look(home, programs, name, SECTIONS[name])
    assert without.status_of(f"channel {name}") == "ok"
    assert "it listens" not in without.words_of(f"channel {name}")
    assert "planted" not in seen.text + without.text


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("telegram", TELEGRAM_TOKEN),
        ("telegram", ANOTHER_POLLER),
        ("whatsapp", WHATSAPP_TOKEN),
        ("slack", SLACK_TOKEN),
        ("slack", CONNECTION_REFUSED),
        ("discord", DISCORD_TOKEN),
        ("discord", INTENTS_REFUSED),
        ("signal", str(CannotStart(Trouble.NOT_REGISTERED))),
        ("signal", str(CannotStart(Trouble.IN_USE))),
    ],
)
def test_a_channel_that_does_not_work_fails_with_what_to_do(
    home: Path, programs: Path, name: str, trouble: str
) -> None:
    health = ChannelHealth(name=name, status=ChannelStatus.DEGRADED, detail=trouble)
    seen = look(home, programs, name, SECTIONS[name], health)
    assert (seen.status, seen.status_of(f"channel {name}")) == (1, "fail")
    assert trouble in seen.words_of(f"channel {name}")


@pytest.mark.parametrize("name", SECTIONS)
def test_a_channel_whose_settings_are_not_complete_is_judged_there(
    home: Path, programs: Path, name: str
) -> None:
    section = SECTIONS[name].replace(PEOPLE, "")
    seen = look(home, programs, name, section)
    assert seen.status_of("channels") == "fail"
    assert seen.status_of(f"channel {name}") == "skip"


def test_a_channel_that_nobody_began_has_no_row(home: Path) -> None:
    assert not [name for name in doctor(home).rows if name.startswith("channel ")]


def test_privacy_mode_is_named(home: Path, programs: Path) -> None:
    health = ChannelHealth(name="telegram", status=ChannelStatus.READY, remarks=(PRIVACY_MODE,))
    seen = look(home, programs, "telegram", SECTIONS["telegram"], health)
    assert seen.status_of("channel telegram") == "ok"
    assert "/setprivacy" in seen.words_of("channel telegram")


def test_calls_that_were_turned_away_are_a_warning(home: Path, programs: Path) -> None:
    remark = Remark(text="turned away: copy the Signing Secret again", is_trouble=True)
    health = ChannelHealth(name="slack", status=ChannelStatus.READY, remarks=(remark,))
    seen = look(home, programs, "slack", SECTIONS["slack"], health)
    assert seen.status_of("channel slack") == "warn"
    assert remark.text in seen.words_of("channel slack")


def test_slack_is_told_addresses_events_scopes_and_its_one_command(home: Path, programs: Path) -> None:
    words = look(home, programs, "slack", SECTIONS["slack"]).words_of("channel slack")
    assert "request URL https://YOUR-HOST/webhook/slack" in words
    assert "must lead to 127.0.0.1:4030" in words
    assert "Slash Commands: /fermix" in words
    assert all(name in words for name in (*SLACK_EVENTS, *SLACK_SCOPES))


def test_slack_without_an_address_is_told_of_socket_mode(home: Path, programs: Path) -> None:
    section = (
        f"enabled = true\nmode = 'socket'\nbot_token = 'xoxb-planted'\napp_token = 'xapp-planted'\n{PEOPLE}"
    )
    words = look(home, programs, "slack", section).words_of("channel slack")
    assert "connections:write" in words
    assert "Slash Commands: /fermix" in words
    assert "YOUR-HOST" not in words


def test_whatsapp_is_told_address_word_field_and_permissions(home: Path, programs: Path) -> None:
    words = look(home, programs, "whatsapp", SECTIONS["whatsapp"]).words_of("channel whatsapp")
    assert "callback URL https://YOUR-HOST/webhook/whatsapp" in words
    assert "the word of verify_token, the field messages" in words
    assert all(name in words for name in WHATSAPP_PERMISSIONS)


def test_discord_is_told_intent_scopes_and_permissions(home: Path, programs: Path) -> None:
    words = look(home, programs, "discord", SECTIONS["discord"]).words_of("channel discord")
    assert "Message Content Intent" in words
    assert "applications.commands" in words
    assert all(name in words for name in DISCORD_PERMISSIONS)


def test_what_doctor_says_of_a_platform_is_what_its_page_says() -> None:
    slack, whatsapp, discord = (
        re.sub(r"\s+", " ", (DOCS / f"{name}.md").read_text()) for name in ("slack", "whatsapp", "discord")
    )
    assert f"bot: [{', '.join(SLACK_SCOPES)}]" in slack
    assert f"bot_events: [{', '.join(SLACK_EVENTS)}]" in slack
    assert all(name in whatsapp for name in WHATSAPP_PERMISSIONS)
    assert all(f"*{name}*" in discord for name in DISCORD_PERMISSIONS)


def test_signal_cli_and_its_java_are_named_with_their_versions(home: Path, programs: Path) -> None:
    words = look(home, programs, "signal", SECTIONS["signal"]).words_of("channel signal")
    assert "signal-cli is version 0.13.18" in words
    assert f"the Java at {programs}/java is version 21.0.5" in words


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'signal-cli 0.12.8'", "signal-cli is version 0.12.8; 0.13 or newer is needed"),
        ("echo hello", "is not signal-cli"),
        ("echo 'java.lang.UnsupportedClassVersionError: x' >&2; exit 1", "does not find the Java it needs"),
        ("exit 7", "signal-cli ended (exit code 7)"),
    ],
)
def test_a_signal_cli_that_cannot_be_used_fails(home: Path, programs: Path, script: str, said: str) -> None:
    program(programs, "signal-cli", script)
    seen = look(home, programs, "signal", SECTIONS["signal"])
    assert seen.status_of("channel signal") == "fail"
    assert said in seen.words_of("channel signal")


def test_signal_cli_gets_no_secret_when_it_is_asked_for_its_version(home: Path, programs: Path) -> None:
    program(programs, "signal-cli", f"env > {programs}/given; echo 'signal-cli 0.13.18'")
    look(home, programs, "signal", SECTIONS["signal"])
    (home / "config.toml").unlink()
    given = (programs / "given").read_text()
    assert "FERMIX_HOME" not in given
    assert "PATH=" in given
