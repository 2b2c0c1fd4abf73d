"""The checker of histories finds what it is there to find, told on histories made by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.admissions import WindowOpened
from fermix.domain import wording
from fermix.domain.delivery import REPEAT_MARK
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.domain.ids import ChatId, Generation, PartId, TurnId
from fermix.domain.incoming_media import MediaResult, Transcribed
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.histories import History, Promise, check
from fermix.testing.history.events import (
    Acted,
    Begun,
    Claimed,
    Died,
    Drafted,
    Event,
    Fate,
    GivenUp,
    Heard,
    Label,
    Left,
    Made,
    Prepared,
    Retried,
    Said,
    Shown,
    StopWords,
)

CHAT = ChatId("owner")


def said(index: int) -> Said:
    return Said(index=index, key=f"m{index}", chat=CHAT, address=CHAT)


def claimed(
    turn: int,
    *indexes: int,
    generation: int | None = None,
    drafts: tuple[str, ...] = (),
    media: tuple[MediaResult, ...] = (),
) -> Claimed:
    return Claimed(
        turn=TurnId(turn),
        generation=Generation(generation or turn),
        chat=CHAT,
        keys=tuple(f"m{index}" for index in indexes),
        media=(media,) * len(indexes),
        drafts=drafts,
    )


WORDS = Transcribed(text="words")


def file_sent(index: int) -> Said:
    return replace(said(index), media=1)


def begun(index: int) -> Begun:
    return Begun(key=f"m{index}", position=0)


def made(index: int, result: MediaResult = WORDS) -> Made:
    return Made(key=f"m{index}", position=0, result=result)


def prepared(index: int) -> Prepared:
    return Prepared(key=f"m{index}", position=0)


def left(turn: int) -> Left:
    return Left(turn=TurnId(turn), generation=Generation(turn))


def acted(turn: int, generation: int) -> Acted:
    return Acted(turn=TurnId(turn), generation=Generation(generation), repeat=Repeat.UNSAFE)


def words(kind: str, turn: int, number: int = 0, of: int = 1, *, generation: int | None = None) -> str:
    label = Label(
        kind=kind, turn=TurnId(turn), generation=Generation(generation or turn), number=number, of=of
    )
    return label.text


def shown(part: int, turn: int | None, text: str, ordinal: int = 0, *, marked: bool = False) -> Shown:
    return Shown(
        part=PartId(part),
        turn=None if turn is None else TurnId(turn),
        ordinal=ordinal,
        chat=CHAT,
        text=f"{REPEAT_MARK}\n{text}" if marked else text,
    )


def stopped(*, running: tuple[int, ...] = (), waiting: tuple[int, ...] = ()) -> str:
    named = StopWords(
        running=frozenset(TurnId(turn) for turn in running),
        waiting=frozenset(TurnId(turn) for turn in waiting),
    )
    return named.text


def fate(
    turn: int, outcome: Outcome | None = Outcome.COMPLETED, state: TurnState = TurnState.SETTLED
) -> Fate:
    return Fate(turn=TurnId(turn), state=state, outcome=outcome)


def asked(*indexes: int) -> list[HistoryEntry]:
    return [UserEntry(text=f"asked m{index}") for index in indexes]


def answered(turn: int) -> AssistantEntry:
    return AssistantEntry(text=words("answer", turn))


def history(events: list[Event], fates: Mapping[str, Fate], entries: list[HistoryEntry]) -> History:
    return History(seed=0, events=tuple(events), fates=fates, remembered={CHAT: tuple(entries)})


TWO_ANSWERS = history(
    [
        said(0),
        said(1),
        claimed(1, 0),
        left(1),
        shown(1, 1, words("answer", 1, 0, 2), 0),
        Died(power_cut=False),
        shown(2, 1, words("answer", 1, 1, 2), 1),
        shown(2, 1, words("answer", 1, 1, 2), 1, marked=True),
        claimed(2, 1),
        acted(2, 2),
        left(2),
        shown(3, 2, words("answer", 2)),
    ],
    {"m0": fate(1), "m1": fate(2)},
    [*asked(0), answered(1), *asked(1), answered(2)],
)
"""Two messages, both answered, with a death and a marked repeat between."""


def broken(found: History) -> set[Promise]:
    return {violation.promise for violation in check(found)}


def test_a_history_without_fault_breaks_nothing() -> None:
    assert check(TWO_ANSWERS) == ()


def without(event: Event) -> History:
    return replace(TWO_ANSWERS, events=tuple(each for each in TWO_ANSWERS.events if each != event))


def with_more(*events: Event) -> History:
    return replace(TWO_ANSWERS, events=(*TWO_ANSWERS.events, *events))


def with_fate(key: str, changed: Fate) -> History:
    return replace(TWO_ANSWERS, fates={**TWO_ANSWERS.fates, key: changed})


def with_entries(*entries: HistoryEntry) -> History:
    return replace(TWO_ANSWERS, remembered={CHAT: entries})


FAULTS: list[tuple[str, Promise, History]] = [
    ("a message the ledger does not know", Promise.NOTHING_LOST, with_more(said(2))),
    ("something waits for ever", Promise.NOTHING_LOST, replace(TWO_ANSWERS, at_rest=False)),
    ("left behind", Promise.NOTHING_LOST, with_fate("m1", fate(2, None, TurnState.QUEUED))),
    ("half an answer", Promise.ONE_ENDING, without(shown(1, 1, words("answer", 1, 0, 2), 0))),
    ("no answer", Promise.ONE_ENDING, without(shown(3, 2, words("answer", 2)))),
    ("answered and cut off", Promise.ONE_ENDING, with_more(shown(4, 2, wording.CUT_OFF, 1))),
    ("answered and interrupted", Promise.ONE_ENDING, with_fate("m1", fate(2, Outcome.INTERRUPTED))),
    (
        "answered by two claims",
        Promise.ONE_ENDING,
        with_more(shown(4, 2, words("answer", 2, generation=3), 1)),
    ),
    ("acted twice", Promise.EFFECTS_ONCE, with_more(claimed(2, 1, generation=3), acted(2, 3))),
    (
        "acted twice, the first claim lost with the power",
        Promise.EFFECTS_ONCE,
        with_more(Died(power_cut=True), claimed(2, 1), acted(2, 2)),
    ),
    (
        "answered by two turns",
        Promise.ONE_ENDING,
        with_more(claimed(5, 1), left(5), shown(8, 5, words("answer", 5), 1)),
    ),
    (
        "a block of text by two claims",
        Promise.EFFECTS_ONCE,
        with_more(
            shown(4, 2, words("block", 2, generation=2), 1),
            claimed(2, 1, generation=3),
            shown(5, 2, words("block", 2, generation=3), 2),
        ),
    ),
    (
        "an older turn starts late",
        Promise.ORDER_KEPT,
        with_more(said(2), said(3), claimed(4, 3), claimed(3, 2)),
    ),
    ("an older part is shown late", Promise.ORDER_KEPT, with_more(shown(9, 1, "block", 2))),
    (
        "parts of one turn out of order",
        Promise.ORDER_KEPT,
        with_more(shown(8, 2, "b", 2), shown(9, 2, "a", 1)),
    ),
    ("a part shown again", Promise.REPEATS_MARKED, with_more(shown(3, 2, words("answer", 2)))),
    ("its words as another part", Promise.REPEATS_MARKED, with_more(shown(4, 2, words("answer", 2), 1))),
    (
        "an answer not remembered",
        Promise.ANSWERS_REMEMBERED,
        with_entries(*asked(0), answered(1), *asked(1)),
    ),
    (
        "an answer remembered twice",
        Promise.ANSWERS_REMEMBERED,
        with_entries(*asked(0), answered(1), *asked(1), answered(2), answered(2)),
    ),
    (
        "an answer before its question",
        Promise.ANSWERS_REMEMBERED,
        with_entries(*asked(0), answered(1), answered(2), *asked(1)),
    ),
    ("two at a time", Promise.ONE_ACTIVE_TURN, with_more(claimed(3, 1), claimed(4, 1))),
    (
        "a draft forgotten",
        Promise.DRAFTS_ADOPTED,
        with_more(Drafted(turn=TurnId(3), draft="d"), claimed(3, 1)),
    ),
    ("a turn without its file", Promise.MEDIA_READY, with_more(file_sent(2), claimed(3, 2))),
    (
        "a turn with what its file never became",
        Promise.MEDIA_READY,
        with_more(file_sent(2), made(2), claimed(3, 2, media=(Transcribed(text="other words"),))),
    ),
    (
        "a file prepared twice",
        Promise.PREPARED_ONCE,
        with_more(file_sent(2), begun(2), made(2), prepared(2), Died(power_cut=False), begun(2)),
    ),
    ("a file tried too often", Promise.PREPARED_ONCE, with_more(file_sent(2), *[begun(2)] * 4)),
]


@pytest.mark.parametrize(
    ("promise", "found"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS]
)
def test_a_fault_is_found(promise: Promise, found: History) -> None:
    assert promise in broken(found)


def ended(outcome: Outcome, *events: Event) -> History:
    return history([said(0), claimed(1, 0), left(1), *events], {"m0": fate(1, outcome)}, [])


def waited(*events: Event) -> History:
    return history([said(0), *events], {"m0": fate(1, Outcome.CANCELLED)}, [])


KNOWN: list[tuple[str, History]] = [
    ("refused", ended(Outcome.REJECTED)),
    ("failed and told", ended(Outcome.FAILED, shown(1, 1, words("apology", 1)))),
    ("failed and given up", ended(Outcome.FAILED, shown(1, 1, wording.TRIED_TOO_OFTEN))),
    (
        "told in vain",
        ended(Outcome.FAILED, GivenUp(part=PartId(1), turn=TurnId(1), text=words("apology", 1))),
    ),
    ("cut off", ended(Outcome.INTERRUPTED, shown(1, 1, wording.CUT_OFF))),
    ("a guest asked again", ended(Outcome.INTERRUPTED, shown(1, 1, wording.ASK_AGAIN))),
    ("paused and discarded", ended(Outcome.INTERRUPTED, shown(1, None, wording.PAUSED))),
    ("stopped", ended(Outcome.INTERRUPTED, shown(1, None, stopped(running=(1,))))),
    ("cancelled", waited(shown(1, None, stopped(waiting=(1,))))),
    (
        "said as a command",
        waited(Heard(turn=TurnId(1), key="m0#spoken"), shown(1, None, f"m0#spoken: {WindowOpened.__name__}")),
    ),
]


@pytest.mark.parametrize("found", [each[1] for each in KNOWN], ids=[each[0] for each in KNOWN])
def test_an_ending_that_is_known_breaks_nothing(found: History) -> None:
    assert check(found) == ()


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.INTERRUPTED])
def test_an_ending_nobody_was_told_is_found(outcome: Outcome) -> None:
    assert broken(ended(outcome)) == {Promise.ONE_ENDING}


def test_a_message_cancelled_without_a_stop_is_found() -> None:
    assert broken(waited()) == {Promise.ONE_ENDING}
    assert broken(waited(shown(1, None, stopped(waiting=(2,))))) == {Promise.ONE_ENDING}
    assert broken(waited(Heard(turn=TurnId(1), key="m0#spoken"))) == {Promise.ONE_ENDING}


def test_a_refused_sender_who_is_told_something_is_found() -> None:
    assert Promise.ONE_ENDING in broken(ended(Outcome.REJECTED, shown(1, 1, wording.CUT_OFF)))


def test_what_the_owner_has_run_again_may_act_again() -> None:
    assert Promise.EFFECTS_ONCE not in broken(with_more(Retried(), claimed(2, 1, generation=3), acted(2, 3)))


def test_a_power_cut_and_an_owner_may_have_a_file_prepared_again() -> None:
    done: list[Event] = [file_sent(2), *[begun(2)] * 3, made(2), prepared(2)]
    for why in (Died(power_cut=True), Retried()):
        assert Promise.PREPARED_ONCE not in broken(with_more(*done, why, *[begun(2)] * 3))


def test_a_power_cut_may_take_a_draft_with_it() -> None:
    drafted: list[Event] = [Drafted(turn=TurnId(3), draft="d"), Died(power_cut=True), claimed(3, 1)]
    assert Promise.DRAFTS_ADOPTED not in broken(with_more(*drafted))


@given(
    kind=st.sampled_from(["answer", "block", "apology"]),
    turn=st.integers(0, 10**9),
    generation=st.integers(0, 10**9),
    number=st.integers(0, 99),
    of=st.integers(1, 99),
)
def test_a_label_reads_back(kind: str, turn: int, generation: int, number: int, of: int) -> None:
    label = Label(kind=kind, turn=TurnId(turn), generation=Generation(generation), number=number, of=of)
    assert Label.read(label.text) == label
    assert Label.read(f"{REPEAT_MARK}\n{label.text}") is None


@given(running=st.sets(st.integers(1, 99)), waiting=st.sets(st.integers(1, 99)))
def test_the_words_of_a_stop_read_back(running: set[int], waiting: set[int]) -> None:
    assert StopWords.read(stopped(running=tuple(running), waiting=tuple(waiting))) == StopWords(
        running=frozenset(TurnId(turn) for turn in running),
        waiting=frozenset(TurnId(turn) for turn in waiting),
    )
