import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.settings.positions import key_lines
from fermix.infrastructure.settings.problems import KeyPath

DOCUMENT = r'''# a comment with = and [brackets]
top = 1 # another
[table]
plain = "a # b"
"quoted \u0041 key" = 'c'
'single "quoted"' = 1

a.b . "c d" = 2
a.e = 3
multi = """
[not.a.table]
not_a_key = 1 \
"""
literal = QQQ
[also.not]
"""
QQQ
after = 1979-05-27 07:32:00Z
list = [
  1, # one ]
  "two]",
  [ 3, 4 ],
]
inline = { x = 1, y.z = [ { w = "}" } ], "q" = { } }

[[items]]
name = "first"
[items.inner]
k = 1
[[items.more]]
m = 1
[[items.more]]
m = 2

[[items]]
name = "second"
[items.inner]
k = 2
[x.y.z]
'''.replace("QQQ", "'" * 3)


def test_every_kind_of_key_is_found_on_its_line() -> None:
    lines = key_lines(DOCUMENT)
    assert lines["top",] == 2
    assert lines["table",] == 3
    assert lines["table", "quoted A key"] == 5
    assert lines["table", 'single "quoted"'] == 6
    assert lines["table", "a"] == 8
    assert lines["table", "a", "b", "c d"] == 8
    assert lines["table", "a", "e"] == 9
    assert lines["table", "multi"] == 10
    assert lines["table", "literal"] == 14
    assert lines["table", "after"] == 18
    assert lines["table", "list"] == 19
    assert lines["table", "list", 1] == 21
    assert lines["table", "list", 2, 1] == 22
    assert lines["table", "inline"] == lines["table", "inline", "y", "z", 0, "w"] == 24
    assert lines["items",] == lines["items", 0] == 26
    assert lines["items", 0, "inner", "k"] == 29
    assert lines["items", 0, "more", 1, "m"] == 33
    assert lines["items", 1, "name"] == 36
    assert lines["items", 1, "inner", "k"] == 38
    assert lines["x", "y"] == lines["x", "y", "z"] == 39
    assert set(lines) == set(_paths(tomllib.loads(DOCUMENT), ()))


def test_windows_line_ends_count_once() -> None:
    assert key_lines('[a]\r\nb = """\r\n\r\n"""\r\nc = 1\r\n')["a", "c"] == 5


def test_quotes_inside_multi_line_strings_do_not_end_them() -> None:
    document = 'a = """x""y\\""""""\nb = \'\'\'it\'\'s\'\'\'\'\'\nc = """"""\nd = \'\'\'\'\'\'\ne = 1\n'
    assert tomllib.loads(document).keys() == {"a", "b", "c", "d", "e"}
    assert key_lines(document) == {(key,): number for number, key in enumerate("abcde", start=1)}


NAMES = st.sampled_from(["a", "b-c", "d_1", '"e f"', "'g.h'", '"\\u00e9"', "5"])
BLANKS = st.sampled_from(["", "\n", "# [x] = '''\n", '\n\n  # """\n'])
SCALARS = st.sampled_from(
    [
        *("1", "0x1F", "1.5e3", "inf", "true", "2020-01-02 03:04:05.6", "07:32:00"),
        *('"x = 1 # ]"', "'}'", '""', "''", '"""\n[no]\nno = 1\n"""'),
        *("'''\n\"\"\"\n'''", '"""a\\\n   b"""', '"\\"]"'),
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ",\n ".join(items) + "]"),
        st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"k{i}.x = {item}" for i, item in enumerate(items)) + "}"
        ),
    ),
    max_leaves=5,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Text that mostly is TOML; what `tomllib` refuses is thrown away by the test."""
    text = draw(BLANKS)
    for _ in range(draw(st.integers(0, 6))):
        for _ in range(draw(st.integers(0, 3))):
            key = ".".join(draw(st.lists(NAMES, min_size=1, max_size=2)))
            text += f"{key} = {draw(VALUES)}\n{draw(BLANKS)}"
        header = " . ".join(draw(st.lists(NAMES, min_size=1, max_size=3)))
        text += draw(st.sampled_from([f"[{header}]\n", f"[[ {header} ]] # x\n"])) + draw(BLANKS)
    return text


@given(documents())
def test_the_scanner_finds_exactly_the_keys_that_the_parser_finds(document: str) -> None:
    try:
        table = tomllib.loads(document)
    except tomllib.TOMLDecodeError:
        return
    lines = key_lines(document)
    assert set(lines) == set(_paths(table, ()))
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1][:1] in document.splitlines()[line - 1].replace("\\u00e9", "é")


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    if path:
        yield path
    match value:
        case dict():
            for key, inner in value.items():
                yield from _paths(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from _paths(inner, (*path, index))
