"""What can be read off a message in its final shape."""

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.message import AttachmentKind
from tests.unit.domain.samples import TERMINAL, message


def attached(*kinds: AttachmentKind) -> list[dict[str, Any]]:
    return [{"kind": kind.value, "reference": "r"} for kind in kinds]


@pytest.mark.requirement("ingress.empty.what_is_empty")
@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u00a0\u2003"])
@pytest.mark.parametrize("kinds", [(), (AttachmentKind.OTHER,)])
def test_blanks_stickers_and_polls_ask_for_nothing(text: str, kinds: tuple[AttachmentKind, ...]) -> None:
    assert not message(content=text, attachments=attached(*kinds)).is_actionable


@pytest.mark.requirement("ingress.empty.attachment_counts_as_content")
@pytest.mark.parametrize("kind", [k for k in AttachmentKind if k is not AttachmentKind.OTHER])
def test_an_attachment_that_can_become_something_is_content(kind: AttachmentKind) -> None:
    assert message(content="", attachments=attached(AttachmentKind.OTHER, kind)).is_actionable


@given(text=st.text(), kinds=st.lists(st.sampled_from(AttachmentKind), max_size=3))
def test_more_of_a_message_never_makes_it_emptier(text: str, kinds: list[AttachmentKind]) -> None:
    smaller = message(content=text, attachments=attached(*kinds[:-1]))
    larger = message(content=text + "x" * len(kinds[-1:]), attachments=attached(*kinds))
    assert larger.is_actionable or not smaller.is_actionable


def test_a_redelivery_has_the_same_fingerprint_whatever_surrounds_it() -> None:
    first = message(content="hi", sender="Ann", attachments=attached(AttachmentKind.IMAGE))
    again = message(content="hi", sender="Ann B.", attachments=attached(AttachmentKind.IMAGE), chat_title="x")
    assert first.digest() == again.digest()


def test_whatever_else_was_asked_has_another_fingerprint() -> None:
    asked = [
        message(TERMINAL, content="hi"),
        message(TERMINAL, content="hi "),
        message(TERMINAL, content="hi", request_cwd="/a"),
        message(TERMINAL, content="hi", request_model="openai/gpt"),
        message(TERMINAL, content="hi", attachments=[{"kind": "file", "reference": "a"}]),
        message(TERMINAL, content="hi", attachments=[{"kind": "file", "reference": "b"}]),
    ]
    for one, other in itertools.combinations(asked, 2):
        assert one.digest() != other.digest()


@given(text=st.text(st.characters(codec=None)))
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = dataclasses.replace(message(), text=text)
    assert len(found.digest()) == 16
    assert found.digest() == dataclasses.replace(message(id=8), text=text).digest()
