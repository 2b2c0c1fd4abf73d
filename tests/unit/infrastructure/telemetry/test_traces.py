"""Traces on disk: one folder per day, nobody else's, without secrets, gone in time, and never in anybody's way."""

import io
import json
import logging
import stat
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fermix.application.ports.telemetry import about_turn
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.telemetry import ChannelMessage, ProviderCall, ToolExec
from fermix.domain.telemetry_fields import TraceFile, name_of, session_of
from fermix.domain.telemetry_words import CallStatus, Direction, MessageEnd, ToolEnd
from fermix.infrastructure.telemetry import traces
from fermix.infrastructure.telemetry.logging import logging_to
from fermix.infrastructure.telemetry.redaction import Redactor
from fermix.infrastructure.telemetry.reporter import Reporter
from fermix.infrastructure.telemetry.traces import MAX_WAITING, TraceFolder, TraceWriter, writing_traces
from fermix.testing.clock import StoppedClock

SECRET = "sk-planted-77aa88bb99cc"
KEY_SHAPED = "sk-proj-" + "a1B2" * 12


def accepted(channel: str = "telegram") -> ChannelMessage:
    return ChannelMessage(
        channel=ChannelName(channel),
        direction=Direction.INBOUND,
        result=MessageEnd.ACCEPTED,
        session_id=session_of(TurnId(5)),
    )


def asked(model: str) -> ProviderCall:
    return ProviderCall(
        provider=name_of("acme"),
        model=name_of(model),
        status=CallStatus.OK,
        failure=None,
        step=1,
        duration=0.123456789,
        session_id=session_of(TurnId(5)),
    )


@contextmanager
def reporting(
    home: Path, *, keep_days: int = 14, clock: StoppedClock | None = None, redactor: Redactor | None = None
) -> Iterator[Reporter]:
    folder = TraceFolder(path=home / "traces", keep_days=keep_days)
    with writing_traces(folder, redactor or Redactor()) as writer:
        yield Reporter(writer, clock or StoppedClock())


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_event_is_a_line_of_its_days_file(tmp_path: Path) -> None:
    with reporting(tmp_path) as reporter:
        reporter.emit(accepted())
        reporter.emit(asked("large"))

    day = tmp_path / "traces" / "2026-01-01"
    assert read(day / "channel_msg.jsonl") == [
        {
            "at": "2026-01-01T12:00:00.000+00:00",
            "event": "fermix.channel.message",
            "channel": "telegram",
            "direction": "inbound",
            "result": "accepted",
            "session_id": "main-5",
        }
    ]
    (call,) = read(day / "llm_call.jsonl")
    assert (call["duration"], call["status"], "failure" in call) == (0.123457, "ok", False)


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    with reporting(tmp_path) as reporter:
        reporter.emit(accepted())

    folder = tmp_path / "traces"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {"traces": 0o700, "2026-01-01": 0o700, "channel_msg.jsonl": 0o600}


@pytest.mark.requirement("retention.logs_rotate")
def test_each_day_has_its_own_folder_and_old_ones_go(tmp_path: Path) -> None:
    clock = StoppedClock()
    for name in ("2025-12-28", "2025-12-29", "not-a-day", "2025-99-99"):
        (tmp_path / "traces" / name).mkdir(parents=True)
        (tmp_path / "traces" / name / "tool_exec.jsonl").touch()
    with reporting(tmp_path, keep_days=3, clock=clock) as reporter:
        reporter.emit(accepted())
        clock.advance(timedelta(days=1))
        reporter.emit(accepted())

    left = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert left == ["2025-99-99", "2026-01-01", "2026-01-02", "not-a-day"]


def test_what_somebody_else_put_into_an_old_folder_stays(tmp_path: Path) -> None:
    old = tmp_path / "traces" / "2020-01-01"
    old.mkdir(parents=True)
    (old / "llm_call.jsonl").touch()
    (old / "notes.txt").touch()
    with reporting(tmp_path) as reporter:
        reporter.emit(accepted())

    assert [path.name for path in old.iterdir()] == ["notes.txt"]


def test_a_link_is_neither_followed_nor_swept(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "llm_call.jsonl").touch()
    (tmp_path / "traces" / "2026-01-01").mkdir(parents=True)
    (tmp_path / "traces" / "2020-01-01").symlink_to(elsewhere)
    (tmp_path / "traces" / "2026-01-01" / "channel_msg.jsonl").symlink_to(elsewhere / "llm_call.jsonl")
    with reporting(tmp_path) as reporter:
        reporter.emit(accepted())

    assert (elsewhere / "llm_call.jsonl").read_text() == ""
    assert reporter.traces.unwritten == 1


