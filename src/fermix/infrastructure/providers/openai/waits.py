"""How long a provider asks us to wait, from headers or, failing those, from its words."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from fermix.infrastructure.providers.openai.foreign import JsonObject, as_list, as_object, as_text

_LONGEST = timedelta(days=7)
_EPOCH_SECONDS = 1_000_000_000
_EPOCH_MILLISECONDS = 1_000_000_000_000
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_WORDS = re.compile(
    r"(?i)(?:try again|retry)\s+(?:in|after)\s+(\d[\d.dhms]*)(?:\s*(seconds?|minutes?|hours?))?"
)
_WORD_UNITS = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1)}


def wait_asked_for(headers: Mapping[str, str], error: JsonObject, message: str) -> timedelta | None:
    """The wait before the next request.

    Args:
        headers: of the reply, names in lower case. Dates are read against the reply's own `date`, so that
            neither clock has to be right.
        error: the error object; OpenRouter repeats upstream headers in it, Google puts a delay there.
        message: the error's words.

    Returns:
        More than nothing and at most seven days, else `None`.
    """
    metadata = as_object(as_object(error.get("metadata")).get("headers"))
    upstream = {name.lower(): as_text(value) for name, value in metadata.items()}
    found = (
        _milliseconds(headers.get("retry-after-ms"))
        or _seconds_or_date(headers.get("retry-after"), headers.get("date"))
        or _resets(headers, headers.get("date"))
        or _resets(upstream, headers.get("date"))
        or _google_delay(error)
        or _in_words(message)
    )
    return found if found is not None and timedelta(0) < found <= _LONGEST else None


def _milliseconds(value: str | None) -> timedelta | None:
    number = _number(value)
    return None if number is None else _span(milliseconds=number)


def _seconds_or_date(value: str | None, date: str | None) -> timedelta | None:
    number = _number(value)
    if number is not None:
        return _span(seconds=number)
    moment, now = _moment(value), _moment(date)
    return None if moment is None or now is None else moment - now


def _resets(headers: Mapping[str, str], date: str | None) -> timedelta | None:
    """The reset of the limit that is used up; when no `remaining` header tells which, the latest one."""
    waits: list[timedelta] = []
    spent: list[timedelta] = []
    for name, value in headers.items():
        before, found, after = name.partition("ratelimit-reset")
        wait = _reset(value, date) if found else None
        if wait is None:
            continue
        waits.append(wait)
        if headers.get(f"{before}ratelimit-remaining{after}") == "0":
            spent.append(wait)
    return max(spent or waits, default=None)


def _reset(value: str, date: str | None) -> timedelta | None:
    number = _number(value)
    if number is None:
        return _duration(value)
    if number < _EPOCH_SECONDS:
        return _span(seconds=number)
    now = _moment(date)
    if now is None:
        return None
    seconds = number / 1000 if number >= _EPOCH_MILLISECONDS else number
    return _span(seconds=seconds - now.timestamp())


def _google_delay(error: JsonObject) -> timedelta | None:
    for detail in as_list(error.get("details")):
        delay = as_text(as_object(detail).get("retryDelay"))
        if delay:
            return _duration(delay)
    return None


def _in_words(message: str) -> timedelta | None:
    match = _WORDS.search(message)
    if match is None:
        return None
    amount, unit = match.group(1).rstrip("."), match.group(2)
    number = _number(amount)
    if number is None:
        return _duration(amount)
    return _span(seconds=number * _WORD_UNITS[unit[0].lower()].total_seconds()) if unit else None


def _duration(text: str) -> timedelta | None:
    match = _DURATION.fullmatch(text.strip())
    if match is None or not text.strip():
        return None
    days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return _span(
        seconds=((days * 24 + hours) * 60 + minutes) * 60 + seconds,
        milliseconds=milliseconds,
    )


def _span(*, seconds: float = 0, milliseconds: float = 0) -> timedelta | None:
    try:
        return timedelta(seconds=seconds, milliseconds=milliseconds)
    except OverflowError:
        return None


def _number(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if len(text) <= 32 and _NUMBER.fullmatch(text) else None


def _moment(value: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, TypeError):
        return None
    return moment if moment.tzinfo is not None else None
