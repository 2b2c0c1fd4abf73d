"""Taking a port, and naming who has it when it is taken."""

import errno
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

_BACKLOG = 128
_LISTENING = "0A"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHolder:
    """A process that listens on a port."""

    pid: int
    name: str


class CannotListen(Exception):
    """The server cannot listen where it was told to; the text is a sentence for the owner."""

    def __init__(self, bind: str, port: int, reason: str) -> None:
        self.bind = bind
        self.port = port
        super().__init__(f"Cannot listen on {bind} port {port}: {reason}.")


class PortTaken(CannotListen):
    """Another process listens there; `holder` is `None` where the system does not tell who."""

    def __init__(self, bind: str, port: int, holder: PortHolder | None) -> None:
        self.holder = holder
        who = "another process" if holder is None else f"{holder.name} (process {holder.pid})"
        super().__init__(bind, port, f"{who} has it. Stop that, or set port in [fermix_web] to another")


def listen(bind: str, port: int) -> socket.socket:
    """A socket that listens, for this process alone. Blocking only for the search of a holder.

    Args:
        bind: an address of this machine, or `localhost`.
        port: 0 picks a free one.

    Raises:
        PortTaken: somebody else listens there.
        CannotListen: the system refuses for another reason.
    """
    address = "127.0.0.1" if bind == "localhost" else bind
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as exc:
        listener.close()
        if exc.errno == errno.EADDRINUSE:
            raise PortTaken(bind, port, find_holder(port)) from exc
        raise CannotListen(bind, port, exc.strerror or str(exc)) from exc
    return listener


def find_holder(port: int, *, proc: Path = Path("/proc")) -> PortHolder | None:
    """Who listens on the TCP port, as far as `/proc` shows it to this user; `None` on other systems."""
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not wanted:
        return None
    for process in _entries(proc):
        if process.name.isdecimal() and any(_link(handle) in wanted for handle in _entries(process / "fd")):
            name = _read(process / "comm").strip()
            shown = "".join(c for c in name if c.isprintable()) or "a process"
            return PortHolder(pid=int(process.name), name=shown)
    return None


def _listening_inodes(port: int, proc: Path) -> set[str]:
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in _read(proc / "net" / table).splitlines()[1:]:
            columns = line.split()
            if (
                len(columns) > 9
                and columns[3] == _LISTENING
                and int(columns[1].rpartition(":")[2], 16) == port
            ):
                inodes.add(columns[9])
    return inodes


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
