"""The questions of `fermix setup` on a real pseudo-terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Hang
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.integration.cli.command_line import environment
from tests.integration.cli.pseudo_terminal import OnTerminal, on_terminal
from tests.integration.setup.setting_up import KEY, NO_KEYCHAIN, private, setup, written

CTRL_C, CTRL_D = "\x03", "\x04"
PROVIDER, MESSENGER, SPEECH = "Provider [local]:", "Messenger to set up [no more]:", "Transcription [none]:"
TOKEN = "12345:AAplanted_token_of_a_bot"


@contextmanager
def wizard(home: Path, *arguments: str, lines: int = 100, **more: str) -> Iterator[OnTerminal]:
    variables = {**environment(home), **NO_KEYCHAIN, "TERM": "xterm-256color", **more}
    with on_terminal(variables, "setup", *arguments, columns=120, lines=lines) as terminal:
        yield terminal


def test_the_whole_wizard_saves_once_at_the_end(home: Path) -> None:
    (home / "config.toml").write_text("# mine\n[fermix_web]\nport = 5000\n")
    with wizard(home, "--skip-probe") as person:
        answer(person, PROVIDER, "opnai")
        person.wait_for('did you mean "openai"?')
        answer(person, PROVIDER, "openai")
        answer(person, "Key of openai:", f"\x1b[200~  {KEY}\n\x1b[201~")
        answer(person, "Model [gpt-5.4-mini]:", "gpt-5.4")
        answer(person, MESSENGER, "telegram")
        answer(person, "Bot token:", TOKEN)
        answer(person, "nobody is let in]:", "@ada")
        person.wait_for("is a number such as")
        answer(person, "nobody is let in]:", "1001")
        answer(person, MESSENGER, "")
        answer(person, SPEECH, "deepgram")
        answer(person, "Key of deepgram:", "dg-planted")
        answer(person, "Model of the transcription [nova-3]:", "")
        person.wait_for_last("Save it [Y/n]:")
        assert not (home / "secrets").exists()
        assert written(home) == {"fermix_web": {"port": 5000}}
        person.press("\r")
        assert person.end() == 0
        for secret in (KEY, TOKEN, "dg-planted"):
            assert secret not in person.raw
        assert "fermix ask" in person.shown
    assert (home / "config.toml").read_text().startswith("# mine\n[fermix_web]\nport = 5000\n")
    assert written(home)["fermix_core"] == {
        "providers": {"openai": {"api_key": "@file", "default_model": "gpt-5.4", "primary": True}},
        "transcription": {"backend": "deepgram", "deepgram_api_key": "@file"},
    }
    assert written(home)["fermix_channels"] == {"telegram": {"bot_token": "@file", "owner_user_id": "1001"}}
    assert set(private(home).values()) == {KEY, TOKEN, "dg-planted"}


def answer(person: OnTerminal, question: str, typed: str) -> None:
    """Wait until a question is the last thing that stands there, and answer it."""
    person.wait_for_last(question)
    person.press(f"{typed}\r")


@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D])
@pytest.mark.parametrize("questions", [1, 2, 3])
def test_who_leaves_finds_everything_as_it_was(home: Path, keys: str, questions: int) -> None:
    text = "# mine\n"
    (home / "config.toml").write_text(text)
    asked = [PROVIDER, "Key of openai:", "Model [gpt-5.4-mini]:"]
    with wizard(home) as person:
        for question, typed in zip(asked[: questions - 1], ("openai", KEY), strict=False):
            answer(person, question, typed)
        person.wait_for_last(asked[questions - 1])
        person.press(keys)
        assert person.end() == 130
        assert "Interrupted; nothing was saved." in person.shown
    assert [path.name for path in home.iterdir()] == ["config.toml"]
    assert (home / "config.toml").read_text() == text


def test_a_summary_that_is_not_agreed_to_is_not_saved(home: Path) -> None:
    with wizard(home) as person:
        answer(person, PROVIDER, "local")
        answer(person, MESSENGER, "discord")
        answer(person, "Bot token:", "some-token")
        answer(person, "nobody is let in]:", "900000000000000001")
        answer(person, MESSENGER, "")
        answer(person, SPEECH, "")
        person.wait_for('fermix_channels.discord.owner_user_id = "900000000000000001"')
        answer(person, "Save it [Y/n]:", "n")
        assert person.end() == 0
        assert "Nothing was saved." in person.shown
        assert "some-token" not in person.raw
    assert list(home.iterdir()) == []


def test_enter_everywhere_changes_nothing(home: Path) -> None:
    with wizard(home) as person:
        for question in (PROVIDER, MESSENGER, SPEECH):
            answer(person, question, "")
        assert person.end() == 0
        assert "There is nothing to change" in person.shown
    assert list(home.iterdir()) == []


def test_what_was_entered_is_tried_after_it_is_saved(home: Path, model: StrictServer) -> None:
    with wizard(home) as person:
        answer(person, PROVIDER, "server")
        answer(person, "/v1):", model.base_url)
        answer(person, "What to call it [my-server]:", "")
        answer(person, "Key of my-server [none]:", KEY)
        answer(person, "Model:", "strict-1")
        answer(person, MESSENGER, "")
        answer(person, SPEECH, "")
        answer(person, "Save it [Y/n]:", "")
        assert person.end() == 0
        assert "[ OK ] provider my-server: my-server answers with strict-1" in person.shown
        assert KEY not in person.raw


def test_a_secret_that_is_typed_ahead_is_not_shown(home: Path) -> None:
    with wizard(home) as person:
        person.wait_for_last(PROVIDER)
        person.press(f"xai\r{KEY}\r")
        answer(person, "Model [grok-4]:", "")
        person.wait_for_last(MESSENGER)
        person.press(CTRL_C)
        assert person.end() == 130
        assert KEY not in person.raw


@pytest.mark.parametrize(
    "odd", ["\x1b[m", "\x1b[<0;3;4m", "\x1b[M !!", "\x1b[2;5R", "\x1b[200~\x1b[31m\x1b[201~"]
)
def test_escapes_that_are_typed_or_pasted_break_nothing(home: Path, odd: str) -> None:
    with wizard(home) as person:
        answer(person, PROVIDER, "xai")
        person.wait_for_last("Key of xai:")
        person.press(f"{odd}\r")
        person.wait_for("That is needed here" if "200~" not in odd else "control character")
        answer(person, "Key of xai:", KEY)
        person.wait_for_last("Model [grok-4]:")
        person.press(CTRL_D)
        assert person.end() == 130


def test_a_broken_file_stops_before_any_question(home: Path) -> None:
    (home / "config.toml").write_text("[fermix_web]\nprot = 1\n")
    with wizard(home) as person:
        assert person.end() == 7
        assert "config.toml:2" in person.shown
        assert "Provider" not in person.shown


def test_no_input_asks_nothing_on_a_terminal_either(home: Path) -> None:
    with wizard(home, "--no-input") as person:
        assert person.end() == 2
        assert "Provider" not in person.shown


def test_no_escape_of_a_file_reaches_the_terminal(home: Path) -> None:
    (home / "config.toml").write_text(
        '[fermix_core.providers.openai]\napi_key = "k"\ndefault_model = "m\\u202e\\u009bodel"\n'
    )
    with wizard(home, "--reconfigure", NO_COLOR="1") as person:
        answer(person, "Provider [openai]:", "")
        answer(person, "Key of openai [********]:", "")
        person.wait_for("Model [m\\u202e\\x9bodel]:")
        person.press(CTRL_C)
        assert person.end() == 130


def test_reconfigure_keeps_by_enter_what_flags_have_set(home: Path) -> None:
    setup(home, "--openai-api-key", "-", "--skip-probe", text=KEY.encode())
    before = (home / "config.toml").read_text()
    with wizard(home, "--reconfigure") as person:
        answer(person, "Provider [openai]:", "")
        answer(person, "Key of openai [********]:", "")
        answer(person, "Model [gpt-5.4-mini]:", "")
        answer(person, MESSENGER, "")
        answer(person, SPEECH, "")
        assert person.end() == 0
    assert (home / "config.toml").read_text() == before
    assert set(private(home).values()) == {KEY}


def test_who_stops_the_trying_keeps_what_was_saved(home: Path, model: StrictServer) -> None:
    model.will(Hang(stage="headers"))
    told = (
        "--provider",
        "mine",
        "--base-url",
        model.base_url,
        "--default-model",
        "strict-1",
        "--api-key",
        KEY,
    )
    with wizard(home, *told) as person:
        person.wait_for("trying what was entered")
        person.press(CTRL_C)
        assert person.end() == 130
        assert "what was entered is saved and was not tried" in person.shown
    assert set(private(home).values()) == {KEY}
