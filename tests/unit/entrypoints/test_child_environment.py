"""What a program that a channel starts may know of our environment."""

import pytest

from fermix.entrypoints.surroundings import without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "FERMIX_HOME",
        "OPENAI_API_KEY",
        "SLACK_SIGNING_SECRET",
        "WHATSAPP_VERIFY_TOKEN",
        "SIGNAL_ALLOWED_SENDER_IDS",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "SSH_PRIVATE_KEY",
    ],
)
def test_no_secret_and_no_setting_of_ours_is_passed_on(name: str) -> None:
    assert without_secrets({name: "x"}) == {}


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "JAVA_HOME", "XDG_DATA_HOME", "LANG", "HTTPS_PROXY", "TMPDIR", "PORT"]
)
def test_what_a_program_needs_to_run_is_kept(name: str) -> None:
    assert without_secrets({name: "x"}) == {name: "x"}
