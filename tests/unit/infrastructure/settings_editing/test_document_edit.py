"""One key changed in a text, and everything else as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.settings.document_edit import EditRefused, with_value, without_key
from fermix.infrastructure.settings.key_names import NamePath

DOCUMENT = """\
# who I am
[fermix_core.agent]   # the agent
name = "ada" # her name
max_iterations = 5

# Who may write.
[fermix_channels.telegram]
allowed_user_ids = [
    1001, # me
    1002,
]

[fermix_web]
port = 4030
"""


def test_a_value_is_replaced_in_its_place_with_its_comment() -> None:
    edited = with_value(DOCUMENT, ("fermix_core", "agent", "name"), "bob")
    assert edited == DOCUMENT.replace('"ada"', '"bob"')


def test_the_same_value_is_the_same_text() -> None:
    assert with_value(DOCUMENT, ("fermix_web", "port"), 4030) == DOCUMENT


def test_a_new_key_goes_to_the_end_of_its_table() -> None:
    edited = with_value(DOCUMENT, ("fermix_core", "agent", "max_concurrent_turns"), 3)
    assert edited == DOCUMENT.replace("iterations = 5\n", "iterations = 5\nmax_concurrent_turns = 3\n")


def test_a_new_table_goes_to_the_end() -> None:
    edited = with_value(DOCUMENT, ("fermix_core", "providers", "my own", "primary"), True)
    assert edited == f'{DOCUMENT}\n[fermix_core.providers."my own"]\nprimary = true\n'


def test_a_new_key_of_an_implied_table_gets_a_header() -> None:
    edited = with_value(DOCUMENT, ("fermix_core", "profile"), "home")
    assert edited == f'{DOCUMENT}\n[fermix_core]\nprofile = "home"\n'


def test_a_key_is_taken_out_alone() -> None:
    edited = without_key(DOCUMENT, ("fermix_core", "agent", "name"))
    assert edited == DOCUMENT.replace('name = "ada" # her name\n', "")


def test_a_key_that_is_not_there_cannot_be_taken_out() -> None:
    assert without_key(DOCUMENT, ("fermix_core", "queue", "max_waiting")) == DOCUMENT


def test_a_table_is_not_taken_out() -> None:
    with pytest.raises(EditRefused, match="is a table"):
        without_key(DOCUMENT, ("fermix_web",))


def test_a_key_below_a_value_is_refused() -> None:
    with pytest.raises(EditRefused, match=r"fermix_web\.port is a value"):
        with_value(DOCUMENT, ("fermix_web", "port", "number"), 1)


def test_an_empty_document_gets_its_first_key() -> None:
    assert with_value("", ("fermix_web", "port"), 1) == "[fermix_web]\nport = 1\n"


def test_a_missing_last_line_end_is_no_trouble() -> None:
    assert with_value("[a]\nx = 1", ("b", "y"), 2) == "[a]\nx = 1\n\n[b]\ny = 2\n"


def test_windows_line_ends_stay() -> None:
    text = DOCUMENT.replace("\n", "\r\n")
    edited = with_value(text, ("fermix_core", "agent", "max_concurrent_turns"), 3)
    assert edited.replace("\r\n", "\n") == with_value(
        DOCUMENT, ("fermix_core", "agent", "max_concurrent_turns"), 3
    )
    assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize(
    "document",
    [
        "a.b.x = 1\n",
        "a = { b = { x = 1 } } # inline\n",
        "[a]\nb = { x = 1 }\n",
        "[a]\nb.x = 1\n",
        "[a.b]\nx = 1\n[c]\nq = 1\n[a.d]\ny = 1\n",
        "[c]\nq = 1\n[a]\n[a.b]\nx = 1\n",
        "[a.b]\nx = 1\n\n[a]\nz = 1\n",
    ],
)
def test_every_way_to_write_a_table_can_be_edited(document: str) -> None:
    for path in [("a", "b", "x"), ("a", "b", "new"), ("a", "new"), ("new",), ("other", "new")]:
        wanted = tomllib.loads(document)
        put(wanted, path, "value")
        assert tomllib.loads(with_value(document, path, "value")) == wanted
    assert "b" not in tomllib.loads(without_key(document, ("a", "b", "x"))).get("a", {}) or (
        "x" not in tomllib.loads(without_key(document, ("a", "b", "x")))["a"]["b"]
    )


def put(table: dict[str, Any], path: NamePath, value: object) -> None:
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value


NAMES = st.sampled_from(["a", "b", "c", "d", '"e f"'])
SCALARS = st.sampled_from(
    ["1", "true", '"text # no comment"', "'it'", "1.5", "[1, 2]", '["x"]', '"""\nmore\n"""']
)
COMMENTS = st.sampled_from(["", "", " # why", " # 'quoted'", "  # é"])
LINES = st.sampled_from(["", "", "# a line of its own", "# [not.a.table]", "#x = 1"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Documents as people write them: tables of one or two names, in any order, with comments all over."""
    headers = draw(st.lists(st.tuples(NAMES) | st.tuples(NAMES, NAMES), unique=True, max_size=4))
    lines = draw(st.lists(LINES, max_size=2))
    for header in headers:
        lines.append(f"[{'.'.join(header)}]{draw(COMMENTS)}")
        for key in draw(st.lists(NAMES, unique=True, max_size=3)):
            lines.extend(draw(st.lists(LINES, max_size=1)))
            lines.append(f"{key} = {draw(SCALARS)}{draw(COMMENTS)}")
        lines.extend(draw(st.lists(LINES, max_size=2)))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def is_valid(document: str) -> bool:
    try:
        tomllib.loads(document)
    except tomllib.TOMLDecodeError:
        return False
    return True


PATHS = st.tuples(NAMES, NAMES, NAMES).map(lambda names: tuple(name.strip('"') for name in names))


@given(documents().filter(is_valid), PATHS, st.sampled_from([7, "new", ["y"], True]))
def test_setting_a_key_changes_that_key_and_no_comment(document: str, path: NamePath, value: object) -> None:
    before = tomllib.loads(document)
    wanted = tomllib.loads(document)
    try:
        put(wanted, path, value)
    except (TypeError, AttributeError):
        with pytest.raises(EditRefused):
            with_value(document, path, value)
        return
    edited = with_value(document, path, value)
    assert tomllib.loads(edited) == wanted
    removed = [line for line in document.splitlines() if line not in edited.splitlines()]
    if before == wanted:
        assert not [line for line in removed if line.startswith("#")]
    assert comments_of(document) <= comments_of(edited)


@given(documents().filter(is_valid), PATHS)
def test_taking_a_key_out_keeps_every_line_of_comment(document: str, path: NamePath) -> None:
    try:
        edited = without_key(document, path)
    except EditRefused:
        return
    after = tomllib.loads(edited)
    inner: Any = after
    for name in path:
        inner = inner.get(name) if isinstance(inner, dict) else None
    assert inner is None
    assert own_lines(document) == own_lines(edited)


def comments_of(document: str) -> set[str]:
    return {mark for mark in ("# why", "# 'quoted'", "# é") if f" {mark}" in document} | set(
        own_lines(document)
    )


def own_lines(document: str) -> list[str]:
    return [line for line in document.splitlines() if line.startswith("#")]