@pytest.mark.requirement("secrets.redacted_in_traces")
def test_a_secret_in_a_name_is_left_out_whether_it_is_known_shaped_or_learned_later(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.register(SECRET)
    with logging_to(redactor=(of_the_log := Redactor())):
        of_the_log.register("a-channel-password")
        with reporting(tmp_path, redactor=redactor) as reporter:
            reporter.emit(asked(f"model-{SECRET}"))
            reporter.emit(asked(KEY_SHAPED))
            reporter.emit(accepted("a-channel-password"))

    written = "".join(path.read_text() for path in (tmp_path / "traces").rglob("*.jsonl"))
    assert written.count("[REDACTED:") == 3
    for secret in (SECRET, KEY_SHAPED, "a-channel-password"):
        assert secret not in written


def test_a_name_that_was_written_before_it_became_a_secret_is_left_out_from_then_on(tmp_path: Path) -> None:
    redactor = Redactor()
    for known in (False, True):
        if known:
            redactor.register("hush-hush-model")
        with reporting(tmp_path, redactor=redactor) as reporter:
            reporter.emit(asked("hush-hush-model"))

    models = [call["model"] for call in read(tmp_path / "traces" / "2026-01-01" / "llm_call.jsonl")]
    assert models == ["hush-hush-model", "[REDACTED:secret]"]


def test_what_cannot_be_encoded_is_written_all_the_same(tmp_path: Path) -> None:
    with reporting(tmp_path) as reporter:
        reporter.emit(asked('odd \ud800 " \n \x00 name'))

    (call,) = read(tmp_path / "traces" / "2026-01-01" / "llm_call.jsonl")
    assert call["model"] == 'odd ? " \n \x00 name'


def test_a_folder_that_takes_nothing_costs_the_lines_and_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("a file where the folder should be")
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console), reporting(tmp_path) as reporter:
        for _ in range(3):
            reporter.emit(accepted())

    assert reporter.traces.unwritten == 3
    (line,) = [line for line in console.getvalue().splitlines() if "traces.lost" in line]
    assert line.endswith("dropped=0 unwritten=3")


def test_a_days_file_has_a_largest_size(tmp_path: Path) -> None:
    day = tmp_path / "traces" / "2026-01-01"
    day.mkdir(parents=True)
    with (day / f"{TraceFile.CHANNEL_MSG}.jsonl").open("wb") as file:
        file.truncate(traces.MAX_FILE_BYTES)
    with reporting(tmp_path) as reporter:
        reporter.emit(accepted())

    assert reporter.traces.unwritten == 1


def test_when_too_many_wait_more_are_dropped_and_counted_and_nobody_waits(tmp_path: Path) -> None:
    writer = TraceWriter(TraceFolder(path=tmp_path / "traces", keep_days=1), Redactor())
    reporter = Reporter(writer, StoppedClock())
    for _ in range(MAX_WAITING + 7):
        reporter.emit(accepted())

    assert writer.dropped == 7


def test_emitting_costs_a_few_microseconds(tmp_path: Path) -> None:
    writer = TraceWriter(TraceFolder(path=tmp_path / "traces", keep_days=1), Redactor())
    reporter = Reporter(writer, StoppedClock())
    seconds = min(timeit.repeat(lambda: reporter.emit(accepted()), number=500, repeat=15)) / 500
    assert seconds < 5e-6, f"{seconds * 1e6:.1f} µs, the event's making included"


def test_at_debug_level_the_log_has_the_events_under_the_number_of_their_turn(tmp_path: Path) -> None:
    console = io.StringIO()
    with logging_to(redactor=Redactor(), console=console, level="debug"), reporting(tmp_path) as reporter:
        reporter.emit(
            ToolExec(
                tool=name_of("read_file"),
                status=ToolEnd.OK,
                duration=0.5,
                session_id=session_of(TurnId(12)),
            )
        )

    (line,) = console.getvalue().splitlines()
    assert line.endswith("fermix.telemetry fermix.tool.exec tool=read_file status=ok duration=0.5 turn=12")


def test_every_line_that_is_logged_in_a_turn_names_it_once() -> None:
    console = io.StringIO()
    log = logging.getLogger("fermix.test")
    with logging_to(redactor=Redactor(), console=console):
        with about_turn(TurnId(3)):
            log.info("one.step", extra={"tool": "read"})
            logging.getLogger("some.library").warning("slow")
            log.info("own.word", extra={"turn": 4})
        with about_turn(None):
            log.info("outside")

    ends = [line.split(" ", 2)[2].strip() for line in console.getvalue().splitlines()]
    assert ends == [
        "fermix.test one.step turn=3 tool=read",
        "some.library slow turn=3",
        "fermix.test own.word turn=4",
        "fermix.test outside",
    ]
