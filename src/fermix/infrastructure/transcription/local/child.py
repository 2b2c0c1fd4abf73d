"""The program of the process that listens: `python -m fermix.infrastructure.transcription.local.child`.

Its standard input brings one JSON line, `{"model": FOLDER, "longest": SECONDS, "memory": BYTES}`, then for each
recording a line `{"size": N}` and that many bytes. Its standard output answers the first line with
`{"ready": true}`, each recording with `{"text": …, "language": …, "doubtful": …}`, and either with
`{"error": KIND, "detail": …}`; KIND is `package_missing`, `load_failed`, `no_audio`, `too_long` or `failed`.

It ends when its standard input does, in the middle of whatever it is doing. A recording lies in a file without a
name, which goes with the process, however that ends.
"""

import json
import os
import queue
import resource
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO

_MAX_LINE_BYTES = 65_536
_PIECE_BYTES = 65_536
_PARENT_LOOK_SECONDS = 2.0
_MAX_THREADS = 4


def main() -> NoReturn:
    """Listen until nobody asks any more."""
    parent = os.getppid()
    tempfile.tempdir = _scratch()
    answers = _take_stdout()
    orders = os.fdopen(os.dup(0), "rb")
    order = _line(orders)
    if order is None:
        os._exit(0)
    _limit_memory(int(order["memory"]))
    recordings: queue.Queue[IO[bytes] | None] = queue.Queue(maxsize=1)
    threading.Thread(target=_receive, args=(orders, recordings), daemon=True).start()
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    listen = _loaded(order, answers)
    _say(answers, {"ready": True})
    while True:
        _say(answers, listen(recordings.get()))


def _take_stdout() -> TextIO:
    """Keep standard output for the answers; whatever a library prints goes where its errors go."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _line(orders: IO[bytes]) -> dict[str, Any] | None:
    """The next order; `None` at the end."""
    line = orders.readline(_MAX_LINE_BYTES)
    if not line.endswith(b"\n"):
        return None
    order: dict[str, Any] = json.loads(line)
    return order


def _receive(orders: IO[bytes], recordings: "queue.Queue[IO[bytes] | None]") -> None:
    """Take recordings as they come, `None` for one that there was no room for; at their end, end the process."""
    while (order := _line(orders)) is not None:
        left = int(order["size"])
        spool: IO[bytes] | None = _spool()
        while left:
            piece = orders.read(min(left, _PIECE_BYTES))
            if not piece:
                os._exit(0)
            left -= len(piece)
            try:
                if spool is not None:
                    spool.write(piece)
            except OSError:
                spool = None
        recordings.put(spool)
    os._exit(0)


def _scratch() -> str:
    """Where files may lie. Left to itself the library tries folders out, with files that a kill leaves behind."""
    named = os.environ.get("TMPDIR", "")
    return named if named and os.access(named, os.W_OK | os.X_OK) else "/tmp"  # noqa: S108 - files without a name


def _spool() -> IO[bytes] | None:
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError:
        return None


def _leave_with(parent: int) -> NoReturn:
    """End when the parent has: one that forked without exec leaves a copy of the pipe's other end behind."""
    never = threading.Event()
    while os.getppid() == parent:
        never.wait(_PARENT_LOOK_SECONDS)
    os._exit(0)


def _limit_memory(limit: int) -> None:
    """Neither a file that unfolds without end nor a dump of what was said may fill the machine."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _loaded(order: dict[str, Any], answers: TextIO) -> "Listen":
    """The model, ready to listen; leaves with an answer where it cannot be."""
    try:
        from fermix.infrastructure.transcription.local import (  # noqa: PLC0415 - may not be installed
            decoding,
            listening,
        )
    except ImportError as exc:
        _refuse(answers, "package_missing", exc.name or "")
    try:
        ear = listening.Ear(Path(order["model"]), threads=_threads())
    except (OSError, RuntimeError, ValueError) as exc:
        _refuse(answers, "load_failed", type(exc).__name__)
    return Listen(decoding, ear, longest=float(order["longest"]))


def _threads() -> int:
    """One less than there are processors: what else runs here must go on, and few words gain from many threads."""
    return max(1, min(_MAX_THREADS, (os.cpu_count() or 1) - 1))


def _refuse(answers: TextIO, kind: str, detail: str) -> NoReturn:
    _say(answers, {"error": kind, "detail": detail})
    os._exit(1)


class Listen:
    """From one recording to one answer. Nothing of what is said is in an error."""

    def __init__(self, decoding: Any, ear: Any, *, longest: float) -> None:
        self._decoding = decoding
        self._ear = ear
        self._longest = longest

    def __call__(self, recording: IO[bytes] | None) -> dict[str, Any]:
        """The answer."""
        if recording is None:
            return {"error": "failed", "detail": "there is no room for the recording"}
        try:
            with recording:
                recording.seek(0)
                samples = self._decoding.decode(recording, longest=self._longest)
            understood = self._ear.listen(samples)
        except self._decoding.NoAudio:
            return {"error": "no_audio"}
        except self._decoding.TooLong:
            return {"error": "too_long"}
        except (OSError, RuntimeError, ValueError) as exc:
            return {"error": "failed", "detail": type(exc).__name__}
        return {
            "text": understood.text,
            "language": understood.language,
            "doubtful": understood.is_doubtful,
        }


if __name__ == "__main__":
    main()
