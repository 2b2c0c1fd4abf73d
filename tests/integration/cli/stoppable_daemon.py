"""A process that serves a home's control socket until it is told to stop. Usage: HOME"""

import os
import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from fermix.infrastructure.local_socket.server import serve
from tests.integration.local_socket.scripted_control import ScriptedControl


async def main() -> None:
    control = ScriptedControl()
    async with anyio.create_task_group() as tasks:
        socket = Path(sys.argv[1]) / "daemon.sock"
        await tasks.start(partial(serve, socket, control, owner_uid=os.getuid()))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(control.stopped.wait)
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
