"""`fermix ask`: one question to the owner of the home, one answer on stdout."""

import os
import stat
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, TextIO

from fermix.entrypoints.cli.answer_writer import LOCAL_PROVIDER, AnswerWriter, local_model_note
from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.attachment import HANDOVER_SECONDS, attached, outlasted
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed, report, write_document
from fermix.entrypoints.cli.foreground import Foreground
from fermix.entrypoints.cli.given_files import NO_FILES, bring, read_files, readable
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.question_input import read_question
from fermix.entrypoints.cli.received_file import ReceivedFile, ShownEvent
from fermix.entrypoints.cli.receiving import folder_for_files, with_files_saved
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode, exit_code_of_failure
from fermix.infrastructure.local_socket.asking import Accepted, Ended, Ending, Question
from fermix.infrastructure.local_socket.client import ClientError, ConnectionLost, ControlClient, Hangs

DEFAULT_SESSION = "cli"
DEFAULT_USER = "operator"

MOST_TRIES = 3
"""Of one question that nobody took: an owner that ends, and one that breaks off, may each be in its way."""

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
        streams=terminal.out.isatty() and not (options.json or options.stream_json),
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
    if options.stream_json:
        failure.facts["type"] = "ended"
    as_json = (options.json or options.stream_json) and not asking.is_answered
    return report(failure, as_json=as_json, out=terminal.out, err=terminal.err)


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
        self._is_sent = False
        self._given = NO_FILES
        self._folder = Path()
        self._received: list[ReceivedFile] = []
        self.is_answered = False

    def run(self) -> None:
        """Ask and show the answer.

        Raises:
            CommandFailed: there is none, or a file that came with it could not be saved.
        """
        with ExitStack() as opened:
            self._run(opened)

    def _run(self, opened: ExitStack) -> None:
        home = home_folder(self._terminal.environ)
        self._folder = folder_for_files(self._options.save_to)
        self._given = read_files(self._options.files, opened)
        text = read_question(
            self._options,
            self._terminal.input,
            files=self._given,
            deadline=self._deadline,
            note=self._writer.note,
        )
        question = new_question(
            text,
            environ=self._terminal.environ,
            session=self._options.session or DEFAULT_SESSION,
            new=self._options.new,
            model=self._options.model,
        )
        try:
            self._ask_whoever_takes_it(home, question)
        except ClientError as error:
            failure = command_failed(error)
            if isinstance(error, ConnectionLost) and self._is_sent:
                failure = CommandFailed(
                    f"The request was interrupted and will not be run again. {error}",
                    code="interrupted",
                    exit_code=ExitCode.FAILURE,
                )
            failure.facts.update(self._facts(None))
            raise failure from error

    def _ask_whoever_takes_it(self, home: Path, question: Question) -> None:
        """Ask again when an owner that was ending did not take the question.

        That is safe: it is the same request id, which no ledger accepts twice.
        """
        for tries_left in reversed(range(MOST_TRIES)):
            try:
                if self._ask(home, question, last=not tries_left):
                    return
            except ConnectionLost as lost:
                if self._accepted is not None or not tries_left or isinstance(lost, Hangs):
                    raise

    def _ask(self, home: Path, question: Question, *, last: bool) -> bool:
        """Ask; false when the owner has ended without taking the question."""
        with attached(
            home,
            self._foreground,
            verbose=self._options.verbose,
            note=self._writer.note,
            deadline=self._deadline,
        ) as client:
            ended = self._follow(client, question)
            if ended.end is Ending.UNAVAILABLE and not last:
                patience = self._at_most(HANDOVER_SECONDS)
                if outlasted(client, patience=patience, note=self._writer.note):
                    return False
            if ended.end is not Ending.ANSWERED:
                raise unanswered(ended, self._facts(ended))
            # Shown before the home is given back: others may be using it through us for a while yet.
            self._answer(home, ended)
        return True

    def _at_most(self, seconds: float) -> float:
        return seconds if self._deadline is None else min(seconds, self._deadline - time.monotonic())

    def _answer(self, home: Path, ended: Ended) -> None:
        lost = next((file for file in self._received if file.path is None), None)
        if self._options.json or self._options.stream_json:
            if lost is not None:
                facts = {"text": ended.text, **self._facts(ended)}
                raise files_lost(lost.told(), facts)
            self.is_answered = True
            kind = {"type": "ended"} if self._options.stream_json else {}
            document = {**kind, "ok": True, "text": ended.text, **self._facts(ended)}
            write_document(self._terminal.out, document)
            return
        self.is_answered = True
        self._writer.finish(ended.text)
        if lost is not None:
            raise files_lost()
        if ended.provider == LOCAL_PROVIDER:
            self._writer.note(local_model_note(home))

    def _facts(self, ended: Ended | None) -> dict[str, Any]:
        """What the JSON document says besides the answer or the error."""
        files = {"files": [file.document() for file in self._received]} if self._received else {}
        return {
            **files,
            "session": self._options.session or DEFAULT_SESSION,
            "turn": None if self._accepted is None else self._accepted.turn,
            "provider": None if ended is None else ended.provider,
            "model": None if ended is None else ended.model,
        }

    def _follow(self, client: ControlClient, question: Question) -> Ended:
        output = pipe_of(self._terminal.out)
        names = bring(client, self._given.others, deadline=self._deadline)
        self._is_sent = True
        asked = client.ask(question._replace(files=names), deadline=self._deadline, output=output)
        with closing(with_files_saved(asked, self._folder)) as events:
            for event in events:
                if isinstance(event, Ended):
                    return event
                self._note(event)
        raise ConnectionLost("The daemon closed the connection before it had answered.")

    def _note(self, event: ShownEvent) -> None:
        if isinstance(event, Accepted):
            self._accepted = event
        if isinstance(event, ReceivedFile):
            self._received.append(event)
        self._writer.show(event)
        if self._options.stream_json:
            self._write_line(event)

    def _write_line(self, event: ShownEvent) -> None:
        from fermix.entrypoints.cli.event_lines import event_document

        write_document(self._terminal.out, event_document(event, session=self._facts(None)["session"]))


