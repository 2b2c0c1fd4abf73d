import io
import logging
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from fermix.infrastructure.telemetry.intake import MAX_WAITING, Intake, Writer
from fermix.infrastructure.telemetry.lines import MAX_RECORD_BYTES
from fermix.infrastructure.telemetry.logging import LogFile, logging_to
from fermix.infrastructure.telemetry.redaction import Redactor

log = logging.getLogger("fermix.test")
foreign = logging.getLogger("httpx")


@pytest.fixture(autouse=True)
def _root_logger_is_left_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    yield
    assert (root.level, list(root.handlers)) == before
    assert not [thread for thread in threading.enumerate() if "_monitor" in thread.name]


def _fail(text: str) -> None:
    raise ValueError(text)


def _lines(text: str) -> list[str]:
    return text.splitlines()


def test_an_event_is_one_line_with_its_fields() -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console):
        log.info("turn.finished", extra={"turn": 5, "outcome": "completed", "why": 'a "b" c', "none": None})

    (line,) = _lines(console.getvalue())
    time, rest = line.split(" ", 1)
    assert time.endswith("Z")
    assert rest == (r'info     fermix.test turn.finished turn=5 outcome=completed why="a \"b\" c" none=None')


def test_the_level_holds_for_our_records_and_other_libraries_only_warn() -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console, level="info"):
        log.debug("not.this")
        log.info("this.one")
        foreign.info("HTTP Request: GET /")
        foreign.warning("odd answer")

    assert [line.split(" ", 3)[-1] for line in _lines(console.getvalue())] == [
        "   fermix.test this.one",
        "httpx odd answer",
    ]


def test_at_debug_level_other_libraries_tell_what_they_do() -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console, level="debug"):
        log.debug("a.detail")
        foreign.debug("bytes on the wire")
        foreign.info("HTTP Request: GET /")

    assert "a.detail" in console.getvalue()
    assert "HTTP Request" in console.getvalue()
    assert "bytes on the wire" not in console.getvalue()


@pytest.mark.requirement("secrets.redacted_in_logs")
def test_a_client_library_cannot_write_a_secret() -> None:
    console = io.StringIO()
    redactor = Redactor()
    with logging_to(redactor=redactor, console=console, level="debug"):
        redactor.register("correct-horse")
        foreign.info("HTTP Request: POST %s", "https://api.telegram.org/bot999001:AAtesttoken/getMe")
        foreign.warning("header %r", {"Authorization": b"Bearer correct-horse\n"})

    assert "AAtesttoken" not in console.getvalue()
    assert "correct-horse" not in console.getvalue()


