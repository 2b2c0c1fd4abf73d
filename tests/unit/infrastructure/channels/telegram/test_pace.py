"""Telegram's pace: what would be too fast is told its wait, and nobody else waits with it."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.channels.telegram.pace import MAX_CHATS, TELEGRAM, Pace


def test_a_chat_gets_a_short_burst_and_then_one_a_second() -> None:
    pace = Pace(TELEGRAM)
    assert [pace.take("1", now=0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert pace.take("1", now=1.0) == 2.0
    assert pace.take("2", now=1.0) == 0.0
    assert pace.take("1", now=3.0) == 0.0


def test_a_group_gets_twenty_a_minute() -> None:
    pace = Pace(TELEGRAM)
    assert {pace.take("-5", now=float(second)) for second in range(20)} == {0.0}
    assert pace.take("-5", now=20.0) == 40.0


def test_all_chats_together_get_thirty_a_second() -> None:
    pace = Pace(TELEGRAM)
    assert {pace.take(str(chat), now=0.0) for chat in range(1, 31)} == {0.0}
    assert pace.take("99", now=0.25) == 0.75


def test_a_chat_the_server_wants_left_alone_is_left_alone_by_itself() -> None:
    pace = Pace(None)
    pace.hold("1", until=7.0)
    assert pace.take("1", now=2.0) == 5.0
    assert pace.take("2", now=2.0) == 0.0
    assert pace.take("1", now=7.0) == 0.0
    assert pace.take("1", now=7.0) == 0.0


def test_chats_that_rest_are_forgotten() -> None:
    pace = Pace(TELEGRAM)
    for number in range(MAX_CHATS + 50):
        pace.take(str(number), now=number * 10.0)
    assert len(pace._chats) <= MAX_CHATS


@given(
    gaps=st.lists(st.floats(0, 2), max_size=80),
    chats=st.lists(st.sampled_from(["1", "2", "-3"]), min_size=80),
)
def test_no_window_ever_holds_more_than_it_may(gaps: list[float], chats: list[str]) -> None:
    pace, now = Pace(TELEGRAM), 0.0
    sent: dict[str, list[float]] = {}
    for gap, chat in zip(gaps, chats, strict=False):
        now += gap
        if pace.take(chat, now=now) == 0:
            sent.setdefault(chat, []).append(now)
    for chat, times in sent.items():
        window = TELEGRAM.group if chat.startswith("-") else TELEGRAM.direct
        for first, beyond in zip(times, times[window.messages :], strict=False):
            assert beyond - first >= window.seconds


def test_drafts_in_a_group_leave_half_of_the_places_to_messages() -> None:
    pace = Pace(TELEGRAM)
    assert [pace.take_spare("-1", now=0.0) for _ in range(10)] == [0.0] * 10
    assert pace.take_spare("-1", now=30.0) == 30.0
    assert [pace.take("-1", now=31.0) for _ in range(10)] == [0.0] * 10
    assert pace.take("-1", now=32.0) == 28.0


def test_drafts_of_all_chats_leave_half_of_the_places_to_messages() -> None:
    pace = Pace(TELEGRAM)
    assert [pace.take_spare(str(chat), now=0.0) for chat in range(1, 16)] == [0.0] * 15
    assert pace.take_spare("16", now=0.5) == 0.5
    assert pace.take("16", now=0.5) == 0.0


def test_a_direct_chat_takes_a_draft_once_a_second() -> None:
    pace = Pace(TELEGRAM)
    assert [pace.take_spare("1", now=float(second)) for second in range(20)] == [0.0] * 20


def test_what_leaves_anyway_is_counted() -> None:
    pace = Pace(TELEGRAM)
    for _ in range(3):
        pace.note("1", now=0.0)
    assert pace.take("1", now=1.0) == 2.0
    Pace(None).note("1", now=0.0)


def test_a_wait_that_the_server_asked_for_holds_drafts_too() -> None:
    pace = Pace(None)
    pace.hold("1", until=5.0)
    assert pace.take_spare("1", now=2.0) == 3.0
    assert pace.take_spare("1", now=5.0) == 0.0
