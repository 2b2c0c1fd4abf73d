"""The block machine: where text is cut, when pieces leave, and what is left for the reply."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.splitting import TextUnit, code_blocks
from fermix.domain.streaming.block import (
    IDLE,
    MAX_PIECES,
    MAX_THOUGHTS,
    WINDOW,
    BlockLimits,
    BlockMachine,
    SendBlock,
    Unsent,
)
from fermix.domain.streaming.draft import WRITE_EVERY
from fermix.domain.streaming.heard import BeganAnew, Heard, ItemDone, Missed, Thought, Wrote
from fermix.domain.streaming.thoughts import thought_line

START = datetime(2026, 1, 1, tzinfo=UTC)
ANY = BlockLimits(text=None, unit=TextUnit.CODE_POINTS)


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


def machine(*events: Heard) -> BlockMachine:
    made = BlockMachine(limits=ANY)
    for event in events:
        made.hear(event, START)
    return made


def all_of(blocks: BlockMachine, *, start: float = 0) -> list[str]:
    """What it hands out within a second after a second, without anything more being heard."""
    found: list[str] = []
    for number in range(50):
        block = blocks.next_block(second(start + number))
        if block is None:
            break
        blocks.committed()
        found.append(block.text)
    return found


@pytest.mark.requirement("streaming.block.chunks")
def test_a_growing_text_is_cut_at_a_blank_line_from_eight_hundred_characters_on() -> None:
    text = "a" * 400 + "\n\n" + "b" * 398 + "\n\n" + "c" * 100
    blocks = machine(Wrote(text=text))
    assert blocks.due(START) == START
    assert all_of(blocks)[:1] == ["a" * 400 + "\n\n" + "b" * 398]


@pytest.mark.requirement("streaming.block.chunks")
def test_a_blank_line_that_comes_too_early_or_too_late_is_no_place() -> None:
    assert machine(Wrote(text="a" * 790 + "\n\n" + "b" * 300)).next_block(START) is None
    text = "a" * 500 + "\n" + "b" * 690 + "\n" + "c" * 100
    assert machine(Wrote(text=text)).next_block(START) == SendBlock(text="a" * 500 + "\n" + "b" * 690)
    assert machine(Wrote(text="x" * 1300)).next_block(START) == SendBlock(text="x" * WINDOW)


def test_a_paragraph_over_the_window_is_cut_between_words() -> None:
    written = machine(Wrote(text="sentence " * 150))
    block = written.next_block(START)
    assert block is not None
    assert set(block.text.split()) == {"sentence"}
    rest = written.end("sentence " * 150).text
    assert rest is not None
    assert f"{block.text} {rest}".split() == ["sentence"] * 150


@pytest.mark.requirement("streaming.block.chunks")
def test_what_waits_for_a_second_without_news_goes_out_whatever_its_size() -> None:
    blocks = machine(Wrote(text="Let me look."))
    assert blocks.due(START) == START + IDLE
    assert blocks.next_block(second(0.999)) is None
    assert blocks.next_block(second(1)) == SendBlock(text="Let me look.")


def test_an_open_code_block_is_never_parted() -> None:
    fenced = "```py\n" + "line\n" * 400
    blocks = machine(Wrote(text="Here:\n" + fenced))
    assert blocks.next_block(START) == SendBlock(text="Here:")
    blocks.committed()
    assert blocks.due(second(5)) is None
    blocks.hear(Wrote(text="```\nDone."), second(5))
    assert blocks.next_block(second(5)) == SendBlock(text=(fenced + "```"))


def test_a_code_block_over_the_channels_cap_is_split_for_it() -> None:
    blocks = BlockMachine(limits=BlockLimits(text=1000, unit=TextUnit.CODE_POINTS))
    blocks.hear(Wrote(text="```py\n" + "line\n" * 400 + "```\n"), START)
    blocks.hear(ItemDone(), START)
    pieces = all_of(blocks)
    assert len(pieces) == 3
    assert all(
        len(piece) <= 1000 and piece.startswith("```py\n") and piece.endswith("```") for piece in pieces
    )
    assert blocks.end("```py\n" + "line\n" * 400 + "```\n") == Unsent(text="")


def test_a_finished_item_goes_out_at_once_and_the_next_step_begins_from_nothing() -> None:
    blocks = machine(Wrote(text="I look."), ItemDone())
    assert blocks.next_block(START) == SendBlock(text="I look.")
    blocks.committed()
    blocks.hear(BeganAnew(), second(2))
    blocks.hear(Wrote(text="I look again."), second(2))
    assert blocks.next_block(second(3)) == SendBlock(text="I look again.")


def test_finished_items_are_sent_however_quickly_the_next_step_follows() -> None:
    blocks = machine()
    for text in ("I look.", "I look again.", "I look once more."):
        for event in (BeganAnew(), Wrote(text=text), ItemDone()):
            blocks.hear(event, START)
    blocks.hear(BeganAnew(), START)
    blocks.hear(Wrote(text="Nothing."), START)
    assert blocks.next_block(START) == SendBlock(text="I look.")
    blocks.committed()
    assert blocks.end("Nothing.") == Unsent(blocks=("I look again.", "I look once more."))


def test_an_item_that_could_not_be_committed_keeps_its_place() -> None:
    blocks = machine(Wrote(text="I look."), ItemDone())
    block = blocks.next_block(START)
    assert block is not None
    blocks.hear(BeganAnew(), START)
    blocks.failed(block)
    blocks.hear(Wrote(text="Nothing."), second(1))
    assert blocks.next_block(second(2)) == block
    blocks.committed()
    assert blocks.end("Nothing.") == Unsent()


def test_only_so_much_waits_and_the_rest_of_an_answer_is_left_to_the_reply() -> None:
    text = "\n\n".join("x" * 900 for _ in range(2 * MAX_PIECES))
    blocks = machine(Wrote(text=text), ItemDone())
    unsent = blocks.end(text)
    assert len(unsent.blocks) == MAX_PIECES
    assert unsent.text is not None
    assert "\n\n".join([*unsent.blocks, unsent.text]) == text


def test_a_long_finished_item_leaves_in_pieces_of_at_most_twelve_hundred_once_a_second() -> None:
    text = "\n".join(f"line {number}" for number in range(400))
    blocks = machine(Wrote(text=text), ItemDone())
    first = blocks.next_block(START)
    assert first is not None
    assert blocks.next_block(second(0.9)) is None
    pieces = [first.text, *all_of(blocks, start=1)]
    assert all(len(piece) <= WINDOW for piece in pieces)
    assert "\n".join(pieces) == text


def test_thoughts_go_first_one_at_a_time_and_only_so_many_wait() -> None:
    blocks = machine(Wrote(text="text"), ItemDone(), *[Thought(text="t")] * (MAX_THOUGHTS + 5))
    found = all_of(blocks)
    assert found == ["💭 t"] * MAX_THOUGHTS + ["text"]
    dropped = machine(Thought(text="t"))
    thought = dropped.next_block(START)
    assert thought is not None
    dropped.failed(thought)
    assert dropped.next_block(second(2)) is None


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        ("**Looking around**\n\nFirst …\n\n**Reading** \nthen", "💭 Looking around · Reading"),
        ("\n  plain words " + "x" * 100, "💭 plain words " + "x" * 68),
        ("a **bold** word", "💭 a **bold** word"),
        (" \n", None),
    ],
)
def test_a_thought_is_one_line(summary: str, line: str | None) -> None:
    assert thought_line(summary) == line


def test_a_text_that_begins_anew_within_its_step_is_waited_for_until_it_has_regrown() -> None:
    blocks = machine(Wrote(text="The first words."))
    assert blocks.next_block(second(1)) is not None
    blocks.committed()
    blocks.hear(BeganAnew(), second(2))
    for piece in ("The first", " words.", " And more."):
        blocks.hear(Wrote(text=piece), second(2))
    assert blocks.next_block(second(3)) == SendBlock(text=" And more.")
    assert blocks.end("The first words. And more.") == Unsent(text="")


def test_a_text_that_comes_back_as_another_one_is_sent_from_its_beginning() -> None:
    blocks = machine(Wrote(text="The first words."))
    assert blocks.next_block(second(1)) is not None
    blocks.committed()
    blocks.hear(BeganAnew(), second(2))
    blocks.hear(Wrote(text="Other words."), second(2))
    assert blocks.next_block(second(3)) == SendBlock(text="Other words.")
    assert blocks.end("Third words.") == Unsent()


def test_the_reply_holds_what_was_not_sent() -> None:
    untouched = machine(Wrote(text="all of it"))
    assert untouched.end("all of it") == Unsent()
    partly = machine(Wrote(text="first. "))
    assert partly.next_block(second(1)) is not None
    partly.hear(Wrote(text="second."), second(1))
    assert partly.end("first. second.") == Unsent(text="second.")


def test_after_a_gap_the_rest_is_left_to_the_reply() -> None:
    blocks = machine(Wrote(text="first. "), Missed(), Wrote(text="third."))
    assert blocks.next_block(second(5)) is None
    assert blocks.end("first. second. third.") == Unsent()


def test_two_failures_leave_everything_to_the_reply() -> None:
    blocks = machine(Wrote(text="words"))
    for number in (1, 2):
        block = blocks.next_block(second(number))
        assert block is not None
        blocks.failed(block)
    assert blocks.next_block(second(9)) is None
    assert blocks.end("words and more") == Unsent(blocks=("words",), text=" and more")


def test_a_very_long_code_block_is_not_read_anew_with_every_piece() -> None:
    blocks = machine(Wrote(text="```py\n"))
    began = time.process_time()
    for _ in range(20_000):
        blocks.hear(Wrote(text="line\n"), START)
        assert blocks.due(START) is None
    assert time.process_time() - began < 5
    blocks.hear(Wrote(text="```\n"), START)
    assert blocks.due(START) == START


@dataclass
class Watched:
    """A machine, and the text of its step as far as it is known."""

    machine: BlockMachine
    now: datetime = START
    times: list[datetime] = field(default_factory=list)
    step: str = ""
    sent: list[str] = field(default_factory=list)


_letters = st.text(alphabet=st.sampled_from("ab \n`"), max_size=500)
_steps = st.one_of(
    _letters.map(lambda text: ("write", text)),
    st.sampled_from(["```\n", "\n```\n", "\n\n", "x" * 900]).map(lambda text: ("write", text)),
    st.just(("done", "")),
    st.integers(0, 1500).map(lambda ms: ("pass", ms)),
)


@given(steps=st.lists(_steps, max_size=40), tail=_letters)
def test_blocks_and_the_rest_are_the_whole_text_once(steps: list[tuple[str, object]], tail: str) -> None:
    watched = Watched(machine=BlockMachine(limits=ANY))
    for step in steps:
        match step:
            case ("write", str(text)):
                watched.step += text
                watched.machine.hear(Wrote(text=text), watched.now)
            case ("done", _):
                watched.machine.hear(ItemDone(), watched.now)
            case ("pass", int(milliseconds)):
                watched.now += timedelta(milliseconds=milliseconds)
        due = watched.machine.due(watched.now)
        block = watched.machine.next_block(watched.now)
        assert (block is not None) == (due == watched.now)
        if block is None:
            continue
        watched.machine.committed()
        assert block.text.strip()
        assert all(end is not None for _, end in code_blocks(block.text)), "no code block is left open"
        assert len(block.text) <= WINDOW or code_blocks(block.text), "only code may be longer"
        assert not watched.times or watched.now - watched.times[-1] >= WRITE_EVERY
        watched.times.append(watched.now)
        watched.sent.append(block.text)
    final = watched.step + tail
    rest = watched.machine.end(final)
    whole = "".join([*watched.sent, *rest.blocks, final if rest.text is None else rest.text])
    assert whole.split() == final.split() or "".join(whole.split()) == "".join(final.split())
