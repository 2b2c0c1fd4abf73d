"""Where messages are typed: several lines, history, and what Enter, Ctrl-C and Ctrl-D do."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.data_structures import Size
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.history import History
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from typing_extensions import override

from fermix.entrypoints.cli.chat.history import HistoryFile
from fermix.entrypoints.cli.foreground import Note


class Cancelled(Exception):
    """Ctrl-C at the prompt.

    Attributes:
        had_text: something had been typed, and is thrown away.
    """

    def __init__(self, *, had_text: bool) -> None:
        super().__init__()
        self.had_text = had_text


class Prompt:
    """Reads one message after another from the terminal of this process."""

    def __init__(
        self,
        out: TextIO,
        *,
        environ: Mapping[str, str],
        size: Callable[[], os.terminal_size],
        history: HistoryFile,
        note: Note,
    ) -> None:
        def dimensions() -> Size:
            now = size()
            return Size(rows=now.lines, columns=now.columns)

        term = environ.get("TERM", "")
        plain = bool(environ.get("NO_COLOR"))
        self._session: PromptSession[str] = PromptSession(
            "> ",
            multiline=True,
            prompt_continuation=lambda _width, _line, _wraps: ". ",
            history=_Remembered(history, note),
            key_bindings=_keys(),
            include_default_pygments_style=False,
            enable_suspend=True,
            color_depth=ColorDepth.DEPTH_1_BIT if plain else None,
            input=create_input(),
            # Asking the terminal for its cursor would mix the terminal's answer into what is typed ahead.
            output=Vt100_Output(out, dimensions, term=term, enable_cpr=False),
        )

    def read(self) -> str:
        """The next message.

        Raises:
            Cancelled: Ctrl-C.
            EOFError: Ctrl-D with nothing typed, or the terminal is gone.
        """
        return self._session.prompt()


def _keys() -> KeyBindings:
    keys = KeyBindings()
    while_typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=while_typing)
    def _(event: KeyPressEvent) -> None:
        """Send, unless the line is to go on."""
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and ends_in_continuation(buffer.text):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=while_typing)
    def _(event: KeyPressEvent) -> None:
        """Begin a new line."""
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-c", filter=while_typing)
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        """Throw away what has been typed."""
        had_text = bool(event.app.current_buffer.text)
        event.app.exit(exception=Cancelled(had_text=had_text), style="class:aborting")

    @keys.add(Keys.Vt100MouseEvent)
    @keys.add(Keys.CPRResponse, save_before=lambda _event: False)
    @keys.add("escape", "[", "m", filter=while_typing)
    def _(_event: KeyPressEvent) -> None:
        """Pass over what no key sends. We ask for neither mouse nor cursor, so it comes out of pasted text.

        The library takes a pasted colour for a mouse event and fails at it.
        """

    return keys


def ends_in_continuation(text: str) -> bool:
    """Whether the text ends with a backslash that is not itself escaped by one."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


class _Remembered(History):
    """The history file as the prompt wants it; a file that cannot be used is told once.

    It is read here and not when the prompt asks for it: the prompt is shown by then, and a note would stand in it.
    """

    def __init__(self, file: HistoryFile, note: Note) -> None:
        super().__init__()
        self._file = file
        self._note = note
        self._is_usable = True
        self._earlier: list[str] = []
        try:
            self._earlier = self._file.read()
        except OSError as error:
            self._give_up(error)

    @override
    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._earlier)

    @override
    def store_string(self, string: str) -> None:
        if not self._is_usable:
            return
        try:
            self._file.add(string)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._is_usable = False
        self._note(f"What you type is not remembered after this chat: {error.strerror}.")
