"""The adapter template, installed beside Fermix by pip, in a real daemon; and packages that cannot be used."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.packages import TEMPLATE, install, install_template

TOKEN = "fermix:parley-secret-77aa"
SECRET = "parley-secret"
BROKEN = {
    "name": "broken-parley",
    "version": "9.9",
    "entry-points": {"fermix.channels": {"wreck": "broken_parley.plugin:PLUGIN"}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_template(tmp_path_factory.mktemp("template"))


@contextmanager
def parley(token: str = TOKEN) -> Iterator[Any]:
    """The template's own fake server, which is not installed for the tests themselves."""
    sys.path.insert(0, str(TEMPLATE / "src"))
    try:
        from fermix_parley.fake_server import parley_server
    finally:
        sys.path.remove(str(TEMPLATE / "src"))
    with parley_server(token) as server:
        yield server


def section(port: int, *, token: str = TOKEN, more: str = "") -> str:
    return (
        "[fermix_channels.parley]\nenabled = true\n"
        f'token = "{token}"\nport = {port}\nowner_user_id = "ann"\nallowed_nicknames = ["ben"]\n{more}'
    )


def configure(home: FermixHome, model: StrictServer, site: Path, channels: str) -> None:
    home.environ["PYTHONPATH"] = str(site)
    home.use(model.base_url, more=channels)


def channel_health(daemon: Daemon, name: str) -> dict[str, str]:
    address = f"http://127.0.0.1:{daemon.http_port()}/health/ready"

    def told() -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(httpx.get(address, timeout=5).content).get("channels", [])
        return found

    return next(one for one in until(told, what="health") if one["name"] == name)


def doctor_rows(home: FermixHome) -> dict[str, Any]:
    return {row["name"]: row for row in home.fermix("doctor", "--json").document["rows"]}


def test_a_chat_goes_to_and_fro_through_a_channel_of_another_package(
    home: FermixHome, model: StrictServer, site: Path
) -> None:
    with parley() as server:
        configure(home, model, site, section(server.port))
        daemon = home.daemon().ready()
        model.will(Say(text="Hello Ann"), Say(text="x" * 1500))
        server.writes("let me in", nickname="mallory", room="mallory")
        server.writes("hi", facts={"topic": "rain"})
        server.wait_until(lambda: len(server.said) == 1)
        asked = server.writes("and a long one", nickname="ben", room="ben")
        server.wait_until(lambda: len(server.said) == 3)
        server.wait_until(lambda: server.acknowledged >= asked)
        assert [(one.room, one.topic) for one in server.said] == [
            ("ann", "rain"),
            ("ben", None),
            ("ben", None),
        ]
        assert server.said[0].text == "Hello Ann"
        assert "".join(one.text for one in server.said[1:]) == "x" * 1500
        assert channel_health(daemon, "parley")["status"] == "ready"
        until(lambda: "'mallory'" in home.log(), what="the warning")
        assert daemon.terminate() == 0
    assert SECRET not in home.log() + daemon.printed()
    assert "let me in" not in home.log()


def test_what_was_written_while_nobody_listened_is_answered_once_after_a_death(
    home: FermixHome, model: StrictServer, site: Path
) -> None:
    with parley() as server:
        configure(home, model, site, section(server.port))
        home.daemon().ready().kill()
        model.will(Say(text="at last"))
        server.writes("is anybody there?")
        home.daemon().ready()
        server.wait_until(lambda: len(server.said) == 1)
        assert [one.text for one in server.said] == ["at last"]


def test_doctor_has_a_row_of_the_channels_own(home: FermixHome, model: StrictServer, site: Path) -> None:
    configure(home, model, site, section(7117))
    rows = doctor_rows(home)
    assert rows["packages"]["sentence"] == "channels of other packages: parley"
    assert rows["packages"]["details"] == ["parley: fermix-parley 0.1.0, enabled"]
    assert (rows["channel parley"]["status"], rows["channels"]["status"]) == ("ok", "ok")
    assert rows["channel parley"]["sentence"] == "speaks as fermix to 127.0.0.1:7117, not encrypted"
    configure(home, model, site, section(7117, token="half-a-token"))
    rows = doctor_rows(home)
    assert rows["channel parley"]["status"] == "fail"
    assert rows["channel parley"]["remedy"] == "copy the whole token: nickname, colon, secret"
    configure(home, model, site, "[fermix_channels.parley]\nenabled = true\nowner_user_id = 'ann'\n")
    rows = doctor_rows(home)
    assert rows["channel parley"]["sentence"] == "token must be set"
    assert (rows["channel parley"]["status"], rows["channels"]["status"]) == ("fail", "fail")


