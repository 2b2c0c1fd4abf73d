"""What goes out: plain words, the right recipient, and commands that hold no words of people."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.delivery import ReactionPart
from fermix.domain.ids import ChatId, PlatformMessageId
from fermix.infrastructure.channels.signal.plain_text import plain
from fermix.infrastructure.channels.signal.recipient import recipient_field
from fermix.infrastructure.channels.signal.wire_out import (
    arguments,
    file_order,
    reaction_order,
    standard_input,
    text_order,
    typing_order,
)

OLGA = ChatId("+15551001")
GROUP = ChatId("R3JvdXBHcm91cEdyb3VwR3JvdXBHcm91cEdyb3VwMTI=")
UUID = ChatId("6f2c1b3a-0000-4000-8000-00000000a001")


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** _it_ ~~gone~~ `code`", "bold it gone code"),
        ("# Title\nbody", "Title\n\nbody"),
        ("# Title\n\nbody", "Title\n\nbody"),
        ("[label](https://example.org)", "label: https://example.org"),
        ("<https://example.org>", "https://example.org"),
        ("![a cat](https://example.org/cat.png)", "a cat: https://example.org/cat.png"),
        ("- one\n- two\n  - three", "• one\n• two\n  • three"),
        ("3. three\n4. four", "3. three\n4. four"),
        ("```py\nx = 1\n\ny = 2\n```", "    x = 1\n\n    y = 2"),
        ("> said\n> so", "> said\n> so"),
        ("| a | bb |\n|---|---|\n| ccc | d |", "a   | bb\n----+---\nccc | d"),
        ("one\n\n---\n\ntwo", "one\n\ntwo"),
        ("---", "---"),
        ("2*3 snake_case a*b*c", "2*3 snake_case a*b*c"),
        ("first\nsecond\n\nthird", "first\nsecond\n\nthird"),
        ("<b>&amp;</b>", "<b>&</b>"),
    ],
)
def test_marks_go_and_words_stay(markdown: str, shown: str) -> None:
    assert plain(markdown) == shown


_MARKS = (
    "**",
    "_",
    "`",
    "```\n",
    "# ",
    "- ",
    "1. ",
    "> ",
    "\n",
    "\n\n",
    "| ",
    "|---|",
    "[",
    "](x)",
    "<",
    "&amp;",
)
_WORDS = ("word", "ü", "🎉", "\ufffc", "\x00", "\ud83d", " ", "~~", "---\n", "!")
_MARKDOWN = st.lists(st.sampled_from((*_MARKS, *_WORDS)), max_size=40).map("".join)


@given(_MARKDOWN)
def test_something_is_shown_of_whatever_is_there(markdown: str) -> None:
    shown = plain(markdown)
    shown.encode()
    assert bool(shown.strip()) == bool(markdown.replace("\x00", " ").strip())
    for word in ("word", "ü", "🎉"):
        assert shown.count(word) >= markdown.count(word)


@pytest.mark.parametrize(
    ("chat", "field"),
    [
        ("+15551001", {"recipient": ["+15551001"]}),
        ("15551001", {"recipient": ["+15551001"]}),
        (UUID, {"recipient": [UUID]}),
        (f"PNI:{UUID}", {"recipient": [f"PNI:{UUID}"]}),
        (GROUP, {"groupId": GROUP}),
        ("Zz==", {"groupId": "Zz=="}),
    ],
)
def test_a_chat_says_whom_it_is_for(chat: str, field: dict[str, object]) -> None:
    assert recipient_field(chat) == field


def test_words_are_on_no_command_line() -> None:
    orders = [
        make(chat)
        for chat, make in product(
            (OLGA, GROUP, UUID),
            (
                lambda chat: text_order(chat, "secret words"),
                lambda chat: file_order(chat, "/x/a.png", "secret words", size=5),
            ),
        )
    ]
    assert all("secret" not in " ".join(arguments(order)) for order in orders)
    assert {standard_input(order) for order in orders} == {b"secret words"}


@pytest.mark.parametrize(
    ("order", "command"),
    [
        (text_order(OLGA, "hi"), ("send", OLGA, "--message-from-stdin")),
        (text_order(GROUP, "hi"), ("send", "-g", GROUP, "--message-from-stdin")),
        (
            file_order(OLGA, "/x/a.png", "", size=5),
            ("send", OLGA, "--message-from-stdin", "-a", "/x/a.png"),
        ),
        (typing_order(OLGA), ("sendTyping", OLGA)),
    ],
)
def test_a_command_names_its_recipient_first(order: object, command: tuple[str, ...]) -> None:
    assert arguments(order) == command  # type: ignore[arg-type]  # each is an order


@pytest.mark.parametrize(
    ("chat", "message", "author"),
    [
        (OLGA, "17", OLGA),
        (UUID, "17", UUID),
        (GROUP, f"17:{UUID}", UUID),
        (GROUP, "17:15551001", "+15551001"),
        (GROUP, "17", None),
        (OLGA, "no such", None),
        (OLGA, "", None),
    ],
)
def test_a_reaction_names_message_and_author(chat: ChatId, message: str, author: str | None) -> None:
    order = reaction_order(chat, ReactionPart(message=PlatformMessageId(message), emoji="👍"))
    told = None if order is None else (order.params["targetAuthor"], order.params["targetTimestamp"])
    assert told == (None if author is None else (author, 17))


def test_a_large_file_is_given_its_time() -> None:
    assert file_order(OLGA, "/x", "", size=100 * 1024 * 1024).within > 400
