"""Text with entities, cleaned and checked as Telegram does it before a message exists.

Offsets count UTF-16 code units. Source of the rules: https://core.telegram.org/bots/api#formatting-options and
the error texts of the live service. In two places this server is stricter than the live one, which quietly
mends what its own documentation forbids: entities that cross, and entities inside or around `code` and `pre`
(or a quote in a quote) are refused here, because a client that sends them has lost count.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from fermix.testing.servers.telegram_api.records import Json
from fermix.testing.servers.telegram_api.refusal import BadRequest

MAX_TEXT = 4096
"""UTF-16 units of one message's text, counted after cleaning."""

MAX_ENTITIES = 100
MAX_RAW_BYTES = 1 << 15

_STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
_CODE = frozenset({"code", "pre"})
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_FOUND_ALONE = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
)
_TYPES = _STYLES | _CODE | _QUOTES | _FOUND_ALONE | {"text_link", "text_mention", "custom_emoji"}


def units(text: str) -> int:
    """The length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def formatted(text: str, raw_entities: Any) -> tuple[str, tuple[Json, ...]]:
    """What the chat will show of a text that is not empty.

    Control characters become spaces, carriage returns go, space around the text goes (in front only up to the
    first entity), and entities follow.

    Raises:
        BadRequest: wrong entities, nothing left to show, or too much.
    """
    if len(text.encode()) > MAX_RAW_BYTES:
        raise BadRequest("text is too long")
    entities = _read(raw_entities)
    _check_bounds(text, entities)
    _check_nesting(entities)
    text, entities = _cleaned(text, entities)
    text, entities = _trimmed(text, entities)
    if not text:
        raise BadRequest("text must be non-empty")
    if units(text) > MAX_TEXT:
        raise BadRequest("message is too long")
    if len(entities) > MAX_ENTITIES:
        raise BadRequest("ENTITIES_TOO_LONG")
    return text, tuple(entities)


def _read(raw: Any) -> list[Json]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise BadRequest("can't parse entities: expected an Array")
    entities = [_entity(one) for one in raw]
    return sorted(entities, key=lambda one: (one["offset"], -one["length"]))


def _entity(raw: Any) -> Json:
    if not isinstance(raw, dict):
        raise BadRequest("can't parse MessageEntity: expected an Object")
    offset, length = _number(raw, "offset"), _number(raw, "length")
    if offset < 0 or length <= 0:
        raise BadRequest("can't parse MessageEntity: offset and length must be positive")
    kind = raw.get("type")
    if kind not in _TYPES:
        raise BadRequest("can't parse MessageEntity: Unsupported type specified")
    return {"type": kind, "offset": offset, "length": length, **_extra(kind, raw)}


def _number(raw: Json, name: str) -> int:
    if name not in raw:
        raise BadRequest(f"can't parse MessageEntity: Can't find field \"{name}\"")
    value = raw[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequest(f'can\'t parse MessageEntity: Field "{name}" must be of type Number')
    return value


def _extra(kind: str, raw: Json) -> Json:
    """What some kinds need besides their place."""
    match kind:
        case "text_link":
            return {"url": _link(raw.get("url"))}
        case "pre" if raw.get("language"):
            return {"language": str(raw["language"])}
        case "text_mention":
            return {"user": _user(raw.get("user"))}
        case "custom_emoji":
            return {"custom_emoji_id": _emoji(raw.get("custom_emoji_id"))}
        case _:
            return {}


def _link(url: Any) -> str:
    if not isinstance(url, str):
        raise BadRequest("can't parse MessageEntity: Can't find field \"url\"")
    try:
        parts = urlsplit(url if "://" in url or url.startswith("tg:") else f"http://{url}")
        host = parts.hostname or ""
    except ValueError:
        raise BadRequest(f"entity URL '{url}' is invalid: Wrong HTTP URL") from None
    if parts.scheme == "tg":
        return url
    if parts.scheme not in {"http", "https"}:
        raise BadRequest(f"entity URL '{url}' is invalid: Unsupported URL protocol")
    if "." not in host.strip(".") or any(letter.isspace() for letter in url):
        raise BadRequest(f"entity URL '{url}' is invalid: Wrong HTTP URL")
    return url


def _user(user: Any) -> Json:
    if not isinstance(user, dict) or not isinstance(user.get("id"), int):
        raise BadRequest("user not found")
    return user


def _emoji(number: Any) -> str:
    if not str(number).isdigit():
        raise BadRequest('can\'t parse MessageEntity: Field "custom_emoji_id" must be a valid Number')
    return str(number)


def _check_bounds(text: str, entities: Sequence[Json]) -> None:
    """Begin and end inside the text, and not between the halves of one character."""
    if not entities:
        return
    starts = [0, *accumulate(units(letter) for letter in text)]
    bytes_before = dict(zip(starts, [0, *accumulate(len(letter.encode()) for letter in text)], strict=True))
    total = starts[-1]
    for entity in entities:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        if begin >= total:
            raise BadRequest(f"entity begins after the end of the text at UTF-16 offset {begin}")
        if begin not in bytes_before:
            at = bytes_before[begin - 1]
            raise BadRequest(f"entity begins in a middle of a UTF-16 symbol at byte offset {at}")
        if end > total:
            raise BadRequest(
                f"entity beginning at UTF-16 offset {begin} ends after the end of the text at UTF-16 offset {end}"
            )
        if end not in bytes_before:
            at = bytes_before[end - 1]
            raise BadRequest(
                f"entity beginning at UTF-16 offset {begin} ends in a middle of a UTF-16 symbol "
                f"at byte offset {at}"
            )


def _check_nesting(entities: Sequence[Json]) -> None:
    open_ones: list[Json] = []
    for entity in entities:
        begin = entity["offset"]
        open_ones = [one for one in open_ones if _end(one) > begin]
        for outer in open_ones:
            if _end(entity) > _end(outer):
                raise BadRequest(f"can't parse entities: entities cross at UTF-16 offset {begin}")
            _check_pair(outer["type"], entity["type"], begin)
        open_ones.append(entity)


def _check_pair(outer: str, inner: str, at: int) -> None:
    both = {outer, inner}
    if both <= _QUOTES or (both & _CODE and not both & _QUOTES) or outer in _CODE:
        raise BadRequest(f"can't parse entities: {inner} can't be inside {outer} at UTF-16 offset {at}")


def _end(entity: Json) -> int:
    return int(entity["offset"]) + int(entity["length"])


def _cleaned(text: str, entities: Sequence[Json]) -> tuple[str, list[Json]]:
    gone = [0, *accumulate(int(letter == "\r") for letter in text for _ in range(units(letter)))]
    clean = "".join(
        " " if ord(letter) < 32 and letter != "\n" else letter for letter in text if letter != "\r"
    )
    moved = []
    for entity in entities:
        begin = entity["offset"] - gone[entity["offset"]]
        length = _end(entity) - gone[_end(entity)] - begin
        if length > 0:
            moved.append({**entity, "offset": begin, "length": length})
    return clean, moved


def _trimmed(text: str, entities: Sequence[Json]) -> tuple[str, list[Json]]:
    text = text.rstrip(" \n")
    total = units(text)
    first = entities[0]["offset"] if entities else total
    lead = 0
    while lead < min(first, len(text)) and text[lead] in " \n":
        lead += 1
    kept = []
    for entity in entities:
        begin, end = entity["offset"], min(_end(entity), total)
        if end > begin:
            kept.append({**entity, "offset": begin - lead, "length": end - begin})
    return text[lead:], kept
