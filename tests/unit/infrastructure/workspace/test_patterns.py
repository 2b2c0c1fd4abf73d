import re
import time
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.workspace import BadPattern
from fermix.infrastructure.workspace.patterns import LineSearch, compile_glob

_NAME = st.text(alphabet="ab.", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
_PATH = st.lists(_NAME, min_size=1, max_size=4)
_PART = st.one_of(st.just("**"), st.text(alphabet="ab.*?", min_size=1, max_size=3)).filter(
    lambda part: part not in {".", ".."}
)


def _dull_match(pattern: list[str], path: list[str]) -> bool:
    """The plainest meaning of a pattern: `**` is any number of names, the rest is name by name."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_dull_match(pattern[1:], path[skipped:]) for skipped in range(len(path) + 1))
    return bool(path) and PurePosixPath(path[0]).match(pattern[0]) and _dull_match(pattern[1:], path[1:])


@given(pattern=st.lists(_PART, min_size=2, max_size=4), path=_PATH)
def test_a_pattern_means_what_the_plain_definition_says(pattern: list[str], path: list[str]) -> None:
    # pathlib takes `**` inside a name for a folder wildcard of its own.
    pattern = [part if part == "**" else part.replace("**", "*") for part in pattern]

    assert compile_glob("/".join(pattern))(path) == _dull_match(pattern, path)


@given(path=_PATH)
def test_a_pattern_without_a_slash_matches_the_last_name_at_any_depth(path: list[str]) -> None:
    assert compile_glob("a*")(path) == path[-1].startswith("a")
    assert compile_glob("./a*")(path) == (len(path) == 1 and path[0].startswith("a"))


@pytest.mark.parametrize("pattern", ["", "  ", "/etc/*", "~/x", "../*", "a/../../b", "x" * 300, ".", "./"])
def test_patterns_that_lead_out_or_mean_nothing_are_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_glob(pattern)


def test_no_pattern_takes_long() -> None:
    begin = time.perf_counter()

    assert not compile_glob("/".join(["**"] * 40 + ["*a" * 20]))(["a" * 250] * 64 + ["b"])
    assert not compile_glob("*a" * 100 + "b")(["a" * 255])

    assert time.perf_counter() - begin < 1


@given(
    text=st.text(alphabet="ab*.", min_size=1, max_size=6).filter(lambda text: text.strip("*")),
    line=st.text(alphabet="ab*.", max_size=12),
    wildcards=st.booleans(),
)
def test_a_line_is_found_when_the_same_regular_expression_finds_it(
    text: str, line: str, wildcards: bool
) -> None:
    search = LineSearch(text, ignore_case=False, wildcards=wildcards)
    pieces = [re.escape(piece) for piece in (text.split("*") if wildcards else [text])]

    found = search.find(line)

    assert (found is not None) == bool(re.search(".*".join(pieces), line))
    assert found is None or search.may_be_in(line)


def test_case_is_ignored_only_when_asked() -> None:
    assert LineSearch("straße", ignore_case=True, wildcards=False).find("Die STRASSE") == 4
    assert LineSearch("straße", ignore_case=False, wildcards=False).find("Die STRASSE") is None


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a\rb", "x" * 300])
def test_a_text_that_no_line_can_hold_is_refused(text: str) -> None:
    with pytest.raises(BadPattern):
        LineSearch(text, ignore_case=False, wildcards=False)


def test_wildcards_alone_are_refused() -> None:
    with pytest.raises(BadPattern):
        LineSearch("***", ignore_case=False, wildcards=True)
    assert LineSearch("***", ignore_case=False, wildcards=False).find("a *** b") == 2
