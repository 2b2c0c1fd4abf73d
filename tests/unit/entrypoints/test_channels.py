"""Which channels a configuration serves, and what its health says of those that it does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from fermix.application.ports.channel import drafts_of
from fermix.application.ports.control import ChannelStatus, OwnerKind
from fermix.application.ports.webhooks import webhooks_of
from fermix.domain.ids import ChannelName
from fermix.domain.splitting import TextUnit
from fermix.domain.streaming.mode import StreamingMode
from fermix.domain.transport import Transport, transport_named
from fermix.entrypoints.channels import channels_of, door_of, initial_health, streaming_modes
from fermix.entrypoints.messengers import WEBHOOK_PATHS, WITH_DRAFTS
from fermix.entrypoints.preparation import prepare
from fermix.entrypoints.surroundings import surroundings_of
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.system.clock import SystemClock

TELEGRAM = ChannelName("telegram")
AROUND = surroundings_of(Path("/nowhere"), {})
COMPLETE = 'bot_token = "123456:secret"\nowner_user_id = "1001"'


def settings(folder: Path, section: str) -> Settings:
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[fermix_channels.telegram]\n{section}\n")
    return prepare(home, {"HOME": str(folder)}).loaded.settings


def served(found: Settings, kind: OwnerKind = OwnerKind.DAEMON) -> set[str]:
    return set(channels_of(found, kind, SystemClock(), AROUND))


def test_a_bot_with_a_token_and_an_owner_is_served(tmp_path: Path) -> None:
    found = settings(tmp_path, COMPLETE)
    channel = channels_of(found, OwnerKind.DAEMON, SystemClock(), AROUND)[TELEGRAM]
    door = door_of(TELEGRAM, channel, found)
    assert (door.registration.channel, door.registration.account) == ("telegram", "123456")
    assert (door.features.max_text, door.features.text_unit) == (4096, TextUnit.UTF16)
    assert door.features.offers_again


@pytest.mark.requirement("streaming.off_by_default")
def test_answers_are_shown_while_they_are_written_only_where_the_owner_wants_it(tmp_path: Path) -> None:
    assert set(streaming_modes(settings(tmp_path, COMPLETE)).values()) == {StreamingMode.OFF}
    wanted = tmp_path / "wanted"
    wanted.mkdir()
    modes = streaming_modes(settings(wanted, f'{COMPLETE}\nstreaming = "draft"'))
    assert {name for name, mode in modes.items() if mode is StreamingMode.DRAFT} == {TELEGRAM}


def test_what_is_said_of_drafts_without_loading_a_channel_is_true(tmp_path: Path) -> None:
    channels = channels_of(settings(tmp_path, COMPLETE), OwnerKind.DAEMON, SystemClock(), AROUND)
    assert drafts_of(channels).keys() == channels.keys() & WITH_DRAFTS


SIGNAL = 'enabled = true\naccount = "+15550000001"\nowner_user_id = "+15551001"\ncli_path = "/nowhere/cli"\n'


@pytest.mark.requirement("streaming.draft.needs_ability")
@pytest.mark.parametrize(("mode", "warnings"), [("draft", 1), ("block", 0), ("off", 0)])
def test_drafts_on_a_channel_that_has_none_are_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str, warnings: int
) -> None:
    section = f'{COMPLETE}\nstreaming = "draft"\n[fermix_channels.signal]\n{SIGNAL}streaming = "{mode}"'
    channels = channels_of(settings(tmp_path, section), OwnerKind.DAEMON, SystemClock(), AROUND)
    assert channels.keys() == {"telegram", "signal"}
    told = [record for record in caplog.records if record.getMessage() == "channel.no_drafts"]
    assert [vars(record)["channel"] for record in told] == ["signal"] * warnings


DISCORD = 'enabled = true\nbot_token = "OTAwMDAwMDAwMDAwMDAwMDAx.GaBcDe.secret"\nowner_user_id = "7"\n'


@pytest.mark.requirement("channel.transports")
def test_what_polls_keeps_a_socket_or_a_child_opens_no_endpoint(tmp_path: Path) -> None:
    section = f"{COMPLETE}\n[fermix_channels.signal]\n{SIGNAL}[fermix_channels.discord]\n{DISCORD}"
    found = settings(tmp_path, section)
    channels = channels_of(found, OwnerKind.DAEMON, SystemClock(), AROUND)
    modes = {
        name: transport_named(getattr(found.channels.by_name()[name], "mode", None)) for name in channels
    }
    assert modes == {
        "telegram": Transport.POLLING,
        "discord": Transport.GATEWAY,
        "signal": Transport.SUBPROCESS,
    }
    assert webhooks_of(channels) == ()
    assert not channels.keys() & WEBHOOK_PATHS.keys()


@pytest.mark.requirement("config.channel_without_owner_is_not_started")
def test_a_bot_without_anybody_who_may_write_is_refused_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert served(settings(tmp_path, 'bot_token = "123456:secret"')) == set()
    assert [one.message for one in caplog.records if one.name == "fermix.channels"] == ["channel.not_started"]


@pytest.mark.parametrize(
    ("section", "detail"),
    [
        ('owner_user_id = "1001"', "credential is missing"),
        ('bot_token = "123456:secret"', "nobody may write"),
    ],
)
def test_a_bot_that_lacks_something_is_not_served_and_says_what(
    tmp_path: Path, section: str, detail: str
) -> None:
    found = settings(tmp_path, section)
    assert served(found) == set()
    telegram = next(one for one in initial_health(found, {}) if one.name == "telegram")
    assert telegram.status is ChannelStatus.SETUP_REQUIRED
    assert detail in str(telegram.detail)


@pytest.mark.requirement("config.enablement_reaches_supervision")
def test_a_bot_that_is_off_or_left_to_the_daemon_is_not_served(tmp_path: Path) -> None:
    found = settings(tmp_path, COMPLETE)
    assert served(found, OwnerKind.IN_PROCESS) == set()
    off = tmp_path / "off"
    off.mkdir()
    assert served(settings(off, f"{COMPLETE}\nenabled = false")) == set()


def test_a_missing_library_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[fermix_channels.telegram]\n{COMPLETE}\n")
    script = f"""
