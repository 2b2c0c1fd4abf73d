"""Whom a chat's id names: a phone number, a user without one, or a group. And whose number an id is."""

import re

from fermix.domain.phone_numbers import digits_of

_DIGITS = re.compile(r"[0-9]{4,17}")
_UUID = re.compile(r"(?:PNI:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def number_of(written: str) -> str | None:
    """A phone number as signal-cli wants it, `+` and digits; `None` for any other id."""
    digits = digits_of(written.strip())
    return f"+{digits}" if _DIGITS.fullmatch(digits) else None


def is_uuid(written: str) -> bool:
    """Whether it is the id of a user of Signal's."""
    return _UUID.fullmatch(written) is not None


def recipient_field(chat: str) -> dict[str, object]:
    """The parameter that says whom a request is for. Ids of groups are what is neither number nor user."""
    if (number := number_of(chat)) is not None:
        return {"recipient": [number]}
    return {"recipient": [chat]} if is_uuid(chat) else {"groupId": chat}
