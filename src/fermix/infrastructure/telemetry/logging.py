"""The log: what any library says in this process, redacted, through one queue, to a file and a terminal."""

import logging
import logging.handlers
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from typing_extensions import override

from fermix.infrastructure.telemetry.intake import Intake, Writer, open_logs
from fermix.infrastructure.telemetry.lines import LineFormatter
from fermix.infrastructure.telemetry.redaction import Redactor

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A log on disk: the newest lines in `path`, older ones in `path.1` and so on, all of mode 0600.

    Attributes:
        max_bytes: size at which a new file is begun.
        kept: older files that are kept.
    """

    path: Path
    max_bytes: int = 10 * 1024 * 1024
    kept: int = 5


@contextmanager
def logging_to(
    *,
    redactor: Redactor,
    level: LogLevel = "info",
    file: LogFile | None = None,
    console: TextIO | None = None,
) -> Generator[None]:
    """Write the log while the context lasts; afterwards everything is as it was before.

    Libraries log to the one root logger of the process, so that is where the log listens. Of several homes open
    in one process each gets its own records: a record belongs to the log whose context it was made in, which tasks
    and threads inherit. One that belongs to none (a library's own thread) goes to all. Whatever is written is
    redacted with the secrets of every open log, because such a record may hold anybody's.

    Logging never waits: a full queue drops records and says how many. Only leaving the context waits until what is
    queued is written.

    Args:
        redactor: the secrets; more may be registered while the log is open.
        level: of our own records. From other libraries come warnings, at `debug` their information too.
        file: where to keep it.
        console: where to show it.

    Raises:
        OSError: the file cannot be opened.
    """
    root = logging.getLogger()
    earlier = open_logs()
    intake = Intake(
        threshold=_LEVELS[level],
        redactor=redactor,
        level_found=earlier[0].level_found if earlier else root.level,
    )
    with ExitStack() as stack:
        sinks: list[logging.Handler] = []
        if file is not None:
            sinks.append(stack.enter_context(closing(_PrivateFile(file, intake.count_unwritten))))
        if console is not None:
            sinks.append(_Console(console, intake.count_unwritten))
        for sink in sinks:
            sink.setFormatter(LineFormatter())
        writer = Writer(intake, *sinks)
        writer.start()
        stack.callback(writer.finish)
        root.addHandler(intake)
        stack.callback(_remove, intake)
        _set_root_level()
        stack.callback(intake.leave, intake.enter())
        yield


def _remove(intake: Intake) -> None:
    logging.getLogger().removeHandler(intake)
    if open_logs():
        _set_root_level()
    else:
        logging.getLogger().setLevel(intake.level_found)


def _set_root_level() -> None:
    logging.getLogger().setLevel(min(log.threshold for log in open_logs()))


class _PrivateFile(logging.handlers.RotatingFileHandler):
    def __init__(self, file: LogFile, on_error: Callable[[], None]) -> None:
        file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._on_error = on_error
        super().__init__(file.path, maxBytes=file.max_bytes, backupCount=file.kept, encoding="utf-8")

    @override
    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.baseFilename, flags, 0o600)
        os.fchmod(handle, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8")

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        self._on_error()


class _Console(logging.StreamHandler[TextIO]):
    def __init__(self, stream: TextIO, on_error: Callable[[], None]) -> None:
        self._on_error = on_error
        super().__init__(stream)

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        self._on_error()
