"""A chat at a terminal: type, see the answer come, stop it, go on."""

import os
from pathlib import Path

from fermix.entrypoints.cli.chat.conversation import Conversation
from fermix.entrypoints.cli.chat.history import HISTORY_NAME, HistoryFile
from fermix.entrypoints.cli.chat.keyboard import Interruptions, quiet_keyboard
from fermix.entrypoints.cli.chat.prompt import Cancelled, Prompt
from fermix.entrypoints.cli.chat.view import ChatView
from fermix.entrypoints.cli.command_failed import CommandFailed, report
from fermix.entrypoints.cli.foreground import Note
from fermix.entrypoints.cli.received_file import ShownEvent
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode

_USUAL_SIZE = os.terminal_size((80, 24))
_LEAST_COLUMNS = 10


def chat_at_terminal(
    conversation: Conversation, terminal: Terminal, *, home: Path, session: str, note: Note
) -> int:
    """Chat until the user leaves, and give back the exit status: 0 after Ctrl-D, 130 after Ctrl-C."""

    def size() -> os.terminal_size:
        try:
            found = os.get_terminal_size(terminal.out.fileno())
        except OSError:
            return _USUAL_SIZE
        if found.columns == 0 or found.lines == 0:
            return _USUAL_SIZE
        return os.terminal_size((max(found.columns, _LEAST_COLUMNS), found.lines))

    view = ChatView(terminal.out, environ=terminal.environ, size=size)
    prompt = Prompt(
        terminal.out,
        environ=terminal.environ,
        size=size,
        history=HistoryFile(home / HISTORY_NAME),
        note=note,
    )
    with quiet_keyboard(terminal.input, resumed=view.resumed):
        note(f"chatting in the session {session}. Ctrl-D leaves, /help lists commands.")
        return _Chat(conversation, terminal, prompt, view, note).run()


class _Chat:
    """The loop of prompt and answer."""

    def __init__(
        self, conversation: Conversation, terminal: Terminal, prompt: Prompt, view: ChatView, note: Note
    ) -> None:
        self._conversation = conversation
        self._terminal = terminal
        self._prompt = prompt
        self._view = view
        self._note = note

    def run(self) -> int:
        was_interrupted = False
        while True:
            try:
                text = self._prompt.read()
            except EOFError:
                return ExitCode.OK
            except Cancelled as cancelled:
                if was_interrupted and not cancelled.had_text:
                    return ExitCode.INTERRUPTED
                was_interrupted = True
                self._note("Ctrl-C once more leaves, and so does Ctrl-D.")
                continue
            if not text.strip():
                continue
            try:
                self._answer(text)
            except KeyboardInterrupt:
                was_interrupted = True
                self._note("Stopped. Ctrl-C once more leaves.")
            else:
                was_interrupted = False

    def _answer(self, text: str) -> None:
        """One message; an interrupt leaves the turn, which ends it in the owner of the home too.

        Raises:
            KeyboardInterrupt: the user stopped it; what was said stands on the screen.
        """
        with Interruptions() as interruptions:

            def show(event: ShownEvent) -> None:
                with interruptions.held():
                    self._view.show(event)

            try:
                ended = self._conversation.say(text, show)
            except KeyboardInterrupt:
                with interruptions.held():
                    self._view.break_off()
                raise
            except CommandFailed as error:
                with interruptions.held():
                    self._view.break_off()
                report(error, as_json=False, out=self._terminal.out, err=self._terminal.err)
            else:
                with interruptions.held():
                    self._view.finish(ended.text)
                    self._conversation.after(ended)
