"""Which pictures of a conversation go with a request."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.blob import BlobRef
from fermix.domain.history import (
    PICTURES_SHOWN,
    AssistantEntry,
    HistoryEntry,
    MarkerEntry,
    UserEntry,
    pictures_of,
    pictures_to_show,
)
from fermix.domain.picture import Picture


def picture(number: int) -> Picture:
    blob = BlobRef(digest=f"{number:064x}", size_bytes=number + 1)
    return Picture(content=blob, mime_type="image/png", width=10, height=10)


def said(*numbers: int) -> UserEntry:
    return UserEntry(text="look", pictures=tuple(picture(number) for number in numbers))


def blobs(*numbers: int) -> frozenset[BlobRef]:
    return frozenset(picture(number).content for number in numbers)


conversations = st.lists(
    st.lists(st.integers(0, 12), max_size=6).map(lambda numbers: said(*numbers))
    | st.just(AssistantEntry(text="I see"))
    | st.just(MarkerEntry(text="stopped")),
    max_size=8,
)


def test_the_newest_four_pictures_go_again_with_a_later_question() -> None:
    history: list[HistoryEntry] = [said(1, 2), AssistantEntry(text="two"), said(3), said(4, 5)]
    assert pictures_to_show(history, [said()]) == blobs(2, 3, 4, 5)


def test_all_pictures_of_an_album_are_shown_however_many_there_are() -> None:
    assert pictures_to_show([said(1)], [said(*range(2, 12))]) == blobs(*range(2, 12))


def test_new_pictures_take_the_place_of_old_ones() -> None:
    assert pictures_to_show([said(1, 2, 3, 4)], [said(5)]) == blobs(2, 3, 4, 5)


def test_a_picture_that_was_sent_twice_takes_one_place() -> None:
    assert pictures_to_show([said(1, 2), said(3, 3), said(3)], [said(4)]) == blobs(1, 2, 3, 4)


@given(history=conversations, turn=conversations, limit=st.integers(0, 6))
def test_own_pictures_are_always_shown_and_of_the_rest_the_newest(
    history: list[HistoryEntry], turn: list[HistoryEntry], limit: int
) -> None:
    shown = pictures_to_show(history, turn, limit=limit)
    own, known = pictures_of(turn), pictures_of([*history, *turn])
    assert own <= shown <= known
    assert len(shown) == max(len(own), min(limit, len(known)))


@given(history=conversations, turn=conversations)
def test_what_is_shown_does_not_depend_on_what_lies_before_the_newest_four(
    history: list[HistoryEntry], turn: list[HistoryEntry]
) -> None:
    recent = pictures_to_show(history, turn)
    if len(pictures_of([*history, *turn])) >= PICTURES_SHOWN:
        assert pictures_to_show([said(99), *history], turn) == recent
