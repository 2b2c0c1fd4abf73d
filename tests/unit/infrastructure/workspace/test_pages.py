import io
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.workspace import PathProblem, PathRefused, TextPage
from fermix.infrastructure.workspace.budget import Budget, Spent
from fermix.infrastructure.workspace.pages import PAGE_BYTES, read_page


def _budget(size: int = 10**9) -> Budget:
    return Budget(monotonic=lambda: 0.0, deadline=1.0, given_up=Event(), entries=0, size=size)


def _read(content: bytes, first: int = 1, count: int | None = None) -> TextPage:
    return read_page(io.BytesIO(content), name="f", first=first, count=count, budget=_budget())


def _lines(content: str) -> list[str]:
    return (
        [line for line in content.split("\n") if line] if not content else content.splitlines(keepends=True)
    )


_CONTENT = st.lists(st.text(alphabet="abé ", max_size=4), max_size=8).map("\n".join)


@given(content=_CONTENT, first=st.integers(1, 10), count=st.none() | st.integers(1, 10))
def test_a_page_is_the_lines_that_were_asked_for(content: str, first: int, count: int | None) -> None:
    lines = content.splitlines(keepends=True)
    wanted = lines[first - 1 :][:count]

    page = _read(content.encode(), first, count)

    assert page.text == "".join(wanted)
    assert page.lines == len(wanted)
    assert page.first == (first if wanted or first <= len(lines) + 1 else len(lines) + 1)
    assert page.more == (len(lines) > first - 1 + len(wanted))


@given(content=_CONTENT, count=st.integers(1, 3))
def test_pages_one_after_the_other_are_the_whole_file(content: str, count: int) -> None:
    text, first, more = "", 1, True
    while more:
        page = _read(content.encode(), first, count)
        text, first, more = text + page.text, page.first + page.lines, page.more

    assert text == content


def test_a_page_ends_with_the_last_line_that_fits() -> None:
    line = b"x" * 1023 + b"\n"
    page = _read(line * 150)

    assert (page.lines, len(page.text), page.more, page.cut) == (100, PAGE_BYTES, True, False)
    assert _read(line * 150, first=101).lines == 50


@pytest.mark.parametrize("length", [PAGE_BYTES, PAGE_BYTES + 1, PAGE_BYTES + 2, 3 * PAGE_BYTES])
def test_a_line_that_fits_on_no_page_is_cut_and_the_next_one_is_still_reached(length: int) -> None:
    content = b"a\n" + b"x" * length + b"\nlast"

    assert _read(content).text == "a\n"
    cut = _read(content, first=2)
    assert (cut.lines, cut.cut, cut.more) == (1, True, True)
    assert len(cut.text) <= PAGE_BYTES
    assert _read(content, first=3).text == "last"


def test_past_the_end_the_page_says_how_many_lines_there_are() -> None:
    for content in (b"a\nb\n", b"a\nb"):
        page = _read(content, first=9)
        assert (page.lines, page.first, page.more) == (0, 3, False)


def test_invalid_utf_8_is_shown_and_a_byte_order_mark_is_not() -> None:
    assert _read(b"\xef\xbb\xbfa\xff\xfeb").text == "a\ufffd\ufffdb"


def test_a_nul_byte_means_no_text() -> None:
    with pytest.raises(PathRefused) as caught:
        _read(b"ab\0c")

    assert caught.value.reason is PathProblem.BINARY


def test_looking_for_a_far_line_is_bounded() -> None:
    with pytest.raises(Spent):
        read_page(io.BytesIO(b"x\n" * 1000), name="f", first=900, count=1, budget=_budget(size=100))
