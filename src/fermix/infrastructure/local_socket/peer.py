"""Who is at the other end of a Unix socket, as the kernel vouches for it."""

import socket
import struct
import sys
from typing import NamedTuple

_LINUX_UCRED = "3i"
_DARWIN_SOL_LOCAL = 0
_DARWIN_LOCAL_PEERCRED = 0x001
_DARWIN_LOCAL_PEERPID = 0x002
_DARWIN_XUCRED = "IIh2x16I"


class Peer(NamedTuple):
    """The process that opened the connection; `pid` is `None` where the system does not tell."""

    uid: int
    pid: int | None


def peer_of(connection: socket.socket) -> Peer:
    """The peer's credentials at the time it connected or listened.

    Raises:
        OSError: the kernel does not tell; the peer must then be refused.
    """
    if sys.platform == "darwin":
        credentials = connection.getsockopt(
            _DARWIN_SOL_LOCAL, _DARWIN_LOCAL_PEERCRED, struct.calcsize(_DARWIN_XUCRED)
        )
        pid = connection.getsockopt(_DARWIN_SOL_LOCAL, _DARWIN_LOCAL_PEERPID)
        return Peer(uid=struct.unpack(_DARWIN_XUCRED, credentials)[1], pid=pid)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(_LINUX_UCRED))
    pid, uid, _ = struct.unpack(_LINUX_UCRED, credentials)
    return Peer(uid=uid, pid=pid)