class _NotFound(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """The server is not what is tested."""


@pytest.mark.requirement("secrets.redacted_in_logs", "secrets.bot_urls_redacted")
def test_a_real_client_that_logs_all_it_does_leaks_no_bot_token() -> None:
    console = io.StringIO()
    with (
        HTTPServer(("127.0.0.1", 0), _NotFound) as server,
        logging_to(redactor=Redactor(), console=console, level="debug"),
    ):
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        port = server.server_address[1]
        for path in ("getMe", "../file/bot999001:AAtesttokentesttokentesttoken00001/voice.oga"):
            url = f"http://127.0.0.1:{port}/bot999001:AAtesttokentesttokentesttoken00001/{path}"
            try:
                httpx.get(url, timeout=0.2, trust_env=False).raise_for_status()
            except httpx.HTTPError:
                log.exception("call.failed", extra={"url": url})
        answering.join(5)

    assert console.getvalue().count("call.failed") == 2
    assert "HTTP Request: GET" in console.getvalue()
    assert "ReadTimeout" in console.getvalue()
    assert "[REDACTED:telegram]" in console.getvalue()
    assert "AAtesttoken" not in console.getvalue()


_SECRET = st.text(alphabet="abxyz0189_-./é\n\"'\\", min_size=6, max_size=30).filter(
    lambda text: len(text.strip()) >= 6
)


@pytest.mark.requirement("secrets.redacted_in_logs")
@settings(max_examples=40, deadline=None)
@given(secret=_SECRET, before=st.text(alphabet="ab \n'\"\\", max_size=10))
def test_no_secret_survives_in_any_record_tracebacks_included(secret: str, before: str) -> None:
    redactor = Redactor()
    redactor.register(secret)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fermix.log"
        with logging_to(redactor=redactor, file=LogFile(path=path)):
            glued = before + secret
            log.error(glued, extra={"text": glued, "many": [secret], "named": {"a": secret}})
            log.error("%s and %r", secret, secret)
            try:
                try:
                    _fail(before + secret)
                except ValueError as exc:
                    raise KeyError(secret) from exc
            except KeyError:
                log.exception("it.failed", stack_info=True)
        written = path.read_text()

    # The source lines of a traceback name variables, never their values.
    assert written.count("fermix.test") == 3
    for spelled in (secret.strip(), repr(secret.strip())[1:-1]):
        assert spelled not in written


def test_what_a_sender_wrote_cannot_pass_for_a_line() -> None:
    console = io.StringIO()
    forged = "hi\n2026-03-01T09:30:00.000Z error    fermix.gateway owner.changed\r\x1b[2K\u2028x\u202ey"
    with logging_to(redactor=Redactor(), console=console):
        log.info("message.refused", extra={"sender": forged})
        log.info(forged)
        try:
            _fail(forged)
        except ValueError:
            log.exception("it.failed")

    lines = console.getvalue().split("\n")
    assert all(line.startswith(("20", "    | ", "")) for line in lines)
    assert sum(line.startswith("20") for line in lines) == 3
    assert not set(console.getvalue()) & set("\r\x1b\u2028\u202e")


def test_a_field_named_like_a_secret_is_hidden() -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console):
        log.info("a.b", extra={"bot_token": "x1", "api_key": "y2", "tokens": 12})

    assert "bot_token=[REDACTED:field] api_key=[REDACTED:field] tokens=12" in console.getvalue()


@given(
    text=st.sampled_from(["x", "é", "\n", "\x00", "😀", "a b "]),
    count=st.sampled_from([0, 5_000, 200_000]),
)
@settings(max_examples=18, deadline=None)
def test_a_record_is_bounded_whatever_is_in_it(text: str, count: int) -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console):
        try:
            _fail(text * count)
        except ValueError:
            log.exception(text * count, extra={"field": text * count})

    assert len(console.getvalue().encode()) <= MAX_RECORD_BYTES


def test_the_end_of_a_long_traceback_is_kept() -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console):
        try:
            _fail("\n".join(["noise"] * 5_000) + " the reason")
        except ValueError:
            log.exception("it.failed")

    assert console.getvalue().rstrip().endswith("the reason")


def test_arguments_that_do_not_fit_are_said_and_not_raised() -> None:
    intake = Intake(threshold=logging.INFO, redactor=Redactor(), level_found=logging.WARNING)
    record = logging.makeLogRecord(
        {"name": "x", "levelno": logging.WARNING, "msg": "%d items", "args": ("many",)}
    )

    intake.handle(record)

    queued = intake.waiting.get_nowait()
    assert queued is not None
    assert queued.getMessage() == "%d items (its arguments do not fit)"


@pytest.mark.requirement("home.modes")
def test_the_file_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "fermix.log"
    with logging_to(redactor=Redactor(), file=LogFile(path=path)):
        log.info("a.b")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.requirement("retention.logs_rotate")
def test_the_file_is_rotated_and_old_ones_go(tmp_path: Path) -> None:
    path = tmp_path / "fermix.log"
    with logging_to(redactor=Redactor(), file=LogFile(path=path, max_bytes=2_000, kept=2)):
        for number in range(200):
            log.info("a.b", extra={"number": number})

    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "fermix.log",
        "fermix.log.1",
        "fermix.log.2",
    ]
    assert all(stat.S_IMODE(entry.stat().st_mode) == 0o600 for entry in tmp_path.iterdir())
    assert all(entry.stat().st_size <= 2_000 for entry in tmp_path.iterdir())
    assert "number=199" in path.read_text()


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "fermix.log").symlink_to(tmp_path / "elsewhere")

    with (
        pytest.raises(OSError, match="symbolic links"),
        logging_to(redactor=Redactor(), file=LogFile(path=tmp_path / "fermix.log")),
    ):
        pass

    assert not (tmp_path / "elsewhere").exists()