def new_question(
    text: str,
    *,
    environ: Mapping[str, str],
    session: str = DEFAULT_SESSION,
    new: bool = False,
    model: str | None = None,
) -> Question:
    """A question under an id of its own, from the folder and the user of this process."""
    folder = None
    with suppress(FileNotFoundError):
        folder = readable(str(Path.cwd()))
    return Question(
        request=_new_request_id(),
        text=text,
        session=readable(session),
        new=new,
        model=None if model is None else readable(model),
        cwd=folder,
        user=readable(environ.get("USER", "").strip()) or DEFAULT_USER,
    )


def files_lost(message: str = "", facts: dict[str, Any] | None = None) -> CommandFailed:
    """The end of a question that was answered, but not all files of its answer could be saved.

    Args:
        message: what is still to be told; the answer and each file have mostly been shown.
        facts: further fields of the JSON document.
    """
    return CommandFailed(message, code="file_not_saved", exit_code=ExitCode.FAILURE, facts=facts)


def unanswered(ended: Ended, facts: dict[str, Any] | None = None) -> CommandFailed:
    """Why a question that was asked has no answer, with the exit status that says so."""
    return CommandFailed(
        ended.notice or ended.text or _MESSAGES[ended.end],
        code=ended.failure or ended.end.value,
        exit_code=_EXIT_CODES.get(ended.end) or exit_code_of_failure(ended.failure),
        facts=facts,
    )


def pipe_of(out: TextIO) -> int | None:
    """The descriptor whose reader may go away, if it has one."""
    try:
        descriptor = out.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


def _new_request_id() -> str:
    """A random UUID (version 4); the standard library's module takes 2 ms to load."""
    number = int.from_bytes(os.urandom(16), "big")
    number = number & ~(0xF << 76) | (4 << 76)  # the version
    number = number & ~(0x3 << 62) | (2 << 62)  # the variant
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
