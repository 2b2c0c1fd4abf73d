"""`fermix ask`: one question to the owner of the home, one answer on stdout."""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from fermix.entrypoints.cli.answer_writer import LOCAL_PROVIDER, AnswerWriter, local_model_note
from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.attachment import PATIENCE_SECONDS, attached
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed, report, write_document
from fermix.entrypoints.cli.foreground import Foreground
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.question_input import read_question
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode, exit_code_of_failure
from fermix.infrastructure.local_socket.asking import Accepted, Ended, Ending, Question
from fermix.infrastructure.local_socket.client import ClientError, ConnectionLost, ControlClient

DEFAULT_SESSION = "cli"
DEFAULT_USER = "operator"

_MESSAGES = {
    Ending.FAILED: "No answer could be given.",
    Ending.INTERRUPTED: "The request was interrupted before it was answered.",
    Ending.REFUSED: "The request was refused.",
    Ending.UNAVAILABLE: "Fermix cannot take the request now.",
}
_EXIT_CODES = {
    Ending.INTERRUPTED: ExitCode.FAILURE,
    Ending.REFUSED: ExitCode.DENIED,
    Ending.UNAVAILABLE: ExitCode.FAILURE,
}


def run_ask(options: AskOptions, terminal: Terminal, foreground: Foreground) -> int:
    """Ask, show the answer and give back the exit status."""
    deadline = None if options.timeout is None else time.monotonic() + options.timeout
    writer = AnswerWriter(
        terminal.out,
        terminal.err,
        streams=terminal.out.isatty() and not options.json,
        verbose=options.verbose,
    )
    asking = _Asking(options, terminal, foreground, writer, deadline)
    try:
        asking.run()
    except KeyboardInterrupt:
        failure = CommandFailed("Interrupted.", code="interrupted", exit_code=ExitCode.INTERRUPTED)
    except CommandFailed as error:
        failure = error
    else:
        return ExitCode.OK
    writer.end_line()
    one_document = options.json and not asking.is_answered
    return report(failure, as_json=one_document, out=terminal.out, err=terminal.err)


class _Asking:
    """One run of `ask`; remembers what is known of the turn so far."""

    def __init__(
        self,
        options: AskOptions,
        terminal: Terminal,
        foreground: Foreground,
        writer: AnswerWriter,
        deadline: float | None,
    ) -> None:
        self._options = options
        self._terminal = terminal
        self._foreground = foreground
        self._writer = writer
        self._deadline = deadline
        self._accepted: Accepted | None = None
        self.is_answered = False

    def run(self) -> None:
        """Ask and show the answer.

        Raises:
            CommandFailed: there is none.
        """
        home = home_folder(self._terminal.environ)
        text = read_question(
            self._options, self._terminal.input, deadline=self._deadline, note=self._writer.note
        )
        question = self._question(text)
        try:
            try:
                self._ask(home, question)
            except ConnectionLost:
                # An owner that was ending took the connection but not the question. Asking again is safe: it is
                # the same request id, which no ledger accepts twice.
                if self._accepted is not None:
                    raise
                self._ask(home, question)
        except ClientError as error:
            failure = command_failed(error)
            failure.facts.update(self._facts(None))
            raise failure from error

    def _ask(self, home: Path, question: Question) -> None:
        patience = PATIENCE_SECONDS
        if self._deadline is not None:
            patience = min(patience, self._deadline - time.monotonic())
        with attached(
            home,
            self._foreground,
            verbose=self._options.verbose,
            note=self._writer.note,
            patience=patience,
        ) as client:
            ended = self._follow(client, question)
            if ended.end is not Ending.ANSWERED:
                raise self._unanswered(ended)
            # Shown before the home is given back: others may be using it through us for a while yet.
            self._answer(home, ended)

    def _answer(self, home: Path, ended: Ended) -> None:
        self.is_answered = True
        if self._options.json:
            write_document(self._terminal.out, {"ok": True, "text": ended.text, **self._facts(ended)})
            return
        self._writer.finish(ended.text)
        if ended.provider == LOCAL_PROVIDER:
            self._writer.note(local_model_note(home))

    def _facts(self, ended: Ended | None) -> dict[str, Any]:
        """What the JSON document says besides the answer or the error."""
        return {
            "session": self._options.session or DEFAULT_SESSION,
            "turn": None if self._accepted is None else self._accepted.turn,
            "provider": None if ended is None else ended.provider,
            "model": None if ended is None else ended.model,
        }

    def _question(self, text: str) -> Question:
        folder = None
        with suppress(FileNotFoundError):
            folder = _readable_text(str(Path.cwd()))
        user = self._terminal.environ.get("USER", "").strip()
        return Question(
            request=_new_request_id(),
            text=text,
            session=_readable_text(self._options.session or DEFAULT_SESSION),
            new=self._options.new,
            model=None if self._options.model is None else _readable_text(self._options.model),
            cwd=folder,
            user=_readable_text(user) or DEFAULT_USER,
        )

    def _follow(self, client: ControlClient, question: Question) -> Ended:
        output = _pipe(self._terminal.out)
        for event in client.ask(question, deadline=self._deadline, output=output):
            if isinstance(event, Accepted):
                self._accepted = event
            if isinstance(event, Ended):
                return event
            if not self._options.json:
                self._writer.show(event)
        raise ConnectionLost("The daemon closed the connection before it had answered.")

    def _unanswered(self, ended: Ended) -> CommandFailed:
        exit_code = _EXIT_CODES.get(ended.end) or exit_code_of_failure(ended.failure)
        return CommandFailed(
            ended.notice or ended.text or _MESSAGES[ended.end],
            code=ended.failure or ended.end.value,
            exit_code=exit_code,
            facts=self._facts(ended),
        )


def _pipe(out: TextIO) -> int | None:
    """The descriptor whose reader may go away, if it has one."""
    try:
        descriptor = out.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


def _readable_text(text: str) -> str:
    """Names whose bytes are not UTF-8 come with surrogates, which no other process could read."""
    return os.fsencode(text).decode("utf-8", "replace")


def _new_request_id() -> str:
    """A random UUID (version 4); the standard library's module takes 2 ms to load."""
    number = int.from_bytes(os.urandom(16), "big")
    number = number & ~(0xF << 76) | (4 << 76)  # the version
    number = number & ~(0x3 << 62) | (2 << 62)  # the variant
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
