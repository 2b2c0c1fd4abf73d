"""`fermix ask` on a real pseudo-terminal: the answer as it comes, and nothing that could steer the terminal."""

import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded
from fermix.domain.events import StepStarted, TextDelta
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    answer,
    progress,
)


class OnTerminal:
    """A command whose three streams are one terminal."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Until the text stands on the screen."""
        while text not in self.shown:
            assert self._read(), f"{text!r} never came, only {self.shown!r}"

    def end(self) -> int:
        """Until the command has ended."""
        while self._read():
            pass
        return self.process.wait(LIMIT_SECONDS)

    def press(self, keys: bytes) -> None:
        os.write(self._screen, keys)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], PATIENCE_SECONDS)
        assert ready, f"nothing more came after {self.shown!r}"
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # Linux tells the end of a terminal by an I/O error
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


@contextmanager
def on_terminal(home: Path, *arguments: str) -> Iterator[OnTerminal]:
    screen, keyboard = os.openpty()
    with subprocess.Popen(
        [*PROGRAM, "ask", *arguments],
        env=environment(home),
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        start_new_session=True,
    ) as process:
        os.close(keyboard)
        try:
            yield OnTerminal(process, screen)
        finally:
            process.kill()
            os.close(screen)


@pytest.mark.requirement("streaming.terminal_shows_as_it_comes")
def test_the_answer_is_shown_as_it_comes(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [AskAccepted(turn=None), progress(1, TextDelta(text="so far")), Hold.FOREVER]
    with on_terminal(home, "hello") as terminal:
        terminal.wait_for("so far")
        assert terminal.process.poll() is None


def test_what_stands_there_at_the_end_is_the_answer_once(home: Path, daemon: ScriptedControl) -> None:
    with on_terminal(home, "hello, world") as terminal:
        assert terminal.end() == 0
        assert terminal.shown == "hello, world\n"


def test_control_and_direction_characters_are_shown_and_not_obeyed(
    home: Path, daemon: ScriptedControl
) -> None:
    daemon.script = lambda _: answer("\x1b]0;owned\x07 \u202etxt.exe\tü\nend")
    with on_terminal(home, "hello") as terminal:
        assert terminal.end() == 0
        assert terminal.shown.expandtabs() == "\\x1b]0;owned\\x07 \\u202etxt.exe\tü\nend\n".expandtabs()


def test_commentary_stays_above_the_answer(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=None),
        progress(1, TextDelta(text="Let me look.")),
        progress(2, StepStarted(step=2)),
        progress(3, TextDelta(text="Seven.")),
        AskEnded(end=AskEnd.ANSWERED, text="Seven."),
    ]
    with on_terminal(home, "hello") as terminal:
        assert terminal.end() == 0
        assert terminal.shown == "Let me look.\nSeven.\n"


def test_an_error_begins_its_own_line(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        progress(1, TextDelta(text="It is")),
        AskEnded(end=AskEnd.FAILED, text="", notice="The provider\x1b failed."),
    ]
    with on_terminal(home, "hello") as terminal:
        assert terminal.end() == 1
        assert terminal.shown == "It is\nfermix: The provider\\x1b failed.\n"


def test_without_a_text_the_usage_is_shown_and_no_input_awaited(home: Path, daemon: ScriptedControl) -> None:
    with on_terminal(home) as terminal:
        assert terminal.end() == 2
        assert "Nothing is asked" in terminal.shown


def test_a_dash_reads_what_is_typed(home: Path, daemon: ScriptedControl) -> None:
    with on_terminal(home, "-") as terminal:
        terminal.press(b"typed\n\x04")
        assert terminal.end() == 0
        assert terminal.shown.endswith("typed\ntyped\n")


def test_json_is_not_streamed(home: Path, daemon: ScriptedControl) -> None:
    with on_terminal(home, "--json", "hello") as terminal:
        assert terminal.end() == 0
        assert terminal.shown.startswith('{"ok": true')
