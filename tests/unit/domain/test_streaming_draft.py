"""The draft machine: when it opens, how often it writes, what it may show, and how it ends."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.ids import PlatformMessageId
from fermix.domain.splitting import TextUnit, head, split, units
from fermix.domain.streaming.draft import (
    MAX_WRITES,
    OPENS_AT,
    WRITE_EVERY,
    DiscardDraft,
    DraftLimits,
    DraftMachine,
    DraftWrite,
    EditDraft,
    OpenDraft,
    SealDraft,
    WriteFailure,
)
from fermix.domain.streaming.heard import BeganAnew, Heard, ItemDone, Missed, Thought, Wrote

START = datetime(2026, 1, 1, tzinfo=UTC)
D1 = PlatformMessageId("d1")
ANY = DraftLimits(text=None, unit=TextUnit.CODE_POINTS)
LONG = "thirty characters are enough.. "


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


def opened(machine: DraftMachine, text: str = LONG) -> DraftMachine:
    machine.hear(Wrote(text=text))
    assert machine.next_write(START) == OpenDraft(text=text.rstrip())
    machine.wrote(D1)
    return machine


def test_it_opens_at_thirty_characters_and_at_once() -> None:
    machine = DraftMachine(limits=ANY)
    machine.hear(Wrote(text="x" * (OPENS_AT - 1)))
    assert machine.due(START) is None
    assert machine.next_write(START) is None
    machine.hear(Wrote(text="y"))
    assert machine.due(START) == START
    assert machine.next_write(START) == OpenDraft(text="x" * 29 + "y")


def test_it_is_edited_at_most_once_a_second_and_then_to_the_newest_text() -> None:
    machine = opened(DraftMachine(limits=ANY))
    machine.hear(Wrote(text="more"))
    machine.hear(Wrote(text=" and more"))
    assert machine.due(second(0.2)) == second(1)
    assert machine.next_write(second(0.999)) is None
    assert machine.next_write(second(1)) == EditDraft(draft=D1, text=LONG + "more and more")
    assert machine.dropped == 1


def test_only_one_write_is_under_way_at_a_time() -> None:
    machine = DraftMachine(limits=ANY)
    machine.hear(Wrote(text=LONG))
    assert machine.next_write(START) is not None
    machine.hear(Wrote(text="more"))
    assert machine.due(second(5)) is None
    assert machine.next_write(second(5)) is None


def test_what_did_not_change_is_not_written_again() -> None:
    machine = opened(DraftMachine(limits=ANY))
    machine.hear(Wrote(text="  \n"))
    assert machine.next_write(second(2)) is None


def test_a_new_step_keeps_what_is_shown_until_it_has_words_of_its_own() -> None:
    machine = opened(DraftMachine(limits=ANY))
    machine.hear(ItemDone())
    machine.hear(BeganAnew())
    assert machine.next_write(second(2)) is None
    machine.hear(Wrote(text="The answer"))
    assert machine.next_write(second(2)) == EditDraft(draft=D1, text="The answer")


def test_after_a_gap_nothing_is_shown_until_the_text_begins_anew() -> None:
    machine = opened(DraftMachine(limits=ANY))
    machine.hear(Missed())
    machine.hear(Wrote(text="the end of a sentence nobody heard the start of"))
    assert machine.next_write(second(2)) is None
    machine.hear(BeganAnew())
    machine.hear(Wrote(text="whole"))
    assert machine.next_write(second(2)) == EditDraft(draft=D1, text="whole")


def test_a_text_over_the_cap_stands_still_at_the_cap() -> None:
    machine = DraftMachine(limits=DraftLimits(text=64, unit=TextUnit.UTF16))
    machine.hear(Wrote(text="🙂" * 100))
    write = machine.next_write(START)
    assert write == OpenDraft(text="🙂" * 32)
    machine.wrote(D1)
    machine.hear(Wrote(text="🙂" * 100))
    assert machine.due(second(9)) is None


def test_after_three_hundred_writes_it_stands_still_and_is_sealed_all_the_same() -> None:
    machine = opened(DraftMachine(limits=ANY))
    for number in range(1, MAX_WRITES):
        machine.hear(Wrote(text="x"))
        assert machine.next_write(second(number)) is not None
        machine.wrote(D1)
    machine.hear(Wrote(text="x"))
    assert machine.next_write(second(1000)) is None
    assert machine.end(answered=True) == SealDraft(draft=D1)


@pytest.mark.parametrize("failure", [WriteFailure.NOT_SENT, WriteFailure.REFUSED, WriteFailure.UNKNOWN])
def test_two_failures_in_a_row_freeze_it(failure: WriteFailure) -> None:
    machine = opened(DraftMachine(limits=ANY))
    for number in (1, 2):
        machine.hear(Wrote(text="x"))
        assert machine.next_write(second(number)) is not None
        machine.failed(failure, now=second(number))
    assert machine.next_write(second(9)) is None


def test_a_success_in_between_forgives_a_failure() -> None:
    machine = opened(DraftMachine(limits=ANY))
    for number in range(1, 9):
        machine.hear(Wrote(text="x"))
        assert machine.next_write(second(number)) is not None
        if number % 2:
            machine.failed(WriteFailure.UNKNOWN, now=second(number))
        else:
            machine.wrote(D1)


def test_being_too_fast_slows_it_down_and_never_freezes_it() -> None:
    machine = opened(DraftMachine(limits=ANY))
    now = second(1)
    for _ in range(5):
        machine.hear(Wrote(text="x"))
        assert machine.next_write(now) is not None
        machine.failed(WriteFailure.NOT_SENT, now=now, wait=timedelta(seconds=7))
        assert machine.next_write(now + timedelta(seconds=6.9)) is None
        now += timedelta(seconds=7)
    assert machine.end(answered=True) == SealDraft(draft=D1)


def test_an_opening_of_which_nobody_knows_is_never_tried_again() -> None:
    machine = DraftMachine(limits=ANY)
    machine.hear(Wrote(text=LONG))
    assert machine.next_write(START) is not None
    machine.failed(WriteFailure.UNKNOWN, now=START)
    machine.hear(Wrote(text="more"))
    assert machine.next_write(second(9)) is None
    assert machine.end(answered=True) is None


def test_a_draft_whose_last_edit_may_still_land_is_no_place_for_the_reply() -> None:
    machine = opened(DraftMachine(limits=ANY))
    machine.hear(Wrote(text="x"))
    assert machine.next_write(second(1)) is not None
    machine.failed(WriteFailure.UNKNOWN, now=second(1))
    assert machine.end(answered=True) == DiscardDraft(draft=D1)


def test_an_unanswered_turn_leaves_no_draft() -> None:
    assert opened(DraftMachine(limits=ANY)).end(answered=False) == DiscardDraft(draft=D1)


def test_an_adopted_draft_is_edited_from_the_first_words_on_and_sealed_without_any() -> None:
    machine = DraftMachine(limits=ANY, adopted=D1)
    machine.hear(Wrote(text="Short"))
    assert machine.next_write(START) == EditDraft(draft=D1, text="Short")
    assert DraftMachine(limits=ANY, adopted=D1, still=True).end(answered=True) == SealDraft(draft=D1)


def test_an_adopted_draft_that_is_gone_makes_room_for_a_new_one() -> None:
    machine = DraftMachine(limits=ANY, adopted=D1)
    machine.hear(Wrote(text=LONG))
    assert machine.next_write(START) == EditDraft(draft=D1, text=LONG.rstrip())
    machine.failed(WriteFailure.REFUSED, now=START)
    assert machine.next_write(second(1)) == OpenDraft(text=LONG.rstrip())


@dataclass
class Watched:
    """A machine, what its turn has written, and everything that it did."""

    machine: DraftMachine
    limit: int | None
    text: str = ""
    whole: bool = True
    now: datetime = START
    begun: list[datetime] = field(default_factory=list)
    opens: int = 0
    sure: bool = True
    under_way: DraftWrite | None = None
    shown: str | None = None
    ended: bool = False

    def hear(self, event: Heard) -> None:
        self.machine.hear(event)
        match event:
            case Wrote(text=text):
                self.text += text if self.whole else ""
            case BeganAnew():
                self.text, self.whole = "", True
            case Missed():
                self.text, self.whole = "", False
            case _:
                pass

    def ask(self) -> None:
        write = self.machine.next_write(self.now)
        if write is None:
            return
        assert not self.ended, "nothing is written after the end"
        assert self.under_way is None, "one write at a time"
        assert not self.begun or self.now - self.begun[-1] >= WRITE_EVERY, "never faster than the pace"
        assert self.text.startswith(write.text), "only what was written is shown"
        assert write.text.strip(), "never blank"
        assert self.limit is None or units(write.text, TextUnit.UTF16) <= self.limit
        assert write.text != self.shown
        if isinstance(write, OpenDraft):
            self.opens += 1
            assert len(self.text) >= OPENS_AT
        self.begun.append(self.now)
        self.under_way = write

    def answer(self, failure: WriteFailure | None) -> None:
        write, self.under_way = self.under_way, None
        if write is None:
            return
        if failure is None:
            draft = write.draft if isinstance(write, EditDraft) else PlatformMessageId(f"d{self.opens}")
            self.machine.wrote(draft)
            self.shown, self.sure = write.text, True
        else:
            self.machine.failed(failure, now=self.now)
            self.sure = self.sure and failure is not WriteFailure.UNKNOWN

    def end(self, answered: bool) -> None:
        if self.ended:
            return
        self.ended = True
        draft = self.machine.draft
        match self.machine.end(answered=answered):
            case SealDraft(draft=sealed):
                assert answered
                assert self.sure
                assert self.under_way is None
                assert sealed == draft
            case DiscardDraft(draft=discarded):
                assert discarded == draft
            case None:
                assert draft is None


_pieces = st.text(alphabet=st.sampled_from("ab \n`#🙂é"), max_size=40)
_events = st.one_of(
    _pieces.map(lambda text: ("hear", Wrote(text=text))),
    st.sampled_from([BeganAnew(), Missed(), ItemDone(), Thought(text="t")]).map(lambda one: ("hear", one)),
    st.integers(0, 1500).map(lambda ms: ("pass", ms)),
    st.just(("ask", None)),
    st.sampled_from([None, None, None, *WriteFailure]).map(lambda failure: ("answer", failure)),
    st.booleans().map(lambda answered: ("end", answered)),
)


@given(
    steps=st.lists(_events, max_size=60),
    limit=st.sampled_from([None, 64, 80]),
    adopted=st.sampled_from([None, PlatformMessageId("old")]),
)
def test_whatever_happens_it_keeps_its_promises(
    steps: list[tuple[str, object]], limit: int | None, adopted: PlatformMessageId | None
) -> None:
    limits = DraftLimits(text=limit, unit=TextUnit.UTF16)
    watched = Watched(machine=DraftMachine(limits=limits, adopted=adopted), limit=limit)
    for step in steps:
        match step:
            case ("hear", Wrote() | BeganAnew() | Missed() | ItemDone() | Thought() as event):
                watched.hear(event)
            case ("pass", int(milliseconds)):
                watched.now += timedelta(milliseconds=milliseconds)
            case ("ask", _):
                due = watched.machine.due(watched.now)
                before = len(watched.begun)
                watched.ask()
                assert (len(watched.begun) > before) == (due == watched.now), "due says when"
            case ("answer", None | WriteFailure() as failure):
                watched.answer(failure)
            case ("end", bool(answered)):
                watched.end(answered)


@given(text=st.text(alphabet=st.sampled_from("ab \n🙂é\u0301"), max_size=200), limit=st.integers(1, 90))
def test_a_head_is_the_front_of_its_text_and_fits(text: str, limit: int) -> None:
    front = head(text, limit=limit, unit=TextUnit.UTF16)
    assert text.startswith(front)
    assert limit < 4 or units(front, TextUnit.UTF16) <= limit
    assert front == text or len(front) > 0


def test_what_is_shown_at_the_end_is_the_front_of_the_reply() -> None:
    reply = "word " * 400
    front = head(reply, limit=500, unit=TextUnit.UTF16)
    assert reply.startswith(split(reply, limit=500, unit=TextUnit.UTF16)[0])
    assert reply.startswith(front)
