"""Waiting for the end of a process that is not ours to reap."""

import os
import select
import subprocess
import sys
import time


def ends_within(pid: int, seconds: float) -> bool:
    """Whether the process is gone (or only waits to be reaped) before the time is over."""
    if sys.platform != "linux":
        return _gone_from_the_list(pid, seconds)
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([descriptor], [], [], seconds)
        return bool(readable)
    finally:
        os.close(descriptor)


def _gone_from_the_list(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
        if not listed.stdout.strip() or listed.stdout.startswith(b"Z"):
            return True
    return False
