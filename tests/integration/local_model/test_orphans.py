"""A `kill -9` of the gateway leaves no model behind, whatever the model was doing."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.local_model.processes import ends_within

pytestmark = pytest.mark.needs("local-model", "package:xllamacpp")

ROOT = Path(__file__).parents[3]
PARENT = textwrap.dedent("""
    import os
    import sys
    import time
    from pathlib import Path

    import anyio

    from tests.integration.local_model.runtimes import AnyFile, client_for, runtime_for

    ENDLESS = {
        "messages": [{"role": "user", "content": "Tell me everything."}],
        "max_tokens": 900, "ignore_eos": True, "stream": True,
    }


    async def generate(runtime):
        async with runtime.lease() as endpoint, client_for(endpoint) as client:
            async with client.stream("POST", "/chat/completions", json=ENDLESS) as response:
                lines = response.aiter_lines()
                await anext(lines)
                print(runtime.pid, flush=True)
                await anyio.sleep_forever()


    async def rest(runtime):
        async with runtime.lease():
            pass
        print(runtime.pid, flush=True)
        await anyio.sleep_forever()


    async def fork(runtime):
        async with runtime.lease():
            pass
        if os.fork() == 0:
            time.sleep(10)  # it holds a copy of the model's pipe meanwhile
            os._exit(0)
        print(runtime.pid, flush=True)
        await anyio.sleep_forever()


    async def load(runtime):
        async def ask():
            async with runtime.lease():
                raise AssertionError("a pipe was loaded")

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while runtime.pid is None:
                await anyio.lowlevel.checkpoint()
            print(runtime.pid, flush=True)


    async def main():
        async with runtime_for(AnyFile(path=Path(sys.argv[2]))) as runtime:
            await {"generate": generate, "rest": rest, "fork": fork, "load": load}[sys.argv[1]](runtime)


    anyio.run(main)
""")


@contextmanager
def parent_doing(what: str, file: Path) -> Generator[tuple[subprocess.Popen[str], int]]:
    """A gateway in a process of its own, and the id of its model's process."""
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, what, str(file)], stdout=subprocess.PIPE, env=environment, text=True
    ) as parent:
        model = 0
        try:
            assert parent.stdout is not None
            model = int(parent.stdout.readline())
            yield parent, model
        finally:
            parent.kill()
            if model and not ends_within(model, 0):
                os.kill(model, signal.SIGKILL)


@pytest.mark.parametrize("what", ["generate", "rest", "fork"])
def test_a_killed_gateway_takes_its_model_with_it(what: str, local_model_file: Path) -> None:
    with parent_doing(what, local_model_file) as (parent, model):
        assert not ends_within(model, 0)
        parent.send_signal(signal.SIGKILL)

        assert ends_within(model, 5)


def wait_until_it_loads(model: int, seconds: float) -> None:
    """Return once the process sleeps in the opening of a pipe, which the library does with Python locked."""
    process = Path(f"/proc/{model}")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        loaded = "xllamacpp" in (process / "maps").read_text()
        # Some kernels hide where a process sleeps.
        if loaded and (process / "wchan").read_text() in {"wait_for_partner", "fifo_open", "0"}:
            return
    pytest.fail("the library was never seen loading")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the end of the load must come first")
def test_a_gateway_killed_while_the_model_loads_takes_it_along(tmp_path: Path) -> None:
    pipe = tmp_path / "never.gguf"
    os.mkfifo(pipe)
    with parent_doing("load", pipe) as (parent, model):
        wait_until_it_loads(model, 10)
        parent.send_signal(signal.SIGKILL)

        assert ends_within(model, 5)


def test_a_terminated_gateway_takes_its_model_with_it(local_model_file: Path) -> None:
    with parent_doing("rest", local_model_file) as (parent, model):
        parent.send_signal(signal.SIGTERM)

        assert ends_within(model, 5)
