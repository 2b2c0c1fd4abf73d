"""Reading what `fermix ask` is asked: the argument, standard input, and the texts that go along."""

import os
import select
import stat
import time
from collections.abc import Callable
from enum import Enum

from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.composition import (
    MAX_CHARACTERS,
    Attached,
    NothingAsked,
    TooLong,
    compose,
)
from fermix.entrypoints.cli.given_files import NO_FILES, GivenFiles, readable
from fermix.entrypoints.exit_codes import ExitCode

Note = Callable[[str], None]

_MAX_BYTES = 4 * MAX_CHARACTERS
_CHUNK_BYTES = 64 * 1024
PATIENCE_SECONDS = 2.0
"""After so long without any input, a person may not know that it is waited for."""

_BYTE_ORDER_MARK = "\ufeff"
_REPLACEMENT = "\ufffd"
_STANDARD_INPUT = "Standard input"


class InputKind(Enum):
    """What standard input is."""

    TERMINAL = "terminal"
    TEXT = "text"
    """A pipe or a file: somebody meant it to be read."""

    NOTHING = "nothing"
    """Closed, `/dev/null`, or a socket as ssh and service managers hand down, which may stay open for ever."""


def input_kind(descriptor: int) -> InputKind:
    """What a descriptor is."""
    try:
        mode = os.fstat(descriptor).st_mode
        if os.isatty(descriptor):
            return InputKind.TERMINAL
    except OSError:
        return InputKind.NOTHING
    return InputKind.TEXT if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else InputKind.NOTHING


def read_question(
    options: AskOptions,
    descriptor: int,
    *,
    files: GivenFiles = NO_FILES,
    deadline: float | None,
    note: Note,
    patience: float = PATIENCE_SECONDS,
) -> str:
    """The whole question.

    An argument is the request and a pipe its context; without an argument, or with `-`, standard input is the
    request itself.

    Args:
        options: the command line.
        descriptor: standard input.
        files: what goes along; what is no text may go without any words.
        deadline: the monotonic time after which reading is given up.
        note: told what a person should know.
        patience: seconds of silence after which it is told that input is waited for.

    Raises:
        CommandFailed: nothing is asked, too much is, or an input cannot be read.
    """
    source = _StandardInput(descriptor, deadline=deadline, note=note, patience=patience)
    try:
        speaks = bool(files.others)
        request, attached = _request_and_context(options, source, may_be_blank=speaks)
        return compose(request, [*attached, *files.texts], may_be_blank=speaks)
    except NothingAsked:
        raise _usage('Nothing is asked. Try: fermix ask "What can you do?"') from None
    except TooLong as error:
        raise _usage(str(error)) from None


def _request_and_context(
    options: AskOptions, source: "_StandardInput", *, may_be_blank: bool
) -> tuple[str, list[Attached]]:
    kind = InputKind.NOTHING if options.no_input else input_kind(source.descriptor)
    if options.text == "-":
        if options.no_input:
            raise _usage("`-` reads the request from standard input, which `--no-input` forbids.")
        return source.text(), []
    if options.text is None:
        if kind is not InputKind.TEXT:
            if may_be_blank:
                return "", []
            raise NothingAsked
        return source.text(), []
    request = readable(options.text)
    if not request.strip() and not may_be_blank:
        raise NothingAsked
    if kind is not InputKind.TEXT:
        return request, []
    context = source.text()
    return request, [Attached(_STANDARD_INPUT, context)] if context.strip() else []


class _StandardInput:
    """Reads a descriptor to its end, within the caller's time limit."""

    def __init__(self, descriptor: int, *, deadline: float | None, note: Note, patience: float) -> None:
        self.descriptor = descriptor
        self._deadline = deadline
        self._note = note
        self._tell_at: float | None = time.monotonic() + patience

    def text(self) -> str:
        """All of it as text; what cannot be read is replaced, and told."""
        return decode_input(self._bytes(), note=self._note)

    def _bytes(self) -> bytes:
        """Everything up to the end, or one piece more than could be used."""
        content = bytearray()
        while len(content) <= _MAX_BYTES:
            self._wait(silent=not content)
            try:
                data = os.read(self.descriptor, _CHUNK_BYTES)
            except OSError as error:
                raise _usage(f"Standard input cannot be read: {error.strerror}.") from error
            if not data:
                break
            content += data
        return bytes(content)

    def _wait(self, *, silent: bool) -> None:
        """Until there is something to read."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        while True:
            limits = [limit for limit in (self._deadline, self._tell_at) if limit is not None]
            left = max(0.0, min(limits) - time.monotonic()) * 1000 if limits else None
            if poll.poll(left):
                return
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise CommandFailed(
                    "The time limit passed while standard input was being read.",
                    code="timed_out",
                    exit_code=ExitCode.TIMED_OUT,
                )
            self._tell_at = None
            if silent:
                self._note("Waiting for standard input; use --no-input, or < /dev/null, if none is meant.")


def decode_input(content: bytes, *, note: Note) -> str:
    """What came from standard input as text; what cannot be read in it is replaced, and told."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        note("Standard input is not valid UTF-8; what could not be read is shown as \ufffd.")
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
        note("Standard input contains NUL characters; they are shown as \ufffd.")
    return text.removeprefix(_BYTE_ORDER_MARK)


def _usage(message: str) -> CommandFailed:
    return CommandFailed(message, code="usage", exit_code=ExitCode.USAGE)
