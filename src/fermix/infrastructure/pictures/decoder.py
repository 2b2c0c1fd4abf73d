"""The program of the process that decodes one picture: `python -m fermix.infrastructure.pictures.decoder`.

It reads one JSON line from its standard input, then as many bytes of a file as that says, and answers on its
standard output with one JSON line and the bytes of the picture made of it. It may write no file, and ends when its
time is over, when its memory is, or when its standard input does: its parent keeps that open for as long as it
wants an answer.

Input: `form` (the only format it may be, by Pillow's name), `size` (bytes that follow), `limits` (the fields of
`Limits`). Output: `{"mime_type": …, "width": …, "height": …, "size": …}` and that many bytes, or
`{"error": TEXT, "too_many_pixels": BOOLEAN}`.
"""

import json
import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

from fermix.infrastructure.pictures.limits import Limits
from fermix.infrastructure.pictures.rendering import NotReadable, Rendered, TooManyPixels, render

_STDIN = 0
_LONGEST_ORDER = 4096


def main() -> NoReturn:
    """Decode one picture and end."""
    answers = _take_stdout()
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline(_LONGEST_ORDER))
    limits = Limits(**order["limits"])
    _confine(limits)
    source = sys.stdin.buffer.read(order["size"])
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    answer: dict[str, object]
    try:
        made = render(source, form=order["form"], limits=limits)
    except NotReadable as exc:
        answer, content = {"error": str(exc), "too_many_pixels": isinstance(exc, TooManyPixels)}, b""
    else:
        answer, content = _described(made), made.content
    answers.write(json.dumps(answer).encode() + b"\n" + content)
    answers.flush()
    os._exit(0)  # an orderly end would wait for the thread that reads


def _take_stdout() -> BinaryIO:
    """Keep standard output for the answer; whatever a library prints goes where its errors go."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _confine(limits: Limits) -> None:
    """Bounds that hold whatever a file makes a decoder do; what the system cannot bound stays unbounded."""
    signal.alarm(limits.seconds)
    for what, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        allowed = resource.getrlimit(what)[1]
        bound = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (bound, bound))


def _end_with_the_pipe() -> None:
    """Nothing is sent after the file: what can be read then is the end."""
    os.read(_STDIN, 1)
    os._exit(0)


def _described(made: Rendered) -> dict[str, object]:
    return {
        "mime_type": made.mime_type,
        "width": made.width,
        "height": made.height,
        "size": len(made.content),
    }


if __name__ == "__main__":
    main()
