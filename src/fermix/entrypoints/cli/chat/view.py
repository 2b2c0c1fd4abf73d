"""What a person sees of one message's way to its answer."""

import os
from collections.abc import Callable, Mapping
from typing import TextIO, assert_never

from rich.cells import set_cell_size

from fermix.entrypoints.cli.chat.answer_stream import AnswerStream
from fermix.entrypoints.cli.chat.markdown import BlockDrawing
from fermix.entrypoints.cli.chat.screen import Screen
from fermix.entrypoints.cli.received_file import ReceivedFile, ShownEvent
from fermix.entrypoints.cli.terminal_text import visible
from fermix.infrastructure.local_socket.asking import (
    Accepted,
    AskEvent,
    Ended,
    Missed,
    Part,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)


class ChatView:
    """Shows answers as they come, and one line for the tools that run."""

    def __init__(
        self, out: TextIO, *, environ: Mapping[str, str], size: Callable[[], os.terminal_size]
    ) -> None:
        can_move = environ.get("TERM", "").lower() not in {"", "dumb", "unknown"}
        self._out = out
        self._screen = Screen(out, size=size, can_move=can_move)
        self._answer = AnswerStream(self._screen, BlockDrawing(environ) if can_move else None)
        self._tools = ToolLine()
        self._begin_anew()

    def show(self, event: ShownEvent) -> None:
        """Show what belongs on the screen; the end is shown by `finish`."""
        if isinstance(event, ReceivedFile):
            self._leave_line()
            self._answer.end()
            self._screen.settle(f"{visible(event.told())}\n")
        else:
            self._show(event)

    def _show(self, event: AskEvent) -> None:
        match event:
            case TextDelta(text):
                self._leave_line()
                self._written.append(text)
                self._answer.add(text)
            case StepStarted():
                self._answer.end()
                self._written.clear()
                self._whole = True
            case Missed():
                self._whole = False
            case ToolStarted(name):
                self._answer.end()
                self._tools.started(name)
                self._draw_tools()
            case ToolFinished(name, failed):
                self._tools.finished(name, failed=failed)
                self._draw_tools()
            case PromptShown(text):
                self._leave_line()
                self._answer.end()
                self._answer.add(text)
                self._answer.end()
            case TurnStarted(provider, model):
                self._draw_line(f"asking {provider} ({model}) …")
                self._passing = True
            case Accepted(turn):
                self._is_command = turn is None
            case ThoughtTold() | Part() | Ended():
                pass
            case _:
                assert_never(event)

    def finish(self, text: str) -> None:
        """Complete the answer: the whole reply then stands there, whatever came of it before."""
        self._leave_line()
        written = "".join(self._written)
        if self._is_command and not written:
            self._screen.settle(f"{visible(text)}\n")
        elif self._whole and text.startswith(written):
            self._answer.add(text[len(written) :])
        elif not self._whole or text.strip() != written.strip():
            self._answer.end()
            self._answer.add(text)
        self._answer.end()
        self._begin_anew()

    def break_off(self) -> None:
        """There will be no answer: what was said stays, and the next text begins its own line."""
        self._leave_line()
        self._answer.break_off()
        self._begin_anew()

    def resumed(self) -> None:
        """Others may have written to the terminal meanwhile: what stands there stays. Writes nothing."""
        self._screen.lose_place()

    def _begin_anew(self) -> None:
        self._written: list[str] = []
        self._whole = True
        self._is_command = False
        self._passing = False
        self._tools.clear()

    def _draw_tools(self) -> None:
        self._draw_line(self._tools.text())
        self._passing = False

    def _draw_line(self, text: str) -> None:
        columns = self._screen.columns - 1
        line = " ".join(visible(text).split())
        if len(line) >= columns:
            line = f"{set_cell_size(line, max(columns - 1, 0)).rstrip()}…"
        if self._screen.is_loose:
            self._screen.settle("")
        self._screen.add(line)

    def _leave_line(self) -> None:
        """Before anything else is written: a passing line goes away, one about tools stays."""
        if self._passing:
            self._screen.settle("")
            self._passing = False
        elif self._tools.is_any:
            self._screen.keep()
            self._tools.clear()


class ToolLine:
    """The tools of one step in one line."""

    def __init__(self) -> None:
        self._running: list[str] = []
        self._done: list[str] = []

    @property
    def is_any(self) -> bool:
        """Whether there is anything to say."""
        return bool(self._running or self._done)

    def started(self, name: str) -> None:
        """One runs."""
        self._running.append(name)

    def finished(self, name: str, *, failed: bool) -> None:
        """One is done."""
        if name in self._running:
            self._running.remove(name)
        self._done.append(f"{name} (failed)" if failed else name)

    def clear(self) -> None:
        """Begin another line."""
        self._running.clear()
        self._done.clear()

    def text(self) -> str:
        """The line: what runs comes first, since the line may be cut at its end."""
        running = f"using {', '.join(self._running)} …" if self._running else ""
        done = f"used {', '.join(self._done)}" if self._done else ""
        return "; ".join(part for part in (running, done) if part)
