import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.control import OwnerKind
from fermix.infrastructure.system.home import HomeUnusable
from fermix.infrastructure.system.lock import Holder, HomeBusy, hold_home, hold_home_within

_SINCE = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
_ME = Holder(pid=1, kind=OwnerKind.IN_PROCESS, since=_SINCE)

_OWNER = """
import os, subprocess, sys
from datetime import UTC, datetime
from pathlib import Path
from fermix.application.ports.control import OwnerKind
from fermix.infrastructure.system.lock import Holder, hold_home

holder = Holder(pid=os.getpid(), kind=OwnerKind.DAEMON, since=datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
with hold_home(Path(sys.argv[1]), holder):
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def _owner(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds `lock` and has started a program of its own."""
    command = [sys.executable, "-c", _OWNER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process
        finally:
            process.kill()
            subprocess.run(["kill", str(child)], check=True)


@dataclass
class _CountingClock:
    """Time moves only when somebody sleeps; `on_sleep` sees each sleep."""

    instant: datetime = _SINCE
    sleeps: int = 0
    leaves_after: int = 1_000
    owner: ExitStack = field(default_factory=ExitStack)

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return self.instant.timestamp()

    async def sleep_until(self, instant: datetime) -> None:
        await anyio.lowlevel.checkpoint()
        self.instant = instant
        self.sleeps += 1
        if self.sleeps == self.leaves_after:
            self.owner.close()


@pytest.mark.requirement("recovery.one_owner_per_home")
def test_a_second_owner_is_told_who_holds_the_home(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    with _owner(lock) as process, pytest.raises(HomeBusy) as caught, hold_home(lock, _ME):
        pass

    assert caught.value.holder == Holder(pid=process.pid, kind=OwnerKind.DAEMON, since=_SINCE)
    assert f"a daemon (process {process.pid}, since 2026-03-01 09:30:00+00:00)" in str(caught.value)


def test_a_killed_owner_frees_the_home_though_its_children_live(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    with _owner(lock) as process:
        process.kill()
        process.wait(timeout=5)

        with hold_home(lock, _ME):
            assert lock.stat().st_mode & 0o777 == 0o600


def test_the_file_stays_and_names_nobody_after_the_owner_left(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    with hold_home(lock, _ME):
        inode = lock.stat().st_ino
    with hold_home(lock, _ME):
        assert lock.stat().st_ino == inode

    assert lock.read_bytes() == b""


def test_a_former_owner_that_died_is_not_named(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    gone = subprocess.Popen(["true"])
    gone.wait(timeout=5)
    dead = Holder(pid=gone.pid, kind=OwnerKind.DAEMON, since=_SINCE)

    with hold_home(lock, dead), pytest.raises(HomeBusy) as caught, hold_home(lock, _ME):
        pass

    assert caught.value.holder is None


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(HomeUnusable), hold_home(tmp_path / "home.lock", _ME):
        pass

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.anyio
async def test_waiting_takes_the_home_once_its_owner_leaves(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    clock = _CountingClock(leaves_after=3)
    clock.owner.enter_context(hold_home(lock, _ME))

    with anyio.fail_after(5):
        async with hold_home_within(lock, _ME, clock=clock, limit=timedelta(seconds=60)):
            assert clock.sleeps == 3


@pytest.mark.anyio
async def test_waiting_ends_at_its_limit(tmp_path: Path) -> None:
    lock = tmp_path / "home.lock"
    clock = _CountingClock()
    with clock.owner, anyio.fail_after(5):
        clock.owner.enter_context(hold_home(lock, _ME))
        with pytest.raises(HomeBusy):
            async with hold_home_within(lock, _ME, clock=clock, limit=timedelta(seconds=2)):
                pass

    assert clock.instant - _SINCE == timedelta(seconds=2)


@pytest.mark.anyio
async def test_a_limit_of_zero_tries_once(tmp_path: Path) -> None:
    clock = _CountingClock()
    async with hold_home_within(tmp_path / "home.lock", _ME, clock=clock, limit=timedelta(0)):
        assert clock.sleeps == 0
