"""How one log record looks: one line, and marked lines below it for a traceback."""

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from typing_extensions import override

from fermix.infrastructure.telemetry.redaction import Redactor, redact

MAX_RECORD_BYTES = 16_384
"""A record takes no more than this in a log, its traceback included."""

_MAX_LINE_BYTES = 6_144
_MAX_TRACEBACK_BYTES = 9_216
_BELOW = "\n    | "
_PLAIN = re.compile(r"[\w./:@+\-]+", re.ASCII)
_SECRET_FIELD = re.compile(r"(?:^|_)(?:token|secret|password|passphrase|credential|cookie|api_?key)$")


class LineFormatter(logging.Formatter):
    """A formatter for records that an intake prepared.

    A line is `time level logger event field=value …`; times are UTC. Every text in it is redacted and its control
    characters are escaped, so that what a sender wrote can neither leak nor pass for a line of its own.
    """

    @override
    def format(self, record: logging.LogRecord) -> str:
        given: Mapping[str, Any] = record.__dict__
        redactors: tuple[Redactor, ...] = given["log_redactors"]
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        level = record.levelname.lower()
        head = f"{time}Z {level:<8} {escape(record.name)} {_shown(record.getMessage(), redactors)}"
        fields: Mapping[str, object] = given["log_fields"]
        line = " ".join([head, *(_field(name, value, redactors) for name, value in fields.items())])
        # Once more over the whole: a secret may lie across the seam of two fields.
        line = _head(redact(line, redactors, shapes=False), _MAX_LINE_BYTES)
        trace: str = given["log_trace"]
        if not trace:
            return line
        below = _BELOW.join(escape(part) for part in redact(trace, redactors).split("\n"))
        return line + _BELOW + _middle_out(below, _MAX_TRACEBACK_BYTES)


def escape(text: str) -> str:
    """`text` with line breaks, control, direction and other invisible characters written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _shown(text: str, redactors: tuple[Redactor, ...]) -> str:
    return escape(redact(text, redactors))


def _field(name: str, value: object, redactors: tuple[Redactor, ...]) -> str:
    if _SECRET_FIELD.search(name.lower()) and isinstance(value, str):
        return f"{escape(name)}=[REDACTED:field]"
    if not isinstance(value, str):
        return f"{escape(name)}={value}"
    text = redact(value, redactors)
    if not _PLAIN.fullmatch(text):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        text = f'"{escape(quoted)}"'
    return f"{escape(name)}={text}"


def _head(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - 4].decode(errors="ignore") + "…"


def _middle_out(text: str, limit: int) -> str:
    """The beginning and, more of it, the end of a traceback: there stands the error."""
    data = text.encode()
    if len(data) <= limit:
        return text
    first, last = (
        data[: limit // 4].decode(errors="ignore"),
        data[-(limit * 5 // 8) :].decode(errors="ignore"),
    )
    return f"{first}{_BELOW}… {len(data) - limit} bytes or more left out …{_BELOW}{last}"
