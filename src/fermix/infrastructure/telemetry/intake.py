"""The two ends of the log's queue: records are caught in any thread and written by one."""

import copy
import logging
import logging.handlers
import queue
import traceback
from collections.abc import Mapping
from contextvars import ContextVar

from typing_extensions import override

from fermix.application.ports.telemetry import turn_spoken_of
from fermix.infrastructure.telemetry.redaction import MARGIN, SCANNED, Redactor

MAX_WAITING = 4096
"""Records that may wait to be written; more are dropped and counted."""

MAX_WAITING_CHARACTERS = 8 * 1024 * 1024
"""Characters that may wait to be written."""

_FLUSH_SECONDS = 5.0
_RECORDS_BETWEEN_REPORTS = 100  # a closed terminal loses every record: that is told once in a while
_MAX_FRAMES = 50
_LONGEST_TEXT = SCANNED + MARGIN
_OURS = "fermix"
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    "fields",
    "trace",
}

_writing_for: ContextVar["Intake | None"] = ContextVar("fermix_log", default=None)


class Intake(logging.handlers.QueueHandler):
    """Catches the records of one home and queues them; it never waits.

    Attributes:
        threshold: the least level of our own records that is kept. Of other libraries warnings are kept, and at
            `DEBUG` also what they call information.
        redactor: the home's secrets.
        level_found: the root logger's level before any log was open.
        dropped: records lost because too many waited.
        unwritten: records that could not be written, for a full disk or a closed terminal.
    """

    def __init__(self, *, threshold: int, redactor: Redactor, level_found: int) -> None:
        self.waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(MAX_WAITING)
        super().__init__(self.waiting)
        self.threshold = threshold
        self.redactor = redactor
        self.level_found = level_found
        self.dropped = 0
        self.unwritten = 0
        self._characters = 0
        self.addFilter(self._wanted)

    def enter(self) -> "Intake | None":
        """Make this the log of the running task and of all that it starts; gives what `leave` needs."""
        before = _writing_for.get()
        _writing_for.set(self)
        return before

    def leave(self, before: "Intake | None") -> None:
        """Undo `enter`."""
        _writing_for.set(before)

    def taken(self, record: logging.LogRecord) -> None:
        """Tell that `record` no longer waits."""
        self.acquire()
        try:
            self._characters -= _size(record)
        finally:
            self.release()

    @override
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """A copy that shares nothing with its caller: only texts, numbers and nothing that can change."""
        flat = copy.copy(record)
        flat.msg = _message(record)[:_LONGEST_TEXT]
        flat.args = None
        # Whose secrets are hidden is settled here: a log may have closed by the time this is written.
        redactors = (self.redactor, *(log.redactor for log in open_logs() if log is not self))
        flat.__dict__.update(log_fields=_fields(record), log_trace=_trace(record), log_redactors=redactors)
        flat.exc_info = flat.exc_text = flat.stack_info = None
        return flat

    @override
    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue it, or count it as dropped."""
        size = _size(record)
        if self._characters + size > MAX_WAITING_CHARACTERS:
            self.dropped += 1
            return
        try:
            self.waiting.put_nowait(record)
        except queue.Full:
            self.dropped += 1
        else:
            self._characters += size

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """Count it: the library's own way prints the record, secrets included, to standard error."""
        self.count_unwritten()

    def count_unwritten(self) -> None:
        """One more record could not be written."""
        self.unwritten += 1

    def _wanted(self, record: logging.LogRecord) -> bool:
        if _writing_for.get() not in (None, self):
            return False
        if record.name.partition(".")[0] == _OURS:
            return record.levelno >= self.threshold
        return record.levelno >= (logging.INFO if self.threshold <= logging.DEBUG else logging.WARNING)


class Writer(logging.handlers.QueueListener):
    """The one thread that formats and writes what an intake queued."""

    def __init__(self, intake: Intake, *sinks: logging.Handler) -> None:
        super().__init__(intake.waiting, *sinks)
        self._intake = intake
        self._told = (0, 0)
        self._until_told = 0

    @override
    def handle(self, record: logging.LogRecord) -> None:
        """Write one record, and before it now and then what was lost."""
        self._intake.taken(record)
        self._until_told -= 1
        if self._until_told <= 0:
            self.report_losses()
        super().handle(record)

    def report_losses(self) -> None:
        """Write how many records were dropped or could not be written, if that changed."""
        now = (self._intake.dropped, self._intake.unwritten)
        if now == self._told:
            return
        dropped, unwritten = now[0] - self._told[0], now[1] - self._told[1]
        self._told, self._until_told = now, _RECORDS_BETWEEN_REPORTS
        lost = logging.LogRecord("fermix.log", logging.WARNING, "", 0, "log.lost", None, None)
        lost.__dict__.update(
            log_fields={"dropped": dropped, "unwritten": unwritten}, log_trace="", log_redactors=()
        )
        super().handle(lost)

    def finish(self) -> None:
        """Write what waits, then end the thread; afterwards nothing is written any more.

        A thread that a hanging disk or terminal holds is left to end with the process.
        """
        try:
            self._intake.waiting.put(None, timeout=_FLUSH_SECONDS)
        except queue.Full:
            return
        thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join(_FLUSH_SECONDS)
        if not thread.is_alive():
            self.report_losses()


def open_logs() -> list[Intake]:
    """The intakes that listen now, the first opened first."""
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, Intake)]


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        return f"{record.msg} (its arguments do not fit)"


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    """What the record tells besides its message; a line that is logged in a turn names it."""
    fields = {name: _flat(value) for name, value in record.__dict__.items() if name not in _STANDARD}
    turn = turn_spoken_of()
    return fields if turn is None or "turn" in fields else {"turn": turn, **fields}


def _flat(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:_LONGEST_TEXT]


def _trace(record: logging.LogRecord) -> str:
    parts: list[str] = []
    if record.exc_info and record.exc_info[0] is not None:
        parts.extend(traceback.format_exception(*record.exc_info, limit=-_MAX_FRAMES))
    if record.stack_info:
        parts.append(record.stack_info)
    return "".join(parts)[:_LONGEST_TEXT].rstrip()


def _size(record: logging.LogRecord) -> int:
    fields: Mapping[str, object] = record.__dict__["log_fields"]
    trace: str = record.__dict__["log_trace"]
    return len(record.msg) + len(trace) + sum(len(str(value)) for value in fields.values())
