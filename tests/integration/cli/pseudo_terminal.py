"""A command on a real pseudo-terminal, and what stands on its screen: enough of a terminal to read one."""

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from wcwidth import wcwidth

from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment

PATIENCE_SECONDS = 15
_TAKE_TERMINAL = 'exec "$@" 0<>"$0" 1>&0 2>&0'
"""The first terminal that the leader of a session opens becomes its own: Ctrl-C on it is then a signal."""

_SEQUENCE = re.compile(r"\x1b\[([0-?]*)([ -/]*[@-~])|\x1b([=>78])")


class Screen:
    """Rows of characters, a cursor, and the sequences that a prompt and a chat use; any other one is an error."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self.lines = lines
        self.scrolled: list[str] = []
        self._rows: list[list[str]] = [[] for _ in range(lines)]
        self._row = 0
        self._column = 0
        self._rest = ""

    def text(self) -> str:
        """Everything that has been shown and still stands, above the screen too."""
        rows = [*self.scrolled, *("".join(row).rstrip() for row in self._rows)]
        while rows and not rows[-1]:
            rows.pop()
        return "\n".join(rows)

    def feed(self, data: str) -> None:
        data = self._rest + data
        position = 0
        while position < len(data):
            if data[position] != "\x1b":
                self._put(data[position])
                position += 1
            elif found := _SEQUENCE.match(data, position):
                self._obey(found)
                position = found.end()
            else:
                assert len(data) - position < 16, f"no sequence: {data[position : position + 20]!r}"
                break
        self._rest = data[position:]

    def _put(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n":
                self._line_feed()
            case "\b":
                self._column = max(0, self._column - 1)
            case "\x07":
                pass
            case _:
                self._print(char)

    def _print(self, char: str) -> None:
        """A character where the cursor stands; a wide one fills two cells, one without a width joins the last."""
        width = wcwidth(char)
        assert width >= 0, f"{char!r} reached the terminal"
        row = self._rows[self._row]
        if width == 0:
            if self._column and row:
                row[min(self._column, len(row)) - 1] += char
            return
        if self._column + width > self.columns:
            self._column = 0
            self._line_feed()
            row = self._rows[self._row]
        row += [" "] * (self._column - len(row))
        row[self._column : self._column + width] = [char, *[""] * (width - 1)]
        self._column += width

    def _line_feed(self) -> None:
        if self._row + 1 < self.lines:
            self._row += 1
        else:
            self.scrolled.append("".join(self._rows.pop(0)).rstrip())
            self._rows.append([])

    def _obey(self, found: re.Match[str]) -> None:
        parameters, kind = found[1] or "", found[2] or found[3]
        count = int(parameters) if parameters.isdigit() else 1
        match kind:
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._row = min(self.lines - 1, self._row + count)
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "J" if parameters in {"", "0"}:
                for row in self._rows[self._row + 1 :]:
                    row.clear()
                del self._rows[self._row][self._column :]
            case "K" if parameters in {"", "0"}:
                del self._rows[self._row][self._column :]
            case "m":
                pass
            case "h" | "l" if parameters in {"?2004", "?25", "?7", "?12", "?1"}:
                pass
            case _:
                raise AssertionError(f"an unknown sequence reached the terminal: {found[0]!r}")


class OnTerminal:
    """A command whose three streams are one terminal."""

    def __init__(self, process: subprocess.Popen[bytes], far_end: int, screen: Screen) -> None:
        self.process = process
        self.raw = ""
        self._far_end = far_end
        self._screen = screen
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    @property
    def shown(self) -> str:
        """What stands there now."""
        return self._screen.text()

    def wait_for(self, text: str) -> None:
        """Until the text stands on the screen."""
        while text not in self.shown:
            assert self._read(), f"{text!r} never came, only:\n{self.shown}"

    def wait_for_last(self, text: str) -> None:
        """Until the text stands at the end of what is shown."""
        while not self.shown.endswith(text):
            assert self._read(), f"{text!r} was never the last, only:\n{self.shown}"

    def wait_for_prompt(self) -> None:
        """Until a message can be typed."""
        while self.shown.split("\n")[-1] != ">":
            assert self._read(), f"no prompt came, only:\n{self.shown}"

    def press(self, keys: str) -> None:
        os.write(self._far_end, keys.encode())

    def say(self, text: str) -> None:
        """Type a message at the prompt and send it."""
        self.wait_for_prompt()
        self.press(f"{text}\r")

    def resize(self, columns: int, lines: int) -> None:
        _set_size(self._far_end, columns, lines)

    def end(self) -> int:
        """Until the command has ended; its exit status."""
        while self._read():
            pass
        return self.process.wait(LIMIT_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._far_end], [], [], PATIENCE_SECONDS)
        assert ready, f"nothing more came after:\n{self.shown}"
        try:
            data = self._decoder.decode(os.read(self._far_end, 65536))
        except OSError:  # Linux tells the end of a terminal by an I/O error
            return False
        self.raw += data
        self._screen.feed(data)
        return True


@contextmanager
def on_terminal(
    variables: Mapping[str, str],
    *arguments: str,
    columns: int = 80,
    lines: int = 24,
    wrapped_in: Sequence[str] = (),
) -> Iterator[OnTerminal]:
    """Run a `fermix` command, inside another one if need be, on a terminal of its own until the block ends."""
    far_end, near_end = os.openpty()
    _set_size(far_end, columns, lines)
    with subprocess.Popen(
        ["sh", "-c", _TAKE_TERMINAL, os.ttyname(near_end), *wrapped_in, *PROGRAM, *arguments],
        env=variables,
        stdin=near_end,
        stdout=near_end,
        stderr=near_end,
        start_new_session=True,
    ) as process:
        os.close(near_end)
        try:
            yield OnTerminal(process, far_end, Screen(columns, lines))
        finally:
            process.kill()
            os.close(far_end)


@contextmanager
def chatting(
    home: Path, *arguments: str, columns: int = 80, lines: int = 24, **more: str
) -> Iterator[OnTerminal]:
    """A chat in a home, with a terminal that has colours unless `more` says otherwise."""
    variables = {**environment(home), "TERM": "xterm-256color", **more}
    with on_terminal(variables, "chat", *arguments, columns=columns, lines=lines) as terminal:
        yield terminal


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
