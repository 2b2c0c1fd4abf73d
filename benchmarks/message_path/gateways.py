"""The programs that are compared, each as a process between the two far sides."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.message_path.far_side import FIRST_CHAT, TOKEN, FarSide
from benchmarks.message_path.web import serve

START_SECONDS = 30
_HERE = Path(__file__).parent
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway that polls.

    Attributes:
        ready_after: milliseconds from the start of its process to its first poll.
    """

    far: FarSide
    pid: int
    ready_after: float

    def processor(self) -> float:
        """Seconds of processor time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident(self) -> float:
        """Its memory now, MiB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE / 2**20


Program = Callable[[str, str, Path], tuple[Sequence[str], dict[str, str]]]
"""Command and environment for a Bot API root, a model root, and a folder."""


def floor(api: str, model: str, folder: Path) -> tuple[Sequence[str], dict[str, str]]:
    """The least."""
    return [str(_HERE / "floor.py"), f"{api}/bot{TOKEN}", model, str(folder / "floor.db")], {}


def usual(api: str, model: str, _folder: Path) -> tuple[Sequence[str], dict[str, str]]:
    """The usual way."""
    return [str(_HERE / "usual.py"), f"{api}/bot{TOKEN}", model], {}


def fermix(api: str, model: str, folder: Path) -> tuple[Sequence[str], dict[str, str]]:
    """The daemon with its defaults, and everybody in these chats allowed."""
    folder.chmod(0o700)
    everybody = ", ".join(f'"{chat}"' for chat in range(FIRST_CHAT, FIRST_CHAT + 3000))
    (folder / "config.toml").write_text(
        f'[fermix_core.providers.quick]\nbase_url = "{model}"\ndefault_model = "quick-1"\n'
        f'[fermix_channels.telegram]\nbot_token = "{TOKEN}"\napi_base_url = "{api}"\n'
        f'owner_user_id = "{FIRST_CHAT}"\nallowed_user_ids = [{everybody}]\n[fermix_web]\nport = 0\n'
    )
    return ["-m", "fermix.entrypoints.daemon"], {"FERMIX_HOME": str(folder)}


@asynccontextmanager
async def running(program: Program, folder: Path) -> AsyncGenerator[Gateway]:
    """Start a program between fresh far sides, on a processor of its own where there are two.

    Raises:
        TimeoutError: it does not poll.
    """
    far = FarSide()
    bot_api, api_port = await serve(far.bot_api)
    model, model_port = await serve(far.model)
    api, model_root = f"http://127.0.0.1:{api_port}", f"http://127.0.0.1:{model_port}/v1"
    began = time.monotonic()
    try:
        async with started(program, api, model_root, folder, far.polled) as pid:
            yield Gateway(far=far, pid=pid, ready_after=(time.monotonic() - began) * 1000)
    finally:
        for server in (bot_api, model):
            server.close()


@asynccontextmanager
async def started(
    program: Program, api: str, model: str, folder: Path, polled: asyncio.Event
) -> AsyncGenerator[int]:
    """A program's process, from its first poll on; on a processor of its own where there are two.

    Raises:
        TimeoutError: it does not poll.
    """
    arguments, more = program(api, model, folder)
    process = _start(arguments, more, folder)
    _part_processors(process.pid)
    try:
        await asyncio.wait_for(polled.wait(), START_SECONDS)
        yield process.pid
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, START_SECONDS)


def _part_processors(pid: int) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) > 1:
        os.sched_setaffinity(0, allowed[:1])
        os.sched_setaffinity(pid, allowed[1:2])
        os.sched_setaffinity(0, allowed)


def _start(arguments: Sequence[str], more: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env={**kept, "HOME": str(folder), **more},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
