"""Cutting a conversation to a model's window."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.history import (
    AssistantEntry,
    CallRecord,
    HistoryEntry,
    MarkerEntry,
    ToolEntry,
    UserEntry,
    cut_to_budget,
)


def calling(*call_ids: str) -> AssistantEntry:
    return AssistantEntry(
        text="", calls=tuple(CallRecord(call_id=i, name="look", arguments="{}") for i in call_ids)
    )


def result(call_id: str) -> ToolEntry:
    return ToolEntry(call_id=call_id, name="look", text="found")


@st.composite
def exchanges(draw: st.DrawFn) -> list[HistoryEntry]:
    """A request or a note, steps with their calls and results, and perhaps an answer."""
    opening: HistoryEntry = draw(
        st.builds(UserEntry, text=st.text(max_size=5)) | st.builds(MarkerEntry, text=st.text(max_size=5))
    )
    entries = [opening]
    for width in draw(st.lists(st.integers(1, 3), max_size=3)):
        numbers = [f"c{draw(st.integers(0, 999))}-{i}" for i in range(width)]
        entries += [calling(*numbers), *(result(number) for number in numbers)]
    if draw(st.booleans()):
        entries.append(AssistantEntry(text=draw(st.text(max_size=5))))
    return entries


histories = st.lists(exchanges(), max_size=6).map(lambda parts: [entry for part in parts for entry in part])
leftovers = st.lists(st.just(AssistantEntry(text="hello")) | st.just(result("gone")), max_size=2)
budgets = st.integers(-5, 60)


def measure(entry: HistoryEntry) -> int:
    return 1 + len(entry.text)


def total(entries: tuple[HistoryEntry, ...] | list[HistoryEntry]) -> int:
    return sum(measure(entry) for entry in entries)


def starts(entries: list[HistoryEntry]) -> list[int]:
    return [i for i, entry in enumerate(entries) if isinstance(entry, UserEntry | MarkerEntry)]


@given(entries=histories, budget=budgets)
def test_no_call_is_parted_from_its_result(entries: list[HistoryEntry], budget: int) -> None:
    open_calls: list[str] = []
    for entry in cut_to_budget(entries, budget=budget, measure=measure):
        if isinstance(entry, ToolEntry):
            assert open_calls.pop(0) == entry.call_id
            continue
        assert not open_calls
        if isinstance(entry, AssistantEntry):
            open_calls = [call.call_id for call in entry.calls]
    assert not open_calls


@given(before=leftovers, entries=histories, budget=budgets)
def test_what_is_kept_is_the_end_of_the_history_from_the_start_of_an_exchange(
    before: list[HistoryEntry], entries: list[HistoryEntry], budget: int
) -> None:
    whole = [*before, *entries]
    kept = cut_to_budget(whole, budget=budget, measure=measure)
    assert list(kept) == whole[len(whole) - len(kept) :]
    if starts(whole):
        assert isinstance(kept[0], UserEntry | MarkerEntry)
    else:
        assert list(kept) == whole


@given(entries=histories, budget=budgets)
def test_the_last_exchange_is_always_kept_whole(entries: list[HistoryEntry], budget: int) -> None:
    kept = cut_to_budget(entries, budget=budget, measure=measure)
    last = entries[starts(entries)[-1] :] if entries else []
    assert list(kept[len(kept) - len(last) :]) == last


@given(entries=histories, budget=budgets)
def test_as_many_exchanges_are_kept_as_fit(entries: list[HistoryEntry], budget: int) -> None:
    kept = cut_to_budget(entries, budget=budget, measure=measure)
    choices = [entries[start:] for start in starts(entries)]
    fitting = [choice for choice in choices if total(choice) <= budget]
    expected = max(fitting, key=len) if fitting else (choices[-1] if choices else [])
    assert list(kept) == expected


@given(entries=histories, budget=budgets, more=st.integers(0, 20))
def test_a_larger_budget_never_keeps_less(entries: list[HistoryEntry], budget: int, more: int) -> None:
    small = cut_to_budget(entries, budget=budget, measure=measure)
    large = cut_to_budget(entries, budget=budget + more, measure=measure)
    assert len(small) <= len(large)


@given(entries=histories, budget=budgets)
def test_cutting_what_was_cut_changes_nothing(entries: list[HistoryEntry], budget: int) -> None:
    once = cut_to_budget(entries, budget=budget, measure=measure)
    assert cut_to_budget(once, budget=budget, measure=measure) == once


@given(entries=histories)
def test_a_budget_of_the_whole_keeps_the_whole(entries: list[HistoryEntry]) -> None:
    assert list(cut_to_budget(entries, budget=total(entries), measure=measure)) == entries


def test_every_budget_leaves_parallel_calls_with_their_results() -> None:
    entries: list[HistoryEntry] = [
        UserEntry(text="look twice"),
        calling("a", "b"),
        result("a"),
        result("b"),
        AssistantEntry(text="seen"),
        UserEntry(text="thanks"),
        AssistantEntry(text="welcome"),
    ]
    lengths = {len(cut_to_budget(entries, budget=b, measure=measure)) for b in range(-1, 80)}
    assert lengths == {2, 7}


def test_a_history_without_a_request_is_left_alone() -> None:
    entries: list[HistoryEntry] = [AssistantEntry(text="hello"), AssistantEntry(text="again")]
    assert list(cut_to_budget(entries, budget=0, measure=measure)) == entries
    assert cut_to_budget([], budget=0, measure=measure) == ()


def test_each_entry_is_weighed_at_most_once() -> None:
    entries: list[HistoryEntry] = [UserEntry(text=str(i)) for i in range(200)]
    weighed: list[HistoryEntry] = []

    def scales(entry: HistoryEntry) -> int:
        weighed.append(entry)
        return measure(entry)

    cut_to_budget(entries, budget=10**6, measure=scales)
    assert len(weighed) == len(entries)
    assert list(accumulate(1 for _ in weighed))[-1] == 200
