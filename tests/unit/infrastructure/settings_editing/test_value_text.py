"""Values as they are typed, shown and written."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from fermix.infrastructure.settings.key_names import ValueKind
from fermix.infrastructure.settings.value_text import MASK, UnreadableValue, plain, read_value, toml_text

TEXTS = st.text()
VALUES = st.recursive(
    st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ValueKind.TEXT, "4030", "4030"),
        (ValueKind.TEXT, '"quoted"', '"quoted"'),
        (ValueKind.SECRET, "sk-1", "sk-1"),
        (ValueKind.SWITCH, "true", True),
        (ValueKind.WHOLE, "4_030", 4030),
        (ValueKind.NUMBER, "3", 3),
        (ValueKind.NUMBER, "0.5", 0.5),
        (ValueKind.LIST, '["a", 2]', ["a", 2]),
        (ValueKind.SECRETS, '{ A = "b" }', {"A": "b"}),
    ],
)
def test_a_value_is_read_by_what_its_key_takes(kind: ValueKind, text: str, value: object) -> None:
    read = read_value(kind, text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ValueKind.SWITCH, "yes"),
        (ValueKind.SWITCH, "1"),
        (ValueKind.WHOLE, "true"),
        (ValueKind.WHOLE, "4.5"),
        (ValueKind.WHOLE, "1\nother = 2"),
        (ValueKind.WHOLE, "9" * 5000),
        (ValueKind.NUMBER, "nan"),
        (ValueKind.NUMBER, "inf"),
        (ValueKind.LIST, "a,b"),
        (ValueKind.LIST, "[" * 5000),
        (ValueKind.SECRETS, "A=b"),
        (ValueKind.SECTION, "{}"),
        (ValueKind.TEXT, "caf\udce9"),
        (ValueKind.SECRET, "sk-\udce9"),
        (ValueKind.LIST, '["\udce9"]'),
    ],
)
def test_what_is_no_value_of_its_kind_is_refused_without_repeating_it(kind: ValueKind, text: str) -> None:
    with pytest.raises(UnreadableValue) as caught:
        read_value(kind, text)
    assert text not in str(caught.value).split(", such as")[0] or len(text) < 3


@given(VALUES)
def test_a_written_value_reads_back(value: object) -> None:
    text = toml_text(value)
    assert "\n" not in text
    assert tomllib.loads(f"value = {text}")["value"] == value


def test_secrets_are_masked_wherever_they_are() -> None:
    held = {"a": SecretStr("s3cret"), "b": (SecretStr("s3cret"), Path("/x"))}
    assert plain(held) == {"a": MASK, "b": [MASK, "/x"]}
    assert plain(held, reveal=True) == {"a": "s3cret", "b": ["s3cret", "/x"]}
