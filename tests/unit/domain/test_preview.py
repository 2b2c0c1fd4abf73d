"""A glimpse of a text is one short line of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.preview import PREVIEW_CHARACTERS, preview


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        ([], ""),
        (["", " \n\t "], ""),
        (["  one\r\n two\u2028three "], "one two three"),
        (["one", "", "two"], "one two"),
        (["x" * 80], "x" * 80),
        (["x" * 81], "x" * 79 + "…"),
        (["x" * 78 + " yz"], "x" * 78 + "…"),
        (["x" * 40, "y" * 40], "x" * 40 + " " + "y" * 38 + "…"),
    ],
)
def test_a_preview_is_cut_to_one_line_of_80_characters(texts: list[str], shown: str) -> None:
    assert preview(texts) == shown


@given(
    st.lists(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(" \n\t"))), st.integers(1, 100)
)
def test_a_preview_is_short_has_no_breaks_and_begins_as_the_text_does(texts: list[str], limit: int) -> None:
    shown = preview(texts, limit=limit)
    whole = " ".join(word for text in texts for word in text.split())
    assert len(shown) <= limit
    assert shown == " ".join(shown.split())
    if len(whole) <= limit:
        assert shown == whole
    else:
        assert shown.endswith("…")
        assert whole.startswith(shown[:-1])


def test_a_preview_of_a_very_long_text_reads_only_its_beginning() -> None:
    def texts() -> object:
        yield "word " * 100
        raise AssertionError("nobody asked for more")

    assert len(preview(texts())) <= PREVIEW_CHARACTERS  # type: ignore[arg-type]  # a generator of one text
