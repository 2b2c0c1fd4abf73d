"""What runs as `signal-cli`: it tells the test what it is asked, and says what the test wants said.

Run with `-SE`, on the standard library alone, so that it starts fast.
"""

import fcntl
import json
import os
import socket
import sys
import termios
import threading
import time

_LOOK_EVERY = 0.0005


def _tell(line: socket.socket, lock: threading.Lock, **said: object) -> None:
    with lock:
        line.sendall(json.dumps(said).encode() + b"\n")


def _listen(line: socket.socket, lock: threading.Lock) -> None:
    try:
        for each in sys.stdin.buffer:
            _tell(line, lock, heard=each.decode("latin-1"))
        _tell(line, lock, end=True)
    except OSError:
        pass


def _until_read() -> None:
    """Wait until whoever started us has read all that was written."""
    left = bytearray(4)
    while True:
        fcntl.ioctl(1, termios.FIONREAD, left)
        if not any(left):
            return
        time.sleep(_LOOK_EVERY)


def main() -> None:
    """Connect, or fail as without a network; the version is told without."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write("signal-cli 0.13.19\n")
        return
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(os.environ["FAKE_SIGNAL_SOCKET"])
    except OSError:
        sys.stderr.write("Error while checking account: java.net.UnknownHostException: chat.signal.org\n")
        sys.exit(3)
    lock = threading.Lock()
    _tell(line, lock, argv=sys.argv[1:], pid=os.getpid(), environ=dict(os.environ))
    threading.Thread(target=_listen, args=(line, lock), daemon=True).start()
    for each in line.makefile("rb"):
        order = json.loads(each)
        if "out" in order:
            sys.stdout.buffer.write(order["out"].encode("latin-1"))
            sys.stdout.buffer.flush()
        if "err" in order:
            sys.stderr.buffer.write(order["err"].encode())
            sys.stderr.buffer.flush()
        if "tell" in order:
            _until_read()
            _tell(line, lock, read=order["tell"])
        if "exit" in order:
            os._exit(order["exit"])
    os._exit(3)


if __name__ == "__main__":
    main()
