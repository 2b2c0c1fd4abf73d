import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.tools.arguments import Arguments, BadArgument

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(value=_JSON)
def test_whatever_a_model_writes_is_read_or_named(value: object) -> None:
    given_arguments = Arguments(given={"it": value})
    for read in (
        lambda: given_arguments.text("it"),
        lambda: given_arguments.optional_number("it", least=0),
        lambda: given_arguments.flag("it"),
    ):
        try:
            read()
        except BadArgument as exc:
            said = str(exc)
        else:
            continue
        assert "`it`" in said
        assert said.endswith(".")


def test_numbers_are_whole_and_large_enough() -> None:
    given_arguments = Arguments(given={"a": 3.0, "b": 2.5, "c": True, "d": "4", "e": 0})

    assert given_arguments.optional_number("a", least=1) == 3
    assert given_arguments.optional_number("missing", least=1) is None
    for name, says in (("b", "a number"), ("c", "true or false"), ("d", "a text"), ("e", "at least 1")):
        with pytest.raises(BadArgument, match=says):
            given_arguments.optional_number(name, least=1)


def test_null_is_absent() -> None:
    given_arguments = Arguments(given={"a": None})

    assert given_arguments.optional_text("a") is None
    assert given_arguments.flag("a") is False
    with pytest.raises(BadArgument, match="`a` is missing"):
        given_arguments.text("a")


def test_an_argument_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(BadArgument, match=r"no argument 'file_path'; there are: path, limit\."):
        Arguments(given={"file_path": 1}).only("path", "limit")
