"""What a provider says is shown short, on one line, and without any piece of the key."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.providers.openai.redaction import MAX_DETAIL, redacted, safe_detail

KEY = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)


@given(st.text(), KEY, st.text(), st.integers(0, 60))
def test_no_eight_characters_of_the_key_survive(before: str, key: str, after: str, kept: int) -> None:
    shown = safe_detail(before + key[: max(kept, 8)] + after + key, secrets=[key]) or ""

    assert not any(key[start : start + 8] in shown for start in range(len(key) - 7))


@given(st.text(max_size=3000))
def test_a_detail_is_one_short_line_that_can_be_shown(text: str) -> None:
    shown = safe_detail(text)

    assert shown is None or (shown.strip() and shown.isprintable() and len(shown) <= MAX_DETAIL)


def test_a_key_with_invisible_characters_between_is_found() -> None:
    assert redacted("key s3cr\u200be\x00t-abc", secrets=["s3cret-abc"]) == "key ***"


def test_what_has_the_shape_of_a_key_is_masked_though_nobody_told() -> None:
    assert redacted("got sk-proj-abc***xyz and Bearer abcdefgh") == "got *** and ***"


def test_words_that_are_no_secret_stay() -> None:
    assert redacted("model x is gone", secrets=["x", "", "EMPTY"]) == "model x is gone"


def test_a_short_key_is_masked_whole() -> None:
    assert redacted("the key EMPTY is bad", secrets=["EMPTY"]) == "the key *** is bad"
