"""One owner per home: a lock that the kernel takes back when its process dies."""

import fcntl
import json
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from fermix.application.ports.clock import Clock
from fermix.application.ports.control import OwnerKind
from fermix.infrastructure.system.home import home_unusable

_MAX_BYTES = 4096
_LOOK_EVERY = timedelta(milliseconds=100)
_KINDS = {OwnerKind.DAEMON: "a daemon", OwnerKind.IN_PROCESS: "a command that answers by itself"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a home.

    Attributes:
        since: when it took the home, with its time zone.
    """

    pid: int
    kind: OwnerKind
    since: datetime


class HomeBusy(Exception):
    """Another process owns the home; `holder` is `None` in the instant before it has said who it is."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        self.path = path
        self.holder = holder
        who = "another process"
        if holder is not None:
            when = holder.since.isoformat(sep=" ", timespec="seconds")
            who = f"{_KINDS[holder.kind]} (process {holder.pid}, since {when})"
        super().__init__(f"The home {path.parent} is in use by {who}.")


@contextmanager
def hold_home(lock: Path, holder: Holder) -> Generator[None]:
    """Own the home while the context lasts.

    The lock belongs to this process alone: the file is closed in programs it starts, and the kernel releases the
    lock when the process ends in any way. The file itself stays for ever, for two processes that lock two files of
    one name would both own the home.

    Args:
        lock: the lock file in the home, made if it is not there.
        holder: what others are told.

    Raises:
        HomeBusy: another process owns it.
        HomeUnusable: the file cannot be opened, or its file system knows no locks.
    """
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise home_unusable(lock.parent, exc) from exc
    try:
        _lock(handle, lock)
        _write(handle, lock, holder)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


@asynccontextmanager
async def hold_home_within(
    lock: Path, holder: Holder, *, clock: Clock, limit: timedelta
) -> AsyncGenerator[None]:
    """Own the home while the context lasts, waiting for its present owner to leave.

    Args:
        lock: the lock file in the home.
        holder: what others are told.
        clock: the home is asked for every tenth of a second of it.
        limit: how long to wait; with zero the home is tried once.

    Raises:
        HomeBusy: the owner did not leave in time.
        HomeUnusable: as for `hold_home`.
    """
    end = clock.monotonic() + limit.total_seconds()
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(hold_home(lock, holder))
                break
            except HomeBusy:
                if clock.monotonic() >= end:
                    raise
            await clock.sleep_until(clock.now() + _LOOK_EVERY)
        yield


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise HomeBusy(path, _read(handle)) from exc
    except OSError as exc:
        raise home_unusable(path.parent, exc) from exc


def _write(handle: int, path: Path, holder: Holder) -> None:
    text = json.dumps({"pid": holder.pid, "kind": holder.kind, "since": holder.since.isoformat()})
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, text.encode(), 0)
    except OSError as exc:
        raise home_unusable(path.parent, exc) from exc


def _read(handle: int) -> Holder | None:
    """Who wrote the file, unless that is a former owner: the present one may not have written yet."""
    try:
        raw = json.loads(os.pread(handle, _MAX_BYTES, 0))
        holder = Holder(
            pid=int(raw["pid"]), kind=OwnerKind(raw["kind"]), since=datetime.fromisoformat(raw["since"])
        )
    except (ValueError, KeyError, TypeError):
        return None
    return holder if _alive(holder.pid) else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
