"""Whom a chat's id names: a phone number, a user by the id that a business knows them by, or a group."""

import re

_PHONE = re.compile(r"[0-9]{1,32}")
_USER = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")


def is_phone(chat: str) -> bool:
    """Whether it is the digits of a phone number."""
    return _PHONE.fullmatch(chat) is not None


def is_group(chat: str) -> bool:
    """Whether it is neither a number nor a user: ids of groups have no shape that is documented."""
    return not is_phone(chat) and _USER.fullmatch(chat) is None


def recipient(chat: str) -> dict[str, str]:
    """The fields of a request that say whom it is for."""
    if is_phone(chat):
        return {"recipient_type": "individual", "to": chat}
    if is_group(chat):
        return {"recipient_type": "group", "to": chat}
    return {"recipient_type": "individual", "recipient": chat}
