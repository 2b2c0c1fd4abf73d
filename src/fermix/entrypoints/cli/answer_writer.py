"""Shows an `ask` as it happens: the answer on stdout and nothing else there, everything else on stderr."""

from pathlib import Path
from typing import TextIO, assert_never

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

LOCAL_PROVIDER = "local"


class AnswerWriter:
    """Streams to a terminal, and prints the whole answer once into anything else."""

    def __init__(self, out: TextIO, err: TextIO, *, streams: bool, verbose: bool) -> None:
        self._out = out
        self._err = err
        self._streams = streams
        self._verbose = verbose
        self._written: list[str] = []
        self._whole = True
        self._at_line_start = True

    def show(self, event: ShownEvent) -> None:
        """Show what belongs on a screen; the end is shown by `finish`."""
        if isinstance(event, ReceivedFile):
            self.note(event.told())
        else:
            self._show(event)

    def _show(self, event: AskEvent) -> None:
        match event:
            case TextDelta(text):
                self._stream(text)
            case ThoughtTold(text):
                self._tell_thought(text)
            case StepStarted(step):
                self._begin_line()
                self._written.clear()
                self._whole = True
                self.detail(f"step {step}")
            case Missed():
                self._whole = False
            case ToolStarted(name):
                self.detail(f"using {name}")
            case ToolFinished(name, failed):
                self.detail(f"{name} {'failed' if failed else 'is done'}")
            case PromptShown(text):
                self.note(text)
            case TurnStarted(provider, model):
                self.detail(f"asking {provider} ({model})")
            case Accepted() | Part() | Ended():
                pass
            case _:
                assert_never(event)

    def finish(self, text: str) -> None:
        """Complete the answer: the whole reply then stands on stdout, whatever was streamed before."""
        self._complete(text)
        self._begin_line()
        self._out.flush()

    def end_line(self) -> None:
        """Leave the line that is being written."""
        self._begin_line()

    def note(self, text: str) -> None:
        """Tell something on stderr."""
        self._begin_line()
        self._err.write(f"fermix: {visible(text)}\n")
        self._err.flush()

    def detail(self, text: str) -> None:
        """Tell something on stderr to those who want to know."""
        if self._verbose:
            self.note(text)

    def _tell_thought(self, text: str) -> None:
        if not self._verbose:
            return
        # A command that shows no thoughts does not load the domain for them.
        from fermix.domain.streaming.thoughts import thought_line

        line = thought_line(text)
        if line is not None:
            self.note(line)

    def _stream(self, text: str) -> None:
        if self._streams and text:
            self._written.append(text)
            self._write(visible(text))
            self._out.flush()

    def _complete(self, text: str) -> None:
        if not self._streams:
            self._write(text)
            return
        written = "".join(self._written)
        if self._whole and text.startswith(written):
            self._write(visible(text[len(written) :]))
        elif not self._whole or text.strip() != written.strip():
            self._begin_line()
            self._write(visible(text))

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._at_line_start = text.endswith("\n")

    def _begin_line(self) -> None:
        if not self._at_line_start:
            self._out.write("\n")
            self._out.flush()
            self._at_line_start = True


def local_model_note(home: Path) -> str:
    """What a person should know who was answered by the built-in model."""
    return (
        "this answer comes from the small local model. It can talk, but it is no agent: it uses no tools and is "
        "often wrong. For a better one set a provider's key, for example OPENAI_API_KEY, or configure a provider "
        f"in {home / 'config.toml'}."
    )
