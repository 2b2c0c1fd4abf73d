"""The person at the terminal of this process, asked with prompt-toolkit; secrets are typed as stars."""

import os
from collections.abc import Mapping
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.data_structures import Size
from prompt_toolkit.history import DummyHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from fermix.entrypoints.cli.terminal_text import visible

_USUAL_SIZE = os.terminal_size((80, 24))


class Keyboard:
    """Writes to one stream and reads from the terminal. No colours are used."""

    def __init__(self, out: TextIO, *, environ: Mapping[str, str]) -> None:
        self._out = out
        self._term = environ.get("TERM", "")

    def say(self, text: str) -> None:
        """Show a line, or several, harmless for the terminal."""
        self._out.write(f"{visible(text)}\n")
        self._out.flush()

    def read(self, prompt: str, *, hidden: bool = False) -> str:
        """One line as it was typed; nothing of it is remembered.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            EOFError: Ctrl-D with nothing typed, or the terminal is gone.
        """
        session: PromptSession[str] = PromptSession(
            visible(prompt),
            is_password=hidden,
            history=DummyHistory(),
            key_bindings=_keys(),
            include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_1_BIT,
            input=create_input(),
            # Asking the terminal for its cursor would mix the terminal's answer into what is typed ahead.
            output=Vt100_Output(self._out, self._size, term=self._term, enable_cpr=False),
        )
        return session.prompt()

    def _size(self) -> Size:
        try:
            found = os.get_terminal_size(self._out.fileno())
        except OSError:
            found = _USUAL_SIZE
        if found.columns == 0 or found.lines == 0:
            found = _USUAL_SIZE
        return Size(rows=found.lines, columns=found.columns)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add(Keys.Vt100MouseEvent)
    @keys.add(Keys.CPRResponse, save_before=lambda _event: False)
    @keys.add("escape", "[", "m")
    def _(_event: KeyPressEvent) -> None:
        """Pass over what no key sends: it comes out of pasted text, and the library fails at some of it."""

    return keys
