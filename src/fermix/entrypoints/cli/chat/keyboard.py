"""The keyboard while nobody reads it, and Ctrl-C while an answer comes."""

import os
import signal
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

Attributes = list[Any]
"""What `termios` says of a terminal, in its own order."""

_LOCAL_FLAGS = 3
_INPUT_FLAGS = 0


@contextmanager
def quiet_keyboard(descriptor: int, *, resumed: Callable[[], None] = lambda: None) -> Generator[None]:
    """While the block lasts, what is typed is kept for the next prompt and not echoed into the answer.

    Ctrl-C and Ctrl-Z still do what they do; whoever has the terminal while this process is stopped finds the
    keyboard as it was before the block.

    Args:
        descriptor: of the terminal.
        resumed: called when this process goes on after Ctrl-Z. It may run at any point and must not write.
    """
    try:
        before = termios.tcgetattr(descriptor)
    except termios.error:
        yield
        return
    quiet = list(before)
    quiet[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    quiet[_INPUT_FLAGS] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)

    def stop(number: int, _frame: FrameType | None) -> None:
        now = _exchanged(descriptor, before)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, stop)
        resumed()
        _exchanged(descriptor, now)

    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    stopped_before = signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, stopped_before)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _exchanged(descriptor: int, attributes: Attributes) -> Attributes:
    """The attributes that the terminal had until now; one that is gone keeps none."""
    now = attributes
    with suppress(termios.error):
        now = termios.tcgetattr(descriptor)
        termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    return now


class Interruptions:
    """SIGINT as `KeyboardInterrupt`, but never in the middle of something that must be done whole."""

    def __init__(self) -> None:
        self._is_held = False
        self._came = False

    def __enter__(self) -> Self:
        """Listen, until the block ends."""
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the signal as it was."""
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def held(self) -> Generator[None]:
        """Do the block whole; an interrupt that comes meanwhile is raised after it."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._came:
            self._came = False
            raise KeyboardInterrupt

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if not self._is_held:
            raise KeyboardInterrupt
        self._came = True
