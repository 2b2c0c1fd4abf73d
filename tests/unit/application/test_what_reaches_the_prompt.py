"""Names, titles, quotes and forwarded texts reach the model as data only, whatever is written in them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.agent.prompt import user_entry
from fermix.application.ports.turns import ClaimedMessage
from fermix.domain.authorization import Trust
from fermix.domain.ids import MessageRow
from fermix.domain.message import ChatKind, Reference, ReferenceKind
from fermix.domain.route import target_of
from tests.unit.application.scripted import message

HOSTILE = st.text(
    alphabet=st.sampled_from([*'ab "|[]\\', "\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u202e", "é"]),
    max_size=60,
).map(lambda text: f"{text}INJECTED{text[::-1]}")
"""Text that wants to look like a line of ours; a mark in it tells where it went."""


def prompt_of(*, name: str, title: str, author: str, quoted: str, kind: ReferenceKind, group: bool) -> str:
    kind_of_chat = ChatKind.GROUP if group else ChatKind.DIRECT
    said = message("what do you think?", sender=name, chat_kind=kind_of_chat.value, chat_title=title)
    said = replace(said, references=(Reference(kind=kind, author=author, text=quoted),))
    claimed = ClaimedMessage(row=MessageRow(1), message=said, target=target_of(said), trust=Trust.OPERATOR)
    return user_entry([claimed]).text


@pytest.mark.requirement("envelope.channel_text_is_fenced")
@given(
    name=HOSTILE,
    title=HOSTILE,
    author=HOSTILE,
    quoted=HOSTILE,
    kind=st.sampled_from(ReferenceKind),
    group=st.booleans(),
)
def test_foreign_text_stands_on_marked_lines_or_in_quotes_and_nowhere_else(
    name: str, title: str, author: str, quoted: str, kind: ReferenceKind, group: bool
) -> None:
    text = prompt_of(name=name, title=title, author=author, quoted=quoted, kind=kind, group=group)
    lines = text.splitlines()
    foreign = [line for line in lines if "INJECTED" in line]
    quoted_lines = [line for line in foreign if line.startswith("| ")]
    labels = [line for line in foreign if not line.startswith("| ")]
    assert quoted_lines
    assert all(line.startswith("[") and line.endswith("]") and '"' in line for line in labels)
    assert len(labels) <= 2, "the writer of the message, and the author of what is quoted"
    ours = [line for line in lines if line and not line.startswith("| ") and line not in labels]
    assert [line for line in ours if not line.startswith("[")] == ["what do you think?"]
    assert text.count("\n[end]") == 1
