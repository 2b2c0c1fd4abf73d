"""A call's parameters, from whichever of the four places the Bot API takes them.

They come in the query, as a form, as multipart or as one JSON object, and mean the same: text. The real server
turns values of a JSON body into text and reads numbers and objects from that, so `"5"` is as good as `5` and a
list may come as a list or as its JSON. Names it does not know it ignores.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from fermix.testing.servers.multipart import BadForm, FormPart, parts_of
from fermix.testing.servers.telegram_api.refusal import BadRequest

_WHOLE = re.compile(r"-?\d+", re.ASCII)


class Parameters:
    """Reads parameters as the methods need them, and refuses what the real server refuses."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def text(self, name: str) -> str:
        """The parameter as text, empty when absent.

        Raises:
            BadRequest: it is no Unicode text (half a surrogate pair).
        """
        value = self.values.get(name)
        if value is None:
            return ""
        text = value if isinstance(value, str) else json.dumps(value)
        if not _is_unicode(text):
            raise BadRequest("strings must be encoded in UTF-8")
        return text

    def whole(self, name: str, default: int = 0) -> int:
        """A lenient number: what cannot be read is 0, what is absent the default."""
        text = self.text(name).strip()
        if not text:
            return default
        return int(text) if _WHOLE.fullmatch(text) else 0

    def flag(self, name: str) -> bool:
        """Whether it says yes; anything else is no."""
        return self.text(name).strip().lower() in {"true", "yes", "1"}

    def structure(self, name: str, what: str) -> Any:
        """An object or list, `None` when absent.

        Raises:
            BadRequest: it is text that is no JSON.
        """
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise BadRequest(f"can't parse {what} JSON object") from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parameters_of(query: str, content_type: str, body: bytes) -> Parameters:
    """The parameters of one request; those of the body win over those of the query.

    Raises:
        BadRequest: the body is not what its content type says.
    """
    values: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        values.update(_from_json(body))
    elif kind == "application/x-www-form-urlencoded":
        values.update(_from_form(body))
    elif kind == "multipart/form-data":
        values.update(_from_multipart(content_type, body))
    elif body:
        raise BadRequest("can't parse request: unsupported content type")
    return Parameters(values)


def _from_json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body or b"{}")
    except ValueError:
        raise BadRequest("can't parse JSON encoded request") from None
    if not isinstance(values, dict):
        raise BadRequest("can't parse JSON encoded request: object expected")
    return values


def _from_form(body: bytes) -> dict[str, Any]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise BadRequest("can't parse request: wrong form encoding") from None


class UploadedFile(dict[str, Any]):
    """A file in a request: as it is recorded, its name, type and size; its bytes beside that."""

    def __init__(self, name: str, mime_type: str, content: bytes) -> None:
        super().__init__(file=name, type=mime_type, bytes=len(content))
        self.content = content


def _from_multipart(content_type: str, body: bytes) -> dict[str, Any]:
    try:
        return {part.name: _value(part) for part in parts_of(content_type, body)}
    except BadForm as bad:
        raise BadRequest(f"can't parse request: {bad}") from None


def _value(part: FormPart) -> Any:
    if part.file_name is None:
        return part.text
    return UploadedFile(unquote(part.file_name), part.mime_type, part.content)