def test_a_package_that_takes_a_name_of_ours_is_named_and_takes_nothing(
    home: FermixHome, model: StrictServer, tmp_path: Path
) -> None:
    thief = {**BROKEN, "entry-points": {"fermix.channels": {"slack": "broken_parley:PLUGIN"}}}
    site = install(tmp_path / "thief", thief, {"broken_parley/__init__.py": "raise SystemExit('loaded')\n"})
    configure(home, model, site, "[fermix_channels.slack]\nenabled = true\nowner_user_id = 1\n")
    row = doctor_rows(home)["packages"]
    assert (row["status"], row["sentence"]) == ("warn", "slack cannot be a channel of another package")
    assert row["details"] == ["slack: broken-parley 9.9, not enabled"]


def test_a_wrong_value_stops_the_start_as_in_every_other_section(
    home: FermixHome, model: StrictServer, site: Path
) -> None:
    configure(home, model, site, section(0, more='allowed_nickname = ["x"]\n'))
    ended = home.fermix("config", "validate")
    assert ended.code == 7
    assert "fermix_channels.parley.port: must be at least 1" in ended.out + ended.err
    assert 'allowed_nickname: is not a known key; did you mean "allowed_nicknames"?' in ended.out + ended.err


def test_its_keys_are_set_and_shown_on_the_command_line_like_any_other(
    home: FermixHome, model: StrictServer, site: Path
) -> None:
    configure(home, model, site, "")
    for key, value in (("port", "7118"), ("owner_user_id", "ann"), ("enabled", "true")):
        assert home.fermix("config", "set", f"fermix_channels.parley.{key}", value).code == 0
    ended = home.fermix("config", "set", "fermix_channels.parley.token", "-", stdin=TOKEN.encode())
    assert ended.code == 0
    assert home.fermix("config", "get", "fermix_channels.parley.port").out == "7118\n"
    shown = home.fermix("config", "show")
    assert "parley" in shown.out
    assert SECRET not in shown.out + shown.err


def test_a_package_that_cannot_be_used_is_named_and_stops_nobody(
    home: FermixHome, model: StrictServer, site: Path, tmp_path: Path
) -> None:
    wrecked = install(
        tmp_path / "wreck",
        BROKEN,
        {"broken_parley/__init__.py": "", "broken_parley/plugin.py": "import what_is_not_there\n"},
    )
    why = "broken-parley 9.9 cannot be used: ModuleNotFoundError: No module named 'what_is_not_there'"
    with parley() as server:
        channels = section(server.port) + "[fermix_channels.wreck]\nenabled = true\nanything = 1\n"
        configure(home, model, site, channels)
        home.environ["PYTHONPATH"] += f":{wrecked}"
        daemon = home.daemon().ready()
        model.will(Say(text="Hello Ann"))
        server.writes("hi")
        server.wait_until(lambda: len(server.said) == 1)
        assert channel_health(daemon, "parley")["status"] == "ready"
        broken = channel_health(daemon, "wreck")
        assert (broken["status"], why in broken["detail"]) == ("setup_required", True)
        assert home.log().count(why) == 1
        rows = doctor_rows(home)
        assert rows["channels"]["status"] == "fail"
        assert why in "\n".join(rows["channels"]["details"])
        assert rows["channel parley"]["status"] == "ok"
        assert home.fermix("ask", "still there?").code == 0
        assert daemon.terminate() == 0


def test_a_channel_that_cannot_be_made_is_told_in_health_without_its_secret(
    home: FermixHome, model: StrictServer, tmp_path: Path
) -> None:
    plugin = (
        "from fermix.plugins import ChannelPlugin, ChannelSettings, Credential\n"
        "class Own(ChannelSettings):\n    token: Credential | None = None\n"
        "def build(own, around):\n    raise LookupError(own.token.get_secret_value())\n"
        "PLUGIN = ChannelPlugin(settings=Own, build=build, requires=('token',))\n"
    )
    site = install(
        tmp_path / "wreck", BROKEN, {"broken_parley/__init__.py": "", "broken_parley/plugin.py": plugin}
    )
    text = f"[fermix_channels.wreck]\nenabled = true\nowner_user_id = 1\ntoken = '{SECRET}'\n"
    configure(home, model, site, text)
    daemon = home.daemon().ready()
    broken = channel_health(daemon, "wreck")
    assert broken["status"] == "setup_required"
    assert "broken_parley cannot be used: LookupError at plugin.py:5" in broken["detail"]
    assert daemon.terminate() == 0
    assert SECRET not in home.log() + daemon.printed()


def test_a_channel_that_is_installed_and_not_enabled_is_not_imported(
    home: FermixHome, model: StrictServer, site: Path
) -> None:
    configure(home, model, site, "[fermix_channels.parley]\nenabled = false\n")
    # What a plugin's own module imports is listed; the module itself is loaded in a way that is not.
    home.environ["PYTHONPROFILEIMPORTTIME"] = "1"
    assert "fermix.plugins" not in home.fermix("config", "validate").err
    configure(home, model, site, section(7117))
    imported = home.fermix("config", "validate").err
    assert "fermix.plugins" in imported
    assert "fermix_parley.channel" not in imported
