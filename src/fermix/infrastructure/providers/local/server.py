"""The program of the local model's own process: `python -m fermix.infrastructure.providers.local.server`.

It reads one JSON line from its standard input, loads the model, answers with one JSON line on its standard
output and serves until its standard input ends. The key comes in that line because other users of the machine
can read argument lists, and a parent's other children inherit environments.

Input: `model_path`, `model`, `context_window` (tokens), `threads` (null: one less than there are, at most 8),
`api_key`. Output: `{"port": 41234}` once `/health` is ready, or `{"error": KIND, "detail": TEXT}` with KIND one
of `package_missing`, `load_failed`; then the exit code is 1.
"""

import fcntl
import http.client
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn, TextIO
from urllib.parse import urlsplit

_STDIN = 0
_MAX_ORDER_BYTES = 65_536
_PARENT_LOOK_SECONDS = 2.0
_MAX_THREADS = 8
_HTTP_SECONDS = 600
_NOBODYS_ORIGIN = "http://fermix.invalid"


def main() -> NoReturn:
    """Serve until the parent closes the pipe or dies."""
    parent = os.getppid()
    report = _take_stdout()
    order = _read_order()
    _die_with_the_pipe()
    try:
        import xllamacpp  # noqa: PLC0415 -- costs memory, and its absence is an answer, not a crash
    except ImportError as exc:
        _refuse(report, "package_missing", exc)
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, order))
    except RuntimeError as exc:
        _refuse(report, "load_failed", exc)
    port = urlsplit(server.listening_address).port or 0
    _wait_until_healthy(port)
    report.write(json.dumps({"port": port}) + "\n")
    report.close()
    _serve_until_orphaned(parent)


def _take_stdout() -> TextIO:
    """Keep standard output for the one line; whatever the library prints goes where its errors go."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return report


def _read_order() -> dict[str, Any]:
    """Read unbuffered up to the line's end: what follows on the pipe is its end, which select must see."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(_STDIN, 4096)
        if not chunk or len(line) > _MAX_ORDER_BYTES:
            os._exit(0)
        line += chunk
    order: dict[str, Any] = json.loads(line)
    return order


def _die_with_the_pipe() -> None:
    """Let the kernel end this process when the pipe closes, also while the model loads.

    The library holds Python's interpreter lock for the whole load, so no thread here could look at the pipe
    meanwhile. A parent-death signal would do on Linux, but it fires when the *thread* that started us ends,
    and event loops start processes from worker threads that come and go. Elsewhere the end of the pipe is
    seen when the load is over.
    """
    if not sys.platform.startswith("linux"):
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    fcntl.fcntl(_STDIN, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(_STDIN, fcntl.F_SETFL, fcntl.fcntl(_STDIN, fcntl.F_GETFL) | os.O_ASYNC)
    if _pipe_ended(0):  # it closed before the signal was armed
        os._exit(0)


def _pipe_ended(seconds: float) -> bool:
    """Whether the pipe ended within `seconds`; nothing else is ever sent on it."""
    readable, _, _ = select.select([_STDIN], [], [], seconds)
    return bool(readable)


def _parameters(xllamacpp: Any, order: dict[str, Any]) -> Any:
    """Loopback, a random port, one slot, the key on every path that does anything, nothing optional on."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["model_path"]
    parameters.model_alias = [order["model"]]
    parameters.n_ctx = order["context_window"]
    parameters.n_parallel = 1
    parameters.use_jinja = True
    # The library's threads spin while they wait for each other: on busy cores, one too many costs two thirds.
    threads = order["threads"] or max(1, min(_MAX_THREADS, (os.cpu_count() or 1) - 1))
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_threads_http = 4
    parameters.timeout_read = _HTTP_SECONDS
    parameters.timeout_write = _HTTP_SECONDS
    parameters.api_keys = [order["api_key"]]
    # The server names one allowed origin whatever is asked; a reserved name is nobody's page.
    parameters.cors_origins = _NOBODYS_ORIGIN
    parameters.cors_origins_explicit = True
    parameters.cors_credentials = False
    parameters.cors_methods = ""
    parameters.cors_headers = ""
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_props = False
    parameters.endpoint_metrics = False
    parameters.offline = True
    parameters.cache_ram_mib = 0  # else up to 8 GiB of old prompts are kept
    parameters.cache_idle_slots = False
    parameters.verbosity = 1  # errors only: they are the operator's cause
    return parameters


def _wait_until_healthy(port: int) -> None:
    """Return once requests are served; the parent bounds the wait by ending this process."""
    while not _pipe_ended(0):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return
        except OSError:
            pass  # not listening yet: asked again below
        finally:
            connection.close()
        time.sleep(0.02)
    os._exit(0)


def _refuse(report: TextIO, kind: str, cause: Exception) -> NoReturn:
    """Say why there is no server and leave, in the orderly way: the library writes its errors from a thread."""
    report.write(json.dumps({"error": kind, "detail": str(cause)}) + "\n")
    report.close()
    sys.exit(1)


def _serve_until_orphaned(parent: int) -> NoReturn:
    """Wait for the pipe's end, and leave at once: the library's threads may be in the middle of an answer.

    A parent that forked without exec leaves a copy of the pipe's other end behind, so its death is looked for
    as well.
    """
    while not _pipe_ended(_PARENT_LOOK_SECONDS):
        if os.getppid() != parent:
            break
    os._exit(0)


if __name__ == "__main__":
    main()
