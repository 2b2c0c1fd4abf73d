"""Which run of the kernel this is: it tells a killed process from a machine that lost its power."""

import subprocess
import sys
from pathlib import Path

LINUX_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MAC_NAMES = ("kern.bootsessionuuid", "kern.boottime")
_SYSCTL_SECONDS = 5


def kernel_boot_id(*, source: Path = LINUX_BOOT_ID) -> str | None:
    """The id of the current boot as text without line breaks, or `None` where the system does not tell.

    On Linux the kernel's random id. On macOS its session UUID; older systems have only the boot time, which moves
    when the clock is set, and a changed id merely costs one check too many. A caller treats `None` as changed.

    Args:
        source: the file that Linux publishes the id in.
    """
    if sys.platform == "darwin":
        answers = (_sysctl(name) for name in _MAC_NAMES)
        return next((answer for answer in answers if answer), None)
    try:
        return " ".join(source.read_text(encoding="ascii").split()) or None
    except (OSError, UnicodeDecodeError):
        return None


def _sysctl(name: str) -> str | None:
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name],
            capture_output=True,
            check=True,
            text=True,
            timeout=_SYSCTL_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return " ".join(done.stdout.split()) or None
