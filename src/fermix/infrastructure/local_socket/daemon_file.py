"""`daemon.json` in the home: who owns it now and where to reach them. Light to import: the client reads it."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.protocol import ProtocolFault, decode_line

DAEMON_FILE_NAME = "daemon.json"
_MAX_BYTES = 64 * 1024


class DaemonFile(NamedTuple):
    """What the owner of a home tells about itself.

    Attributes:
        socket: the absolute path of the control socket.
        http_port: where the health endpoints listen; `None` while nothing does.
    """

    instance: str
    epoch: int
    pid: int
    socket: str
    http_port: int | None = None


def write_daemon_file(home: Path, content: DaemonFile) -> None:
    """Write the file at once and whole, mode 0600; only the owner of the home's lock may.

    Raises:
        OSError: the home cannot be written.
    """
    target = home / DAEMON_FILE_NAME
    partial = home / f".{DAEMON_FILE_NAME}.{content.pid}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content._asdict(), file)
        partial.replace(target)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def read_daemon_file(home: Path) -> DaemonFile | None:
    """What the last owner left, who may be gone by now; `None` where there is no file, or none of ours."""
    try:
        with (home / DAEMON_FILE_NAME).open("rb") as file:
            fields = Fields(decode_line(file.read(_MAX_BYTES)), DAEMON_FILE_NAME)
        return DaemonFile(
            instance=fields.text("instance"),
            epoch=fields.whole("epoch"),
            pid=fields.whole("pid"),
            socket=fields.text("socket"),
            http_port=fields.optional_whole("http_port"),
        )
    except (OSError, ProtocolFault, Malformed):
        return None


def remove_daemon_file(home: Path, instance: str) -> None:
    """Take the file away if it still speaks of this instance; a file that stays does no harm."""
    current = read_daemon_file(home)
    if current is not None and current.instance == instance:
        with suppress(OSError):
            (home / DAEMON_FILE_NAME).unlink()
