"""What Fermix itself says."""

import itertools
import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain import wording
from fermix.domain.failure import Failure, FailureKind

providers = st.none() | st.sampled_from(["openai", "local", "my {server}", "%s"])
models = st.none() | st.sampled_from(["gpt-x", "a{b}c", "{0}"])
failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    provider=providers,
    model=models,
    retry_after=st.none() | st.timedeltas(min_value=timedelta(days=-1), max_value=timedelta(days=2)),
    detail=st.none() | st.sampled_from(["100 steps", "{wait}"]),
)
INSIDE_A_SENTENCE = {"NO_MODEL_YET"}
SENTENCES = {
    name: text
    for name, text in vars(wording).items()
    if name.isupper() and isinstance(text, str) and name not in INSIDE_A_SENTENCE
}


@pytest.mark.requirement("ingress.empty.reply_text")
def test_an_empty_message_is_answered_in_the_specified_words() -> None:
    assert wording.LOOKS_EMPTY == "Your message looks empty — send some text or media I can read."


@pytest.mark.requirement("restart.local_request_is_told")
def test_a_restart_is_told_in_the_specified_words() -> None:
    assert wording.RESTARTING == "I'm restarting — please send your message again in a moment."


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_every_fixed_text_is_whole_sentences(name: str) -> None:
    text = SENTENCES[name].strip("[]")
    assert text[0].isupper()
    assert text.endswith(".")
    assert "  " not in text
    assert "{" not in text


@given(failure=failures)
def test_every_failure_has_a_sentence_without_gaps(failure: Failure) -> None:
    text = wording.failed(failure)
    assert text.endswith(".")
    assert not re.search(r"  |\(\)|\bNone\b|timedelta", text)
    if failure.provider is None:
        assert text[0].isupper()


@pytest.mark.parametrize("kind", FailureKind)
def test_the_provider_and_the_model_are_named_as_they_were_given(kind: FailureKind) -> None:
    text = wording.failed(Failure(kind=kind, provider="{my} server", model="{0}"))
    assert text.count("{") == text.count("{my}") + text.count("{0}")


def test_a_missing_key_names_the_section_only_when_it_is_known() -> None:
    known = wording.failed(Failure(kind=FailureKind.CREDENTIAL_MISSING, provider="openai"))
    assert "[fermix_core.providers.openai]" in known
    unknown = wording.failed(Failure(kind=FailureKind.CREDENTIAL_MISSING))
    assert "providers.the" not in unknown


def test_each_kind_of_failure_says_something_of_its_own() -> None:
    texts = {kind: wording.failed(Failure(kind=kind, provider="p", model="m")) for kind in FailureKind}
    for (_, one), (_, other) in itertools.combinations(texts.items(), 2):
        assert one != other


@given(seconds=st.floats(0, 100_000))
def test_nobody_is_told_to_come_back_too_early(seconds: float) -> None:
    failure = Failure(kind=FailureKind.RATE_LIMITED, provider="p", retry_after=timedelta(seconds=seconds))
    found = re.search(r"(\d+) (second|minute|hour)s?\.$", wording.failed(failure))
    assert found is not None
    told = int(found[1]) * {"second": 1, "minute": 60, "hour": 3600}[found[2]]
    assert seconds <= told <= max(seconds + 1, seconds * 2)


@pytest.mark.parametrize(
    ("seconds", "says"), [(-3, "1 second"), (1, "1 second"), (89, "89 seconds"), (90, "2 minutes")]
)
def test_a_short_wait_is_told_in_seconds_and_a_long_one_in_minutes(seconds: int, says: str) -> None:
    failure = Failure(kind=FailureKind.RATE_LIMITED, retry_after=timedelta(seconds=seconds))
    assert wording.failed(failure).endswith(f" {says}.")


@pytest.mark.parametrize(
    ("running", "waiting", "says"),
    [
        (0, 0, "Nothing was running"),
        (1, 0, "Stopped 1 running request, in all conversations."),
        (0, 2, "Stopped 2 waiting messages, in all conversations."),
        (2, 1, "Stopped 2 running requests and 1 waiting message, in all conversations."),
    ],
)
def test_a_stop_counts_what_it_ended(running: int, waiting: int, says: str) -> None:
    assert wording.stopped(running=running, waiting=waiting).startswith(says)


def test_a_command_that_was_cut_off_is_named() -> None:
    assert "/backup" in wording.restarted_during("backup")


def test_a_detail_that_is_a_sentence_does_not_end_twice() -> None:
    text = wording.failed(Failure(kind=FailureKind.NO_MODEL, detail="The file is gone."))
    assert "(The file is gone)." in text
