"""A keychain of the system for tests: gnome-keyring on a D-Bus of its own, in a home of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

NEEDS = ("program:dbus-daemon", "program:gnome-keyring-daemon", "package:secretstorage")
"""What a test says it needs that uses one."""

_LIMIT_SECONDS = 20.0
_PASSWORD = b"\n"

_BUS = """\
<busconfig>
  <type>session</type><listen>{address}</listen><auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"""
"""Without folders of services: the bus starts no second keychain while one is away."""

_LOCKS = """
from contextlib import closing
import secretstorage
with closing(secretstorage.dbus_init()) as bus:
    secretstorage.Collection(bus).lock()
"""
_IS_OPEN = """
import sys
from contextlib import closing
import secretstorage
with closing(secretstorage.dbus_init()) as bus:
    sys.exit(1 if secretstorage.Collection(bus).is_locked() else 0)
"""


class SystemKeychain:
    """One that runs.

    Attributes:
        environ: the variables that lead to it.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._keeper = self._started()

    def lock(self) -> None:
        """As its owner locks it."""
        self._python(_LOCKS, check=True)

    def unlock(self) -> None:
        """As logging in anew unlocks it."""
        self.end()
        self._keeper = self._started()

    def end(self) -> None:
        """End it; what it keeps stays on the disk."""
        self._keeper.kill()
        self._keeper.wait(timeout=_LIMIT_SECONDS)

    @contextmanager
    def hanging(self) -> Generator[None]:
        """Inside, it answers nobody."""
        self._keeper.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._keeper.send_signal(signal.SIGCONT)

    def _started(self) -> "subprocess.Popen[bytes]":
        command = ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"]
        nowhere = subprocess.DEVNULL
        keeper = subprocess.Popen(
            command, env=self._whole(), stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere
        )
        assert keeper.stdin is not None
        keeper.stdin.write(_PASSWORD)
        keeper.stdin.close()
        self._wait_until_open()
        return keeper

    def _wait_until_open(self) -> None:
        end = time.monotonic() + _LIMIT_SECONDS
        while self._python(_IS_OPEN, check=False) != 0:
            assert time.monotonic() < end, "the keychain did not open"
            time.sleep(0.05)

    def _python(self, code: str, *, check: bool) -> int:
        return subprocess.run(
            [sys.executable, "-c", code],
            check=check,
            env=self._whole(),
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_SECONDS,
        ).returncode

    def _whole(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self.environ}


@contextmanager
def system_keychain(folder: Path) -> Generator[SystemKeychain]:
    """Start one with nothing in it, unlocked; it ends with the block.

    Args:
        folder: an empty folder; addresses of sockets below it must be short.
    """
    address = f"unix:path={folder / 'bus'}"
    environ = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_RUNTIME_DIR": str(folder),
        "DBUS_SESSION_BUS_ADDRESS": address,
    }
    (folder / "bus.conf").write_text(_BUS.format(address=address))
    command = ["dbus-daemon", "--nofork", "--print-address", f"--config-file={folder / 'bus.conf'}"]
    with subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as bus:
        assert bus.stdout is not None
        assert bus.stdout.readline()
        keychain = SystemKeychain(environ)
        try:
            yield keychain
        finally:
            keychain.end()
            bus.kill()
