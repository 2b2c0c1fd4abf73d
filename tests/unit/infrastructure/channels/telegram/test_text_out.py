"""Markdown to text with entities: what the server's own rules say of it, and what people see."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fermix.infrastructure.channels.telegram.wire_out import formatted
from fermix.testing.servers.telegram_api.entities import formatted as as_the_server_reads_it

WORDS = st.sampled_from(
    [
        *"*_`~[]()>#-+|!\\<&:.",
        *("**", "__", "```", "```py", "~~", "](", "](https://a.example/b)", "](javascript:x)", "](http://h)"),
        *(
            "\n",
            "\n\n",
            "\n- ",
            "\n1. ",
            "\n> ",
            "\n>> ",
            "\n# ",
            "\n| a | b |\n|---|---|\n| c |",
            "---",
            "\t",
        ),
        *(
            "word",
            "snake_case",
            "2*3",
            "🙂",
            "é",
            " ",
            "  ",
            "    ",
            "&amp;",
            "\r\n",
            "\x07",
            "\ud800",
            "`c`",
        ),
        *("**b `c` b**", "[**l**](https://a.example)", "![i](https://a.example/i.png)", "\u202e", "\xa0"),
    ]
)
MARKDOWN = st.lists(WORDS, max_size=60).map("".join)


def shown(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """What is sent: the text, and each entity with the words it covers."""
    rich = formatted(markdown)
    encoded = rich.text.encode("utf-16-le")
    covered = [
        (one.kind, encoded[one.offset * 2 : (one.offset + one.length) * 2].decode("utf-16-le"))
        for one in rich.entities
    ]
    return rich.text, covered


@settings(max_examples=400)
@given(markdown=MARKDOWN.filter(lambda text: text.strip() != ""))
def test_no_markdown_is_refused_and_the_server_shows_it_as_sent(markdown: str) -> None:
    rich = formatted(markdown)
    if not rich.text.strip(" \n\t\x07"):
        return
    text, entities = as_the_server_reads_it(rich.text, [one.as_json() for one in rich.entities])
    assert len(entities) == len(rich.entities)
    assert text.split() == rich.text.replace("\x07", " ").split()


@given(words=st.lists(st.sampled_from(["**", "*", "_", "`", "~~", "> ", "- ", "\n", "\n\n", "ab", " "])))
def test_no_word_is_lost(words: list[str]) -> None:
    source = "".join(words)
    assume(not re.search(r"^[\s>-]*(~~~|```)", source, re.MULTILINE))  # words there name the code's language
    assert re.sub(r"[^a-z]", "", formatted(source).text) == re.sub(r"[^a-z]", "", source)


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain", "plain", []),
        (
            "**b** *i* ~~s~~ `c`",
            "b i s c",
            [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")],
        ),
        ("use snake_case and 2*3", "use snake_case and 2*3", []),
        ("a*b*c and 2 * 3 * 4", "a*b*c and 2 * 3 * 4", []),
        ("🙂 **fett**", "🙂 fett", [("bold", "fett")]),
        ("**bold *both* bold**", "bold both bold", [("bold", "bold both bold"), ("italic", "both")]),
        ("**a `c` b**", "a c b", [("bold", "a"), ("code", "c"), ("bold", "b")]),
        ("# Title\n\ntext", "Title\n\ntext", [("bold", "Title")]),
        ("one\ntwo", "one\ntwo", []),
        ("Intro:\n- a\n- b\n  - c\n\nend", "Intro:\n• a\n• b\n  • c\n\nend", []),
        ("3. c\n4. d", "3. c\n4. d", []),
        ("```py\nx = 1\n\ny = 2\n```", "x = 1\n\ny = 2", [("pre", "x = 1\n\ny = 2")]),
        ("- see:\n  ```\n  code\n  ```\n- b", "• see:\ncode\n• b", [("pre", "code")]),
        ("> quoted `c`\n\nafter", "quoted c\n\nafter", [("blockquote", "quoted c"), ("code", "c")]),
        ("> a\n> b\n> c\n> d", "a\nb\nc\nd", [("expandable_blockquote", "a\nb\nc\nd")]),
        ("> a\n>\n> > b", "a\n\nb", [("blockquote", "a\n\nb")]),
        ("[label](https://a.example/x_(y))", "label", [("text_link", "label")]),
        ("[label](http://localhost/x)", "label (http://localhost/x)", []),
        ("<https://a.example>", "https://a.example", []),
        ("[x][1]\n\n[1]: https://a.example", "[x][1]\n\n[1]: https://a.example", []),
        ("a\n\n---\n\nb", "a\n\nb", []),
        ("---", "---", []),
        ("<b>&amp;</b>", "<b>&</b>", []),
        (
            "| a | b |\n|---|---|\n| long | 1 |",
            "a    | b\n-----+--\nlong | 1",
            [("pre", "a    | b\n-----+--\nlong | 1")],
        ),
        (">     code\n> \n> text", "code\n\ntext", [("blockquote", "code\n\ntext"), ("pre", "code")]),
        ("open **bold and `code", "open **bold and `code", []),
    ],
)
def test_people_see(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert shown(markdown) == (text, entities)


def test_a_code_block_without_code_is_shown_as_it_is_written() -> None:
    assert formatted("text\n\n```python\n```").text == "text\n\n```python"


def test_a_code_block_says_its_language() -> None:
    (entity,) = formatted("```python title=x\npass\n```").entities
    assert entity.as_json() == {"type": "pre", "offset": 0, "length": 4, "language": "python"}


def test_more_entities_than_a_message_carries_leave_the_rest_plain() -> None:
    assert len(formatted("**a** x " * 150).entities) == 100


def test_text_that_its_looks_make_too_long_goes_out_raw() -> None:
    table = "| a | b |\n|---|---|\n" + f"| {'x' * 1000} | 1 |\n" + "| y | 2 |\n" * 20
    assert formatted(table).text == table
