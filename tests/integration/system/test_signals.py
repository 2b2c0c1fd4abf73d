import signal
import subprocess
import sys

import pytest

_PROGRAM = """
import signal
import anyio
from fermix.infrastructure.system.signals import wait_for_stop_signal

async def main() -> None:
    async def stop(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        number = await wait_for_stop_signal(task_status=task_status)
        print(number.name, flush=True)

    async with anyio.create_task_group() as tasks:
        await tasks.start(stop)
        print("ready", flush=True)

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_ends_the_wait_and_not_the_process(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        output, _ = process.communicate(timeout=10)

    assert output == f"{number.name}\n"
    assert process.returncode == 0
