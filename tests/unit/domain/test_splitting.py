"""A long reply in pieces: nothing over the limit, nothing lost, code blocks whole on both sides of a cut."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.splitting import TextUnit, split, units
from tests.unit.steps import growth

UTF16 = TextUnit.UTF16
PROSE = st.text(
    alphabet=st.sampled_from(list("ab .!\n#:`~-*_[]()é🙂👍🏽\u200d\u0301🇩🇪")), min_size=0, max_size=400
)
LINES = st.lists(
    st.sampled_from(
        [
            "```",
            "```py",
            "~~~",
            "# Title",
            "Here:",
            "",
            "word " * 9,
            "🙂" * 20,
            "x" * 70,
            "    code()",
            "- item",
        ]
    ),
    max_size=30,
).map("\n".join)
LIMITS = st.integers(min_value=64, max_value=200)
FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)


def essence(text: str) -> str:
    """What no cut may change: everything but white space and the lines that open and close code."""
    return re.sub(r"\s", "", FENCE.sub("", text))


def fence_lines(piece: str) -> list[str]:
    return [line for line in piece.splitlines() if line.startswith("```")]


@given(text=PROSE | LINES, limit=LIMITS, unit=st.sampled_from(TextUnit))
def test_no_piece_is_longer_than_the_limit_and_none_is_blank(text: str, limit: int, unit: TextUnit) -> None:
    for piece in split(text, limit=limit, unit=unit):
        assert units(piece, unit) <= limit
        assert piece.strip()


@given(text=LINES, limit=LIMITS)
def test_the_pieces_together_say_what_the_text_says(text: str, limit: int) -> None:
    assert "".join(essence(piece) for piece in split(text, limit=limit)) == essence(text)


@given(text=PROSE.map(lambda text: text.replace("`", "").replace("~", "")), limit=LIMITS)
def test_prose_is_changed_only_in_white_space_at_the_cuts(text: str, limit: int) -> None:
    together = "".join(split(text, limit=limit))
    assert re.sub(r"\s", "", together) == re.sub(r"\s", "", text)


@given(text=PROSE | LINES, limit=LIMITS)
def test_a_text_that_fits_stays_as_it_is(text: str, limit: int) -> None:
    if units(text.rstrip(), TextUnit.CODE_POINTS) <= limit and text.strip():
        assert split(text, limit=limit) == (text.rstrip(),)


@given(units_of=st.text(alphabet="a🙂é", max_size=50))
def test_units_are_counted_as_the_encoding_counts_them(units_of: str) -> None:
    assert units(units_of, UTF16) == len(units_of.encode("utf-16-le")) // 2
    assert units(units_of, TextUnit.CODE_POINTS) == len(units_of)


@pytest.mark.parametrize("text", ["", " \n\n ", "\t", "\x07", "\x00\n\x1b\x7f\x85"])
def test_nothing_to_say_gives_no_pieces(text: str) -> None:
    assert split(text, limit=100) == ()


def test_a_limit_without_room_for_fences_is_refused() -> None:
    with pytest.raises(ValueError, match="64"):
        split("text", limit=63)


@pytest.mark.parametrize("text", ["🙂" * 3000, ("🙂" * 2047 + "\n") * 3])
def test_letters_of_two_units_are_counted_twice_and_never_halved(text: str) -> None:
    pieces = split(text, limit=4096, unit=UTF16)
    assert all(units(piece, UTF16) <= 4096 for piece in pieces)
    assert "".join(pieces) == text.replace("\n", "")


def test_an_emoji_of_several_code_points_is_not_parted() -> None:
    family = "👨‍👩‍👧‍👦"
    assert all(piece.replace(family, "") == "" for piece in split(family * 100, limit=64))


@pytest.mark.parametrize("limit", [2000, 4096])
def test_a_code_block_over_the_limit_is_closed_and_opened_again(limit: int) -> None:
    lines = [f"line_{n} = compute({n})" for n in range(300)]
    text = "\n".join(["Here:", "```py", *lines, "```", "Done."])
    pieces = split(text, limit=limit)
    assert len(pieces) >= (4 if limit == 2000 else 2)
    for piece in pieces:
        assert len(piece) <= limit
        assert len(fence_lines(piece)) % 2 == 0
    assert all(piece.startswith("```py\n") for piece in pieces[1:])
    assert [line for piece in pieces for line in piece.splitlines() if line.startswith("line_")] == lines


def test_a_code_block_that_fits_is_kept_whole() -> None:
    block = "```\n" + "code\n" * 15 + "```"
    first, second = split("word " * 16 + "\n\n" + block, limit=100)
    assert (first, second) == (("word " * 16).rstrip(), block)


def test_a_cut_just_before_the_end_of_a_block_leaves_no_empty_block() -> None:
    for limit in range(64, 130):
        for piece in split("```\n" + "code\n" * 20 + "```\nafter " + "text " * 30, limit=limit):
            assert "```\n```" not in piece


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 50 + "\n\nb" + "b" * 20 + "\n\n# Next\n" + "c" * 60, "a" * 50 + "\n\nb" + "b" * 20),
        ("a" * 50 + "\n\n" + "b" * 20 + "\n" + "c" * 60, "a" * 50),
        ("a" * 30 + "\n" + "b" * 30 + ". " + "c" * 60, "a" * 30 + "\n" + "b" * 30 + "."),
        ("a" * 60 + ". bb " + "c" * 60, "a" * 60 + "."),
        ("a" * 60 + " " + "c" * 60, "a" * 60),
        ("a" * 200, "a" * 100),
        ("a" * 60 + "\n\nThese:\n" + "c" * 60, "a" * 60),
    ],
)
def test_the_best_boundary_in_the_second_half_is_taken(text: str, first: str) -> None:
    assert split(text, limit=100)[0] == first


def test_a_line_that_the_limit_cuts_is_not_taken_for_the_end_of_a_block() -> None:
    text = "```py\n" + "x" * 50 + "\n```py\n" + "y" * 40 + "\n```"
    assert split(text, limit=64) == (
        "```py\n" + "x" * 50 + "\n```",
        "```py\n```py\n" + "y" * 40 + "\n```",
    )


@pytest.mark.parametrize(
    ("piece", "limit", "unit"),
    [
        ("wörd ", 200, UTF16),
        ("🙂", 200, UTF16),
        ("é" * 300 + "\n", 200, UTF16),
        ("word ", 200, TextUnit.CODE_POINTS),
        ("```\nx\n```\n", 200, TextUnit.CODE_POINTS),
        ("a:\n", 200, TextUnit.CODE_POINTS),
    ],
)
def test_the_work_grows_with_the_text_and_no_faster(piece: str, limit: int, unit: TextUnit) -> None:
    assert growth(lambda text: split(text, limit=limit, unit=unit), piece, length=2000) < 5


def test_the_work_of_a_cut_grows_with_the_limit_and_no_faster() -> None:
    assert growth(lambda text: split(text + text, limit=len(text)), "```\nx\n```\n", length=2000) < 5