class _Stuck(logging.Handler):
    """A sink that writes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.let_go = threading.Event()
        self.seen: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.reached.set()
        self.let_go.wait(10)
        self.seen.append(f"{record.getMessage()} {record.__dict__['log_fields']}")


def test_a_full_queue_drops_and_says_how_many() -> None:
    intake = Intake(threshold=logging.INFO, redactor=Redactor(), level_found=logging.WARNING)
    sink = _Stuck()
    writer = Writer(intake, sink)
    writer.start()
    record = logging.makeLogRecord({"name": "fermix.x", "levelno": logging.INFO, "msg": "one"})

    intake.handle(record)
    assert sink.reached.wait(5)
    for _ in range(MAX_WAITING + 7):
        intake.handle(record)
    sink.let_go.set()
    writer.finish()

    assert sink.seen[0].startswith("one")
    assert "log.lost {'dropped': 7, 'unwritten': 0}" in sink.seen
    assert len(sink.seen) == 1 + MAX_WAITING + 1


def test_few_enormous_records_are_bounded_too() -> None:
    intake = Intake(threshold=logging.INFO, redactor=Redactor(), level_found=logging.WARNING)
    record = logging.makeLogRecord({"name": "fermix.x", "levelno": logging.INFO, "msg": "x" * 10_000_000})

    for _ in range(1_000):
        intake.handle(record)

    assert intake.waiting.qsize() < 110
    assert intake.dropped == 1_000 - intake.waiting.qsize()


def test_a_closed_terminal_is_counted_and_does_not_disturb_the_file(tmp_path: Path) -> None:
    path = tmp_path / "fermix.log"
    console = io.StringIO()
    console.close()
    with logging_to(redactor=Redactor(), file=LogFile(path=path), console=console):
        for number in range(3):
            log.info("a.b", extra={"number": number})

    written = path.read_text()
    assert written.count("fermix.test a.b") == 3
    assert "log.lost dropped=0 unwritten=" in written


@pytest.mark.anyio
async def test_two_homes_in_one_process_have_each_their_own_log(tmp_path: Path) -> None:
    first, second, both = tmp_path / "1.log", tmp_path / "2.log", anyio.Event()
    opened = [anyio.Event(), anyio.Event()]

    async def home(path: Path, secret: str, mine: anyio.Event) -> None:
        redactor = Redactor()
        redactor.register(secret)
        with logging_to(redactor=redactor, file=LogFile(path=path), level="info"):
            mine.set()
            await both.wait()
            log.info("from.%s", path.stem)
            await anyio.to_thread.run_sync(log.info, f"thread.{path.stem}")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(home, first, "secret-one", opened[0])
            tasks.start_soon(home, second, "secret-two", opened[1])
            for event in opened:
                await event.wait()
            log.info("of.nobody secret-one secret-two")
            both.set()

    for path, other in ((first, "2"), (second, "1")):
        written = path.read_text()
        assert f"from.{path.stem}" in written
        assert f"thread.{path.stem}" in written
        assert f"from.{other}" not in written
        assert "of.nobody [REDACTED:secret] [REDACTED:secret]" in written


def test_logs_may_close_in_any_order() -> None:
    root = logging.getLogger()
    level = root.level
    first, second = ExitStack(), ExitStack()
    console = io.StringIO()

    first.enter_context(logging_to(redactor=Redactor(), console=io.StringIO(), level="debug"))
    second.enter_context(logging_to(redactor=Redactor(), console=console, level="error"))
    assert root.level == logging.DEBUG
    first.close()
    assert root.level == logging.ERROR
    second.close()

    assert root.level == level
