"""The wait that a provider asks for, from all the places where providers write it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.providers.openai.foreign import JsonObject
from fermix.infrastructure.providers.openai.waits import wait_asked_for

DATE = "Mon, 30 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT", "date": DATE}, 90),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT", "date": DATE}, None),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        (
            {
                "x-ratelimit-reset-requests": "8.64s",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-requests": "9",
                "x-ratelimit-remaining-tokens": "0",
            },
            0.02,
        ),
        ({"x-ratelimit-reset": "1796040030000", "date": DATE}, 30),
        ({"x-ratelimit-reset": "1796040030", "date": DATE}, 30),
        ({"x-ratelimit-reset": "1796040030"}, None),
        ({"ratelimit-reset": "12"}, 12),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 300}, None),
        ({"retry-after": "99999999"}, None),
        ({}, None),
    ],
)
def test_headers_are_read_as_their_providers_mean_them(
    headers: dict[str, str], seconds: float | None
) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)

    assert wait_asked_for(headers, {}, "") == expected


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 20s. Visit our pages.", 20),
        ("Please try again in 6m0s.", 360),
        ("please retry after 5 seconds", 5),
        ("Try again in 2 minutes", 120),
        ("try again in 350ms", 0.35),
        ("try again later", None),
        ("try again in 5", None),
    ],
)
def test_without_headers_the_words_count(message: str, seconds: float | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)

    assert wait_asked_for({}, {}, message) == expected


def test_a_delay_inside_the_error_object_counts() -> None:
    assert wait_asked_for({}, {"details": [3, {"retryDelay": "34s"}]}, "") == timedelta(seconds=34)
    upstream: JsonObject = {"metadata": {"headers": {"X-RateLimit-Reset": "1796040030000"}}}
    assert wait_asked_for({"date": DATE}, upstream, "") == timedelta(seconds=30)


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-reset", "date", "retry-after-ms"]), st.text()
    )
)
def test_no_header_whatsoever_breaks_the_reading(headers: dict[str, str]) -> None:
    wait = wait_asked_for(headers, {}, headers.get("date", ""))

    assert wait is None or timedelta(0) < wait <= timedelta(days=7)
