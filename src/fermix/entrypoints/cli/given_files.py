"""Files that a command line names: a text goes into the question, everything else goes along as it is."""

import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.composition import MAX_CHARACTERS, Attached, TooLong
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import ControlClient, Refused
from fermix.infrastructure.local_socket.protocol import ErrorCode

_MAX_BYTES = 4 * MAX_CHARACTERS
_MAX_NAME_CHARACTERS = 255
_BYTE_ORDER_MARK = "\ufeff"


class GivenFile(NamedTuple):
    """A file that goes along as it is; it is open, so that what its name leads to later does not matter.

    Attributes:
        shown: as the command line has it, in readable text.
    """

    shown: str
    file: BinaryIO
    size: int


class GivenFiles(NamedTuple):
    """All that was named, each kind in order."""

    texts: tuple[Attached, ...] = ()
    others: tuple[GivenFile, ...] = ()


NO_FILES = GivenFiles()


def read_files(names: Sequence[str], opened: ExitStack) -> GivenFiles:
    """Read the texts among these files, and open the others.

    A link is followed: whoever typed the command may read what it leads to, and nobody else has a say here.

    Args:
        names: paths, as the command line has them.
        opened: closes the files at its end.

    Raises:
        CommandFailed: one is no file, cannot be read, or is a text of more than the limit.
    """
    texts: list[Attached] = []
    others: list[GivenFile] = []
    for name in names:
        given = _open(name, opened)
        try:
            content = given.file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise _unreadable(given.shown, error.strerror) from error
        text = _text_of(content)
        if text is None:
            others.append(given)
        elif len(content) > _MAX_BYTES:
            raise _usage(str(TooLong()))
        else:
            texts.append(
                Attached(f"File {' '.join(given.shown.split())}", text.removeprefix(_BYTE_ORDER_MARK))
            )
    return GivenFiles(tuple(texts), tuple(others))


def bring(
    client: ControlClient, files: Sequence[GivenFile], *, deadline: float | None = None
) -> tuple[str, ...]:
    """Send files to whoever will be asked; the names that the question takes them by.

    Raises:
        CommandFailed: one is not taken, or cannot be read any more.
        ClientError: the connection failed.
    """
    return tuple(_bring(client, given, deadline) for given in files)


def readable(text: str) -> str:
    """Names whose bytes are not UTF-8 come with surrogates, which no other process could read."""
    return os.fsencode(text).decode("utf-8", "replace")


def _bring(client: ControlClient, given: GivenFile, deadline: float | None) -> str:
    name = Path(given.shown).name[:_MAX_NAME_CHARACTERS]
    try:
        given.file.seek(0)
        return client.attach(name, given.file.read, size=given.size, deadline=deadline)
    except Refused as error:
        too_large = error.code == ErrorCode.TOO_LARGE
        raise CommandFailed(
            f"The file {given.shown} was not taken. {error}",
            code=error.code,
            exit_code=ExitCode.USAGE if too_large else ExitCode.FAILURE,
        ) from error
    except OSError as error:
        raise CommandFailed(
            f"The file {given.shown} could not be read to its end: {error.strerror}.",
            code="file_unreadable",
            exit_code=ExitCode.FAILURE,
        ) from error


def _open(name: str, opened: ExitStack) -> GivenFile:
    shown = readable(name)
    try:
        _must_be_file(shown, Path(name).stat().st_mode)
        # What has become a pipe meanwhile must not be waited for.
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        file = opened.enter_context(os.fdopen(handle, "rb"))
        found = os.fstat(handle)
    except OSError as error:
        raise _unreadable(shown, error.strerror) from error
    except ValueError as error:  # a NUL in the path
        raise _unreadable(shown, str(error)) from error
    _must_be_file(shown, found.st_mode)
    return GivenFile(shown, file, found.st_size)


def _must_be_file(shown: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise _usage(f"{shown} is a folder; name the files in it.")
    if stat.S_ISFIFO(mode):
        raise _usage(f"{shown} is a pipe; pipe it into the command instead.")
    raise _usage(f"{shown} is no file but a device or a socket.")


def _text_of(content: bytes) -> str | None:
    """The content as text, or `None` when it is none; the last character may be cut off where there is more."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        is_cut_off = len(content) > _MAX_BYTES and error.reason == "unexpected end of data"
        return content[: error.start].decode("utf-8") if is_cut_off else None


def _unreadable(shown: str, cause: str | None) -> CommandFailed:
    return _usage(f"The file {shown} cannot be read: {cause}.")


def _usage(message: str) -> CommandFailed:
    return CommandFailed(message, code="usage", exit_code=ExitCode.USAGE)
