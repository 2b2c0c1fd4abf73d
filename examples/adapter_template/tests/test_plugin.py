"""The section `[fermix_channels.parley]`, its row in doctor, and that looking at both loads no client."""

import subprocess
import sys

import pytest
from fermix_parley.plugin import PLUGIN, ParleySettings, look


def settings(**keys: object) -> ParleySettings:
    return ParleySettings.model_validate({"enabled": True, **keys})


def test_the_allowlist_has_a_key_of_its_own_and_odd_nicknames_match_nobody() -> None:
    own = settings(owner_user_id="ann", allowed_nicknames=["ben", "Not A Nickname"])
    assert (own.owner, own.allowed_ids, own.odd_entries) == ("ann", frozenset({"ben"}), ("Not A Nickname",))


@pytest.mark.parametrize(("token", "well"), [("fermix:secret", True), ("secret", False)])
def test_a_token_that_names_no_bot_fails_in_doctor(token: str, well: bool) -> None:
    report = look(settings(token=token))
    assert report.is_well is well
    assert "secret" not in report.sentence


def test_the_settings_load_no_client() -> None:
    code = "import sys, fermix_parley.plugin; sys.exit('fermix_parley.channel' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_nothing_can_be_made_without_a_token() -> None:
    assert PLUGIN.requires == ("token",)
