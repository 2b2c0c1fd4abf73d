"""Captions of any length: the file keeps what fits, and nothing of the rest is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.blob import BlobRef
from fermix.domain.captions import with_whole_caption
from fermix.domain.delivery import (
    REPEAT_MARK,
    ROOM_FOR_MARK,
    MediaKind,
    MediaPart,
    ReactionPart,
    TextPart,
    draft_of,
    for_another_chat,
    mark_repeated,
)
from fermix.domain.ids import PlatformMessageId
from fermix.domain.splitting import TextUnit, split, split_off, units

A_FILE = MediaPart(kind=MediaKind.IMAGE, blob=BlobRef(digest="a" * 64, size_bytes=1), file_name="x.png")
TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n#`*\U0001f389é"), max_size=600)


def captioned(caption: str) -> MediaPart:
    return MediaPart(kind=A_FILE.kind, blob=A_FILE.blob, file_name=A_FILE.file_name, caption=caption)


@given(caption=TEXTS, limit=st.integers(ROOM_FOR_MARK, 400), unit=st.sampled_from(TextUnit))
def test_no_part_of_a_caption_is_too_long_even_with_its_mark_and_no_letter_is_lost(
    caption: str, limit: int, unit: TextUnit
) -> None:
    first, *rest = with_whole_caption(captioned(caption), max_caption=limit, max_text=500, unit=unit)
    assert isinstance(first, MediaPart)
    assert first.blob == A_FILE.blob
    if first.caption:
        assert units(mark_repeated(first).text, unit) <= limit
    assert all(isinstance(part, TextPart) and part.text.strip() for part in rest)
    assert all(units(mark_repeated(part).text, unit) <= 500 for part in rest)
    said = "".join(part.text for part in (first, *rest))
    left = caption.replace("`", "").split()
    assert "".join(said.replace("`", "").split()) == "".join(left)


@pytest.mark.parametrize(("limit", "parts"), [(1024, 1), (None, 1), (0, 2), (60, 2)])
def test_a_caption_goes_with_the_file_or_after_it(limit: int | None, parts: int) -> None:
    found = with_whole_caption(
        captioned("words " * 20), max_caption=limit, max_text=4096, unit=TextUnit.UTF16
    )
    assert len(found) == parts
    assert found[-1].text.strip() == ("words " * 20).strip()


def test_a_long_caption_of_telegrams_keeps_its_beginning_and_the_rest_follows() -> None:
    caption = "First sentence. " * 100
    first, second = with_whole_caption(
        captioned(caption), max_caption=1024, max_text=4096, unit=TextUnit.UTF16
    )
    assert 512 <= len(first.text) <= 1024 - ROOM_FOR_MARK
    assert f"{first.text} {second.text}" == caption.strip()


def test_a_blank_caption_is_none() -> None:
    assert with_whole_caption(captioned(" \n"), max_caption=0, max_text=9, unit=TextUnit.UTF16) == (
        captioned(""),
    )


@given(text=TEXTS.filter(lambda text: bool(text.strip())), limit=st.integers(64, 200))
def test_what_is_split_off_is_the_first_piece(text: str, limit: int) -> None:
    piece, rest = split_off(text, limit=limit)
    first = next(iter(split(text, limit=limit)))
    assert piece == first or not piece.strip()
    assert units(piece, TextUnit.CODE_POINTS) <= limit
    assert len(rest) < len(text) + limit


def test_a_code_block_that_is_cut_is_opened_again_in_the_rest() -> None:
    text = "```py\n" + "x = 1\n" * 40 + "```"
    piece, rest = split_off(text, limit=100)
    assert piece.endswith("\n```")
    assert rest.startswith("```py\n")


def test_a_limit_without_room_for_fences_is_refused() -> None:
    with pytest.raises(ValueError, match="64"):
        split_off("x", limit=63)


def test_a_file_is_marked_in_its_caption_and_a_reaction_not_at_all() -> None:
    assert mark_repeated(captioned("look")).text == f"{REPEAT_MARK}\nlook"
    assert mark_repeated(captioned("")).text == REPEAT_MARK
    reaction = ReactionPart(message=PlatformMessageId("1"), emoji="👍")
    assert mark_repeated(reaction) == reaction
    assert reaction.text == "👍"


def test_only_a_text_has_a_draft_and_leaves_it_behind() -> None:
    draft = TextPart(text="x", draft=PlatformMessageId("7"))
    assert draft_of(draft) == "7"
    assert draft_of(A_FILE) is None
    assert for_another_chat(draft) == TextPart(text="x")
    assert for_another_chat(A_FILE) == A_FILE
