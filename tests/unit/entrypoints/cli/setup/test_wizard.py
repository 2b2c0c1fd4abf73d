"""The questions, answered by a scripted person: what is asked, what Enter keeps, what is asked again."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from fermix.entrypoints.cli.setup.answers import (
    Answers,
    ChannelAnswer,
    ProviderAnswer,
    TranscriptionAnswer,
)
from fermix.entrypoints.cli.setup.channel_questions import FIELDS
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.questions import Questions, chosen
from fermix.entrypoints.cli.setup.values import SECTIONS, Unfit
from fermix.entrypoints.cli.setup.wizard import Wizard

ENTER = ""


@dataclass(slots=True)
class Person:
    """Answers one line after another, and leaves when there is none left."""

    lines: Iterator[str]
    asked: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.told.append(text)

    def read(self, prompt: str, *, hidden: bool = False) -> str:
        self.asked.append(prompt)
        if hidden:
            self.hidden.append(prompt)
        try:
            return next(self.lines)
        except StopIteration:
            raise EOFError from None


def run(*lines: str, text: str = "", answering: str = "local", again: bool = False) -> tuple[Answers, Person]:
    person = Person(iter(lines))
    wizard = Wizard(
        questions=Questions(person),
        present=Present(table=tomllib.loads(text)),
        answering=answering,
        again=again,
    )
    answers = wizard.run()
    assert list(person.lines) == []
    return answers, person


def test_enter_everywhere_changes_nothing() -> None:
    answers, person = run(ENTER, ENTER, ENTER)
    assert answers == Answers()
    assert person.asked == [
        "Provider [local]: ",
        "Messenger to set up [no more]: ",
        "Transcription [none]: ",
    ]


def test_a_key_is_typed_unseen_and_the_usual_model_is_kept_by_enter() -> None:
    answers, person = run("openai", " sk-1\n", ENTER, ENTER, ENTER)
    assert answers == Answers(providers=(ProviderAnswer(name="openai", api_key="sk-1"),))
    assert person.hidden == ["Key of openai: "]
    assert "Model [gpt-5.4-mini]: " in person.asked
    assert any("platform.openai.com" in told for told in person.told)


def test_what_is_no_answer_is_asked_again_with_the_reason() -> None:
    answers, person = run("opnai", "99", "xai", ENTER, "two words", "x-1", "grok-4", ENTER, ENTER)
    assert answers.providers == (ProviderAnswer(name="xai", api_key="x-1", default_model="grok-4"),)
    reasons = [told for told in person.told if told.startswith("  ") and not told.strip()[0].isdigit()]
    assert 'did you mean "openai"?' in reasons[0]
    assert "or its number" in reasons[1]
    assert any("needed here" in reason for reason in reasons)
    assert any("has a space" in reason for reason in reasons)


def test_any_server_is_known_by_its_address() -> None:
    answers, _ = run(
        "server", "localhost", "http://127.0.0.1:8000/v1", "openai", "mine", ENTER, "m", *[ENTER] * 2
    )
    assert answers.providers == (
        ProviderAnswer(name="mine", base_url="http://127.0.0.1:8000/v1", default_model="m"),
    )


def test_ollama_has_a_usual_address_and_no_key() -> None:
    answers, person = run("ollama", ENTER, ENTER, "qwen3:8b", ENTER, ENTER)
    assert answers.providers == (ProviderAnswer(name="ollama", default_model="qwen3:8b"),)
    assert person.hidden == []


SET_UP = """
[fermix_core.providers.openai]
api_key = "@keyring"
primary = true
[fermix_channels.telegram]
bot_token = "@keyring"
owner_user_id = 1001
[fermix_core.transcription]
backend = "deepgram"
deepgram_api_key = "@keyring"
model = "nova-2"
"""


def test_what_is_set_up_is_kept_by_enter() -> None:
    answers, person = run(ENTER, ENTER, ENTER, text=SET_UP, answering="openai")
    assert answers == Answers()
    assert "Provider [openai]: " in person.asked
    assert "Transcription [deepgram]: " in person.asked
    assert any("telegram" in told and "kept as it is" in told for told in person.told)


def test_reconfigure_asks_about_everything_again_and_enter_still_keeps() -> None:
    answers, person = run(*[ENTER] * 9, text=SET_UP, answering="openai", again=True)
    assert answers == Answers(
        providers=(ProviderAnswer(name="openai"),),
        transcription=TranscriptionAnswer(backend="deepgram"),
    )
    assert person.hidden == [
        "Key of openai [********]: ",
        "Bot token [********]: ",
        "Key of deepgram [********]: ",
    ]
    assert "Your own id [1001]: " in person.asked
    assert "Model of the transcription [nova-2]: " in person.asked


@pytest.mark.parametrize(("word", "instead"), [("y", True), (ENTER, False), ("n", False)])
def test_a_later_provider_answers_only_if_its_owner_wants_that(word: str, instead: bool) -> None:
    answers, _ = run("mistral", "m-1", ENTER, word, ENTER, ENTER, text=SET_UP, answering="openai")
    assert answers.providers == (ProviderAnswer(name="mistral", api_key="m-1", chosen=instead),)


def test_a_provider_that_cannot_run_is_not_asked_about_further() -> None:
    text = '[fermix_core.providers.anthropic]\napi_key = "k"\nprimary = true\n'
    answers, person = run(
        "anthropic", "xai", "x-1", ENTER, "y", ENTER, ENTER, text=text, answering="anthropic"
    )
    assert answers.providers == (ProviderAnswer(name="xai", api_key="x-1", chosen=True),)
    assert any("anthropic cannot run in this version" in told for told in person.told)


def test_local_takes_over_when_it_is_named() -> None:
    answers, _ = run("local", ENTER, ENTER, text=SET_UP, answering="openai")
    assert answers.providers == (ProviderAnswer(name="local", chosen=True),)


FILLED: dict[str, Sequence[str]] = {
    "telegram": ("12345:AA", "1001"),
    "whatsapp": ("EAAG", "77", "app-secret", "a word", "+49 151 2345678"),
    "discord": ("OTAw.Ga.x", "900000000000000001"),
    "slack": (ENTER, "xoxb-1", "sign", "U01"),
    "signal": ("+4915123456", "+4915123457"),
}


@pytest.mark.parametrize("name", list(SECTIONS))
def test_each_messenger_is_asked_for_what_it_needs_and_says_where_that_is(name: str) -> None:
    answers, person = run(ENTER, name, *FILLED[name], ENTER, ENTER)
    (answer,) = answers.channels
    assert set(answer.values) == {field.key for field in FIELDS[name]}
    for each in FIELDS[name]:
        assert f"  {each.where}" in person.told


def test_slack_by_socket_needs_another_token() -> None:
    answers, person = run(ENTER, "slack", "socket", "xoxb-1", "xoxb-2", "xapp-1", ENTER, ENTER, ENTER)
    assert answers.channels == (
        ChannelAnswer(name="slack", values={"mode": "socket", "bot_token": "xoxb-1", "app_token": "xapp-1"}),
    )
    assert any("begins with xapp-" in told for told in person.told)


def test_several_messengers_may_be_set_up_one_after_another() -> None:
    answers, _ = run(ENTER, "1", *FILLED["telegram"], "disc", *FILLED["discord"], ENTER, ENTER)
    assert [answer.name for answer in answers.channels] == ["telegram", "discord"]


@pytest.mark.requirement("media.transcription.setup_and_doctor")
def test_the_transcription_step_asks_for_backend_key_and_model() -> None:
    answers, person = run(ENTER, ENTER, "deepgram", "dg-1", "nova-2")
    assert answers.transcription == TranscriptionAnswer(backend="deepgram", api_key="dg-1", model="nova-2")
    assert person.hidden == ["Key of deepgram: "]


def test_the_key_of_the_provider_serves_for_speech_too() -> None:
    answers, person = run("openai", "sk-1", ENTER, ENTER, "openai", ENTER, ENTER)
    assert answers.transcription == TranscriptionAnswer(backend="openai")
    assert "Key of openai [the one that answers with openai]: " in person.hidden
    answers, person = run("openai", "sk-1", ENTER, ENTER, "xai", "x-1")
    assert answers.transcription == TranscriptionAnswer(backend="xai", api_key="x-1")


def test_none_takes_a_backend_out_again() -> None:
    answers, _ = run(ENTER, ENTER, "none", text=SET_UP, answering="openai")
    assert answers.transcription == TranscriptionAnswer(backend=None)


@pytest.mark.parametrize("after", range(6))
def test_who_leaves_anywhere_has_answered_nothing(after: int) -> None:
    lines = ["openai", "sk-1", ENTER, "telegram", "12345:AA", "1001"][:after]
    with pytest.raises(EOFError):
        run(*lines)


@pytest.mark.parametrize(("typed", "name"), [("2", "beta"), (" Alpha ", "alpha"), ("be", "beta")])
def test_a_choice_is_made_by_name_number_or_beginning(typed: str, name: str) -> None:
    assert chosen(typed, ("alpha", "beta")) == name


@pytest.mark.parametrize("typed", ["0", "3", "x", "99999999999999999999", "²"])
def test_what_names_nothing_is_no_choice(typed: str) -> None:
    with pytest.raises(Unfit):
        chosen(typed, ("alpha", "beta"))
