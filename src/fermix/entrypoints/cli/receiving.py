"""Files that come with an answer, on their way into a folder of whoever asked."""

from collections.abc import Generator, Iterator
from pathlib import Path

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.received_file import ShownEvent
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.asking import AskEvent
from fermix.infrastructure.local_socket.file_events import FileBegun, FileBroken, FileEvent, FilePiece


def folder_for_files(save_to: str | None) -> Path:
    """Where files go: the folder that was named, else the current one.

    Raises:
        CommandFailed: what was named is no folder.
    """
    folder = Path(save_to or ".")
    try:
        is_folder = save_to is None or (save_to != "" and folder.is_dir())
    except (OSError, ValueError):  # it may not be looked at; a NUL in the path
        is_folder = False
    if not is_folder:
        raise CommandFailed(
            f"{save_to or 'An empty name'} is no folder.", code="usage", exit_code=ExitCode.USAGE
        )
    return folder


def with_files_saved(events: Iterator[AskEvent | FileEvent], folder: Path) -> Generator[ShownEvent]:
    """The events, each file saved and told as one; nothing stays of one that does not come whole."""
    saver = None
    try:
        for event in events:
            if not isinstance(event, FileBegun | FilePiece | FileBroken):
                yield event
                continue
            if saver is None:
                from fermix.entrypoints.cli.file_saving import FileSaver

                saver = FileSaver(folder)
            received = saver.take(event)
            if received is not None:
                yield received
    finally:
        if saver is not None:
            saver.drop()
