"""A chat without a terminal: each line that is read is a message, each answer goes to stdout whole."""

from fermix.entrypoints.cli.answer_writer import AnswerWriter
from fermix.entrypoints.cli.ask_run import files_lost
from fermix.entrypoints.cli.chat.conversation import Conversation
from fermix.entrypoints.cli.chat.lines import LineReader, LineTooLong
from fermix.entrypoints.cli.command_failed import CommandFailed, report
from fermix.entrypoints.cli.composition import MAX_CHARACTERS
from fermix.entrypoints.cli.foreground import Note
from fermix.entrypoints.cli.question_input import decode_input
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode

_MAX_BYTES = 4 * MAX_CHARACTERS

_LEAVE = frozenset({ExitCode.OUTPUT_CLOSED, ExitCode.INTERRUPTED})
"""Ends of one message after which no other one makes sense."""

_UNREADABLE = "input_unreadable"


def chat_over_pipe(conversation: Conversation, terminal: Terminal, *, note: Note) -> int:
    """Answer line by line until the input ends.

    A message that is not answered is told on stderr, and the next one is read. The status is that of the last one
    that was not answered, or 0.
    """
    lines = LineReader(terminal.input, max_bytes=_MAX_BYTES)
    status = int(ExitCode.OK)
    while True:
        try:
            text = _next_message(lines, note)
            if text is None:
                return status
            _answer(conversation, text, terminal)
        except KeyboardInterrupt:
            failure = CommandFailed("Interrupted.", code="interrupted", exit_code=ExitCode.INTERRUPTED)
        except CommandFailed as error:
            failure = error
        else:
            continue
        status = report(failure, as_json=False, out=terminal.out, err=terminal.err)
        if failure.exit_code in _LEAVE or failure.code == _UNREADABLE:
            return status


def _next_message(lines: LineReader, note: Note) -> str | None:
    """The next line with something on it, or `None` at the end of the input."""
    try:
        while (line := lines.next_line()) is not None:
            text = decode_input(line, note=note).rstrip("\r")
            if text.strip():
                return text
    except LineTooLong:
        raise CommandFailed(
            f"A line is longer than {MAX_CHARACTERS:,} characters, the limit; it was skipped.",
            code="usage",
            exit_code=ExitCode.USAGE,
        ) from None
    except OSError as error:
        raise CommandFailed(
            f"Standard input cannot be read: {error.strerror}.", code=_UNREADABLE, exit_code=ExitCode.USAGE
        ) from error
    return None


def _answer(conversation: Conversation, text: str, terminal: Terminal) -> None:
    writer = AnswerWriter(terminal.out, terminal.err, streams=terminal.out.isatty(), verbose=False)
    try:
        ended = conversation.say(text, writer.show)
    finally:
        writer.end_line()
    writer.finish(ended.text)
    conversation.after(ended)
    if conversation.lost_files:
        raise files_lost()
