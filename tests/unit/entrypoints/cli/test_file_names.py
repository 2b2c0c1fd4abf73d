"""Names for files from elsewhere: plain, harmless, and never empty."""

import unicodedata
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.file_names import MAX_BYTES, candidates, safe_name
from fermix.entrypoints.cli.terminal_text import visible

names = st.text(st.characters(), max_size=300) | st.text("./\\ -~\x1b\u202ea.png", max_size=40)


@given(names)
def test_a_safe_name_is_a_plain_visible_one(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= MAX_BYTES
    assert safe[0] not in " .-~"
    assert not set(safe) & set("/\\\0\n\t")
    assert visible(safe) == safe
    assert not any(unicodedata.category(char) == "Cc" for char in safe)


@given(names)
def test_a_safe_name_stays_as_it_is(name: str) -> None:
    assert safe_name(safe_name(name)) == safe_name(name)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("picture.png", "picture.png"),
        ("plan \u00fc.pdf", "plan \u00fc.pdf"),
        ("../../.ssh/authorized_keys", "authorized_keys"),
        ("C:\\Windows\\system.ini", "system.ini"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("~root", "root"),
        ("\x1b]0;title\x07.png", "]0;title.png"),
        ("invoice\u202egnp.exe", "invoicegnp.exe"),
        ("a\nb\tc.txt", "abc.txt"),
        ("", "file"),
        ("..", "file"),
        ("/", "file"),
        ("half \ud800.txt", "half.txt"),
    ],
)
def test_what_would_be_hidden_or_taken_for_something_else_is_left_out(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_long_name_keeps_its_ending() -> None:
    safe = safe_name("\u00e4" * 300 + ".tar.gz")
    assert safe.endswith(".gz")
    assert len(safe.encode()) <= MAX_BYTES


def test_taken_names_are_numbered_before_their_ending() -> None:
    assert list(islice(candidates("a.png"), 3)) == ["a.png", "a (1).png", "a (2).png"]
    assert list(islice(candidates("notes"), 2)) == ["notes", "notes (1)"]
