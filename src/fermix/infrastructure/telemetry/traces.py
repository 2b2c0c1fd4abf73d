"""Traces: every event as one line of JSON, in one folder per UTC day, written by one thread."""

import logging
import os
import re
import stat
import threading
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import orjson

from fermix.domain.telemetry_fields import SESSION, EventKind, FieldKind, TraceFile
from fermix.infrastructure.telemetry.intake import open_logs
from fermix.infrastructure.telemetry.redaction import Redactor, redact

MAX_WAITING = 10_000
"""Events that may wait to be written; more are dropped and counted."""

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A day's file takes no more than this; what comes after is counted as unwritten."""

REPORT_EVERY = timedelta(minutes=1)

_GATHER_SECONDS = 0.2
"""Events are written in batches: a thread that woke for each would keep taking the interpreter from the loop."""

_FINISH_SECONDS = 5.0
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_CLEAN = 2000
_DIGITS_OF_A_SECOND = 6

_log = logging.getLogger("fermix.telemetry")

Waiting: TypeAlias = tuple[datetime, EventKind, tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFolder:
    """Where traces lie, and for how many days a day's folder stays after its day."""

    path: Path
    keep_days: int


class TraceWriter:
    """Takes events from the event loop and writes them elsewhere. At debug level the log gets them too.

    What cannot be written (a full disk) is lost and counted; the log says how much, at most once a minute.

    Attributes:
        dropped: events lost because too many waited.
        unwritten: events lost because they could not be written.
    """

    def __init__(self, folder: TraceFolder, redactor: Redactor) -> None:
        self.dropped = 0
        self.unwritten = 0
        self._folder = folder
        self._words = _Words(redactor)
        self._waiting: deque[Waiting] = deque()
        self._news = threading.Event()
        self._closing = threading.Event()
        self._told = (0, 0)
        self._told_at: datetime | None = None
        self._swept: date | None = None

    def put(self, at: datetime, kind: EventKind, values: tuple[object, ...]) -> None:
        """Take one event; never waits."""
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.append((at, kind, values))
        if not self._news.is_set():
            self._news.set()

    def run(self) -> None:
        """Write until told to end; for a thread of its own."""
        while not self._closing.is_set():
            self._news.wait()
            self._closing.wait(_GATHER_SECONDS)
            self._news.clear()
            self._write()
        self._write()
        self._report(None)

    def end(self) -> None:
        """Write what waits, then no more."""
        self._closing.set()
        self._news.set()

    def _write(self) -> None:
        batches: dict[tuple[date, TraceFile], list[bytes]] = {}
        self._words.look_again()
        at: datetime | None = None
        while self._waiting:
            at, kind, values = self._waiting.popleft()
            told = self._told_fields(kind, values)
            batches.setdefault((at.date(), kind.trace), []).append(_line(at, kind, told))
            if _log.isEnabledFor(logging.DEBUG):
                _log.debug(kind.name, extra=_as_in_the_log(told))
        for (day, trace), lines in batches.items():
            self._append(day, trace, lines)
        if at is not None:
            self._report(at)

    def _told_fields(self, kind: EventKind, values: tuple[object, ...]) -> dict[str, object]:
        told: dict[str, object] = {}
        for spec, value in zip(kind.fields, values, strict=True):
            match value:
                case None:
                    continue
                case str() if spec.kind is FieldKind.NAME:
                    told[spec.name] = self._words.clean(value)
                case float():
                    told[spec.name] = round(value, _DIGITS_OF_A_SECOND)
                case _:
                    told[spec.name] = value
        return told

    def _append(self, day: date, trace: TraceFile, lines: list[bytes]) -> None:
        folder = self._folder.path / day.isoformat()
        try:
            if day != self._swept:
                self._make(folder)
                self._swept = day
                _sweep(self._folder, today=day)
            _append(folder / f"{trace}.jsonl", b"".join(lines))
        except OSError:
            self._swept = None
            self.unwritten += len(lines)

    def _make(self, folder: Path) -> None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)

    def _report(self, at: datetime | None) -> None:
        now = (self.dropped, self.unwritten)
        if now == self._told:
            return
        if at is not None and self._told_at is not None and at - self._told_at < REPORT_EVERY:
            return
        dropped, unwritten = now[0] - self._told[0], now[1] - self._told[1]
        self._told, self._told_at = now, at
        _log.warning("traces.lost", extra={"dropped": dropped, "unwritten": unwritten})


class _Words:
    """Names as they may be written: without secrets, and encodable. They are few, so each is looked at once."""

    def __init__(self, redactor: Redactor) -> None:
        self._own = redactor
        self._redactors: tuple[Redactor, ...] = (redactor,)
        self._known_of: list[tuple[int, int]] = []
        self._clean: dict[str, str] = {}

    def look_again(self) -> None:
        """Forget what was looked at before another secret became known."""
        self._redactors = (self._own, *(log.redactor for log in open_logs()))
        known_of = [(id(redactor), redactor.hidden) for redactor in self._redactors]
        if known_of != self._known_of or len(self._clean) > _MAX_CLEAN:
            self._known_of = known_of
            self._clean.clear()

    def clean(self, text: str) -> str:
        found = self._clean.get(text)
        if found is None:
            found = redact(text.encode(errors="replace").decode(), self._redactors)
            self._clean[text] = found
        return found


@contextmanager
def writing_traces(folder: TraceFolder, redactor: Redactor) -> Generator[TraceWriter]:
    """A writer whose thread runs while the context lasts; leaving it waits, for a while, until all is written.

    Args:
        folder: where to; made when the first event is written.
        redactor: the secrets of the home; those of every open log are left out too.
    """
    writer = TraceWriter(folder, redactor)
    # The thread logs, and a log takes what comes from its own context.
    thread = threading.Thread(target=copy_context().run, args=(writer.run,), name="traces", daemon=True)
    thread.start()
    try:
        yield writer
    finally:
        writer.end()
        thread.join(_FINISH_SECONDS)


def _as_in_the_log(told: dict[str, object]) -> dict[str, object]:
    """The fields with the turn as every other line of the log names it."""
    session = told.pop("session_id", None)
    return told if session is None else {**told, "turn": str(session).removeprefix(SESSION)}


def _line(at: datetime, kind: EventKind, told: Mapping[str, object]) -> bytes:
    written = {"at": at.isoformat(timespec="milliseconds"), "event": kind.name, **told}
    return orjson.dumps(written, option=orjson.OPT_APPEND_NEWLINE)


def _append(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size + len(data) > MAX_FILE_BYTES:
            raise OSError("the file takes no more")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(handle, 0o600)
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def _sweep(folder: TraceFolder, *, today: date) -> None:
    """Remove the folders of days that are over for long enough, and in them only what traces are made of."""
    oldest = today - timedelta(days=folder.keep_days)
    for day in _days(folder.path):
        if date.fromisoformat(day.name) < oldest:
            try:
                for trace in TraceFile:
                    (day / f"{trace}.jsonl").unlink(missing_ok=True)
                day.rmdir()
            except OSError as exc:
                _log.warning("traces.not_removed", extra={"day": day.name, "cause": exc.strerror})


def _days(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()):
        if _DAY.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and _is_date(path.name):
            yield path


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
