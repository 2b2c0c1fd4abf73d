"""Messages that name a bot or bring somebody else's words: whom they are for, and what may run."""

import pytest

from fermix.application.commands.registry import HELP, find_command
from fermix.application.gateway.stages import Answered, Candidate, Ended, Passed, walk
from fermix.application.ports.admissions import Command, Input
from tests.unit.application.test_stages import candidate

FORWARDED = [{"kind": "forward", "author": "max", "text": "/stop"}]


@pytest.mark.parametrize("reads_media", [True, False])
def test_a_forwarded_message_is_input_and_runs_no_command(*, reads_media: bool) -> None:
    step = walk(candidate("", reads_media=reads_media, references=FORWARDED))
    assert isinstance(step, Candidate)
    assert isinstance(step.admission, Input)


def test_a_reply_without_words_of_its_own_looks_empty() -> None:
    step = walk(candidate("", references=[{"kind": "reply", "text": "words"}]))
    assert isinstance(step, Ended)
    assert isinstance(step.ending, Answered)


def test_a_command_that_names_another_bot_is_not_ours() -> None:
    step = walk(candidate("/new@some_other_bot", command_bot="some_other_bot"))
    assert isinstance(step, Ended)
    assert isinstance(step.ending, Passed)


def test_a_command_whose_name_of_ours_was_taken_off_runs() -> None:
    step = walk(candidate("/whoami", command_bot="fermix_bot"))
    assert isinstance(step, Candidate)
    assert isinstance(step.admission, Command)


def test_whoever_opens_a_chat_with_the_bot_reads_the_help() -> None:
    assert find_command("start") is HELP
