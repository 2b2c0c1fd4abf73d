"""Nothing blocks the event loop: not a locked file, not a megabyte of text."""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from fermix.application.ports.control import AskEnd, OwnerKind
from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import strict_server
from tests.integration.entrypoints.test_container import asked, owned, write_config

pytestmark = pytest.mark.anyio

HOLD = """
import sys, time, apsw
ledger = apsw.Connection(sys.argv[1])
ledger.set_busy_timeout(5000)
ledger.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(1)
ledger.execute("COMMIT")
"""


@dataclass(slots=True)
class Gaps:
    """The longest time between two turns of the loop: on the wall, and of the loop's own computing.

    The wall tells a wait inside the loop. It also grows when the machine is busy, so computing is measured by
    the thread's processor time.
    """

    wall: float = 0.0
    computing: float = 0.0
    ticks: int = field(default=0)

    async def watch(self) -> None:
        wall, computing = time.perf_counter(), time.thread_time()
        while True:
            await anyio.sleep(0.002)
            now, spent = time.perf_counter(), time.thread_time()
            self.wall = max(self.wall, now - wall)
            self.computing = max(self.computing, spent - computing)
            self.ticks += 1
            wall, computing = now, spent


async def test_a_locked_ledger_and_a_megabyte_of_text_leave_the_loop_free(tmp_path: Path) -> None:
    with strict_server(Say(text="read it")) as server:
        write_config(tmp_path / "home", server, name="Fermix")
        async with owned(tmp_path / "home", OwnerKind.IN_PROCESS) as operations:
            assert (await asked(operations, "/whoami", "r0")).end is AskEnd.ANSWERED
            gaps = Gaps()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(gaps.watch)
                holder = await anyio.to_thread.run_sync(hold_the_lock, tmp_path / "home" / "ledger.db")
                stopped = await asked(operations, "/stop", "r1")
                answered = await asked(operations, "one megabyte " * 80_000, "r2")
                tasks.cancel_scope.cancel()
            holder.wait(timeout=10)
            assert stopped.text
            assert answered.text == "read it"
    assert gaps.ticks > 100
    assert gaps.wall < 0.5
    assert gaps.computing < 0.1


def hold_the_lock(ledger: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(ledger)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.stdout.close()
    return process