import sys
from importlib.machinery import PathFinder
class Hidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "telegram" else super().find_spec(name, path, target)
sys.meta_path = [Hidden if finder is PathFinder else finder for finder in sys.meta_path]
from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.channels import channels_of, initial_health
from fermix.entrypoints.preparation import prepare
from fermix.entrypoints.surroundings import surroundings_of
from fermix.infrastructure.system.clock import SystemClock
from pathlib import Path
around = surroundings_of(Path({str(home)!r}), {{}})
found = prepare(Path({str(home)!r}), {{"HOME": {str(tmp_path)!r}}}).loaded.settings
assert not channels_of(found, OwnerKind.DAEMON, SystemClock(), around)
print(next(one.detail for one in initial_health(found, {{}}) if one.name == "telegram"))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "its library is missing: pip install 'fermix-agent[telegram]'"


def test_a_channels_library_is_loaded_only_where_it_is_served_and_the_editor_for_an_edit(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[fermix_channels.telegram]\nowner_user_id = "1001"\n')
    script = f"""
import sys
from pathlib import Path
import fermix.entrypoints.daemon
from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.channels import channels_of
from fermix.entrypoints.preparation import prepare
from fermix.entrypoints.surroundings import surroundings_of
from fermix.infrastructure.system.clock import SystemClock
around = surroundings_of(Path({str(home)!r}), {{}})
found = prepare(Path({str(home)!r}), {{"HOME": {str(tmp_path)!r}}}).loaded.settings
assert not channels_of(found, OwnerKind.DAEMON, SystemClock(), around)
print(sorted({{"telegram", "markdown_it", "tomlkit"}} & sys.modules.keys()))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("environ", "address", "proxy"),
    [
        ({}, "https://api.telegram.org", None),
        ({"HTTPS_PROXY": "http://proxy:1"}, "https://api.telegram.org", "http://proxy:1"),
        ({"https_proxy": " http://proxy:1 "}, "https://api.telegram.org", "http://proxy:1"),
        ({"ALL_PROXY": "http://proxy:2"}, "https://api.telegram.org", "http://proxy:2"),
        ({"HTTPS_PROXY": "http://proxy:1"}, "http://bots.example", None),
        ({"ALL_PROXY": "http://proxy:1", "NO_PROXY": "telegram.org"}, "https://api.telegram.org", None),
        ({"ALL_PROXY": "http://proxy:1"}, "http://127.0.0.1:8081", None),
    ],
)
def test_the_proxy_of_the_environment_is_used(
    environ: dict[str, str], address: str, proxy: str | None
) -> None:
    assert surroundings_of(Path("/home"), environ).proxy_for(address) == proxy


def test_every_home_of_a_user_has_the_same_folder_for_locks(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    folders = {surroundings_of(Path(home), environ).runtime_folder for home in ("/a", "/b")}
    assert folders == {tmp_path / "fermix"}


@pytest.mark.parametrize(
    ("keys", "is_served"),
    [
        ('bot_token = "xoxb-1-2-x"\nsigning_secret = "s"', True),
        ('bot_token = "xoxb-1-2-x"\napp_token = "xapp-1"', False),
        ('mode = "socket"\nbot_token = "xoxb-1-2-x"\napp_token = "xapp-1"', True),
        ('mode = "socket"\nbot_token = "xoxb-1-2-x"\nsigning_secret = "s"', False),
    ],
)
def test_slack_is_served_with_what_its_way_in_needs(tmp_path: Path, keys: str, is_served: bool) -> None:
    section = f'enabled = false\n[fermix_channels.slack]\nenabled = true\nowner_user_id = "U0OWN"\n{keys}'
    assert served(settings(tmp_path, section)) == ({"slack"} if is_served else set())
