"""One question out of a request and the texts that go with it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.composition import (
    MAX_CHARACTERS,
    Attached,
    NothingAsked,
    TooLong,
    compose,
)

texts = st.text(st.sampled_from("`\nab "), max_size=30)
requests = st.text(min_size=1).filter(lambda text: text.strip())


@given(requests)
def test_a_request_alone_stays_as_it_is(request_text: str) -> None:
    assert compose(request_text, []) == request_text


def test_texts_follow_the_request_in_blocks_that_say_where_they_come_from() -> None:
    composed = compose("Compare.", [Attached("Standard input", "one\n"), Attached("File b.txt", "two")])
    assert composed == "Compare.\n\nStandard input:\n```\none\n```\n\nFile b.txt:\n```\ntwo\n```"


@given(texts)
def test_no_text_can_end_its_own_block(text: str) -> None:
    composed = compose("x", [Attached("Standard input", text)])
    opening = re.search(r"^(`{3,})$", composed, re.MULTILINE)
    assert opening is not None
    fence = opening.group(1)
    inside, closing, after = composed[opening.end() + 1 :].partition(f"\n{fence}")
    assert (closing, after) == (f"\n{fence}", "")
    assert inside == text.removesuffix("\n")
    assert fence not in text


@given(st.text(st.sampled_from(" \t\n\u3000")))
def test_a_blank_request_asks_nothing_even_with_a_text(blank: str) -> None:
    with pytest.raises(NothingAsked):
        compose(blank, [Attached("Standard input", "text")])


def test_one_million_characters_pass_and_one_more_does_not() -> None:
    attached = Attached("Standard input", "x" * (MAX_CHARACTERS - 7))
    assert compose("Sum up.", [attached]).count("x") == MAX_CHARACTERS - 7
    with pytest.raises(TooLong, match="1,000,000 characters"):
        compose("Sum it up.", [attached])


def test_what_goes_along_may_say_it_all() -> None:
    assert compose(" ", [], may_be_blank=True) == ""
    assert compose("", [Attached("File a", "x\n")], may_be_blank=True) == "File a:\n```\nx\n```"
