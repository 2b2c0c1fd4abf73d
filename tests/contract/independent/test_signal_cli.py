"""The real signal-cli, which none of us wrote: its framing, its errors, its start, its lock and its end.

Nothing leaves this machine: the account is one that signal-cli does not have.
"""

import fcntl
import json
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable
from fermix.infrastructure.channels.signal.attachments import SignalAttachments
from fermix.infrastructure.channels.signal.channel import SignalChannel
from fermix.infrastructure.channels.signal.errors import Code, NoAnswer, Refused, send_error
from fermix.infrastructure.channels.signal.keeper import Keeper
from fermix.infrastructure.channels.signal.mailbox import Mailbox
from fermix.infrastructure.channels.signal.outgoing_files import OutgoingFiles
from fermix.infrastructure.channels.signal.process import Launch
from fermix.infrastructure.channels.signal.transport import Transport
from fermix.testing.channel_checks.check import DirectedInbox
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.signal_cli.server import signal_server

pytestmark = [pytest.mark.anyio, pytest.mark.needs("program:signal-cli")]

ACCOUNT = "+12025550123"
_LIMIT_SECONDS = 90


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    java = {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ}
    return {**java, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


def launch(environment: Mapping[str, str], account: str | None, *, lock_patience: float = 10.0) -> Launch:
    return Launch(program="signal-cli", account=account, environment=environment, lock_patience=lock_patience)


def channel(started_with: Launch, folder: Path, *, lasting: bool = True) -> SignalChannel:
    clock = StoppedClock()
    return SignalChannel(
        number=ACCOUNT,
        transport=Transport(started_with, clock=clock, lasting=lasting),
        files=OutgoingFiles(folder / "outgoing", blobs=MemoryBlobs(clock=clock)),
        attachments=SignalAttachments(folder),
    )


@asynccontextmanager
async def kept(environment: Mapping[str, str]) -> AsyncGenerator[Keeper]:
    keeper = Keeper(launch(environment, None), mailbox=Mailbox())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.keep)
        yield keeper
        tasks.cancel_scope.cancel()


async def test_it_speaks_as_the_adapter_does(environment: Mapping[str, str]) -> None:
    versions = list[object]()
    with anyio.fail_after(_LIMIT_SECONDS):
        async with kept(environment) as keeper:
            line = await keeper.line()

            async def asks() -> None:
                versions.append(await line.request("version", {"padding": "ü" * 50_000}, within=30))

            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(asks)
            with pytest.raises(Refused) as unknown:
                await line.request("noSuchMethod", {}, within=30)
            params = {"account": ACCOUNT, "recipient": ["+12025550124"], "message": "never sent"}
            with pytest.raises(Refused) as nobody:
                await line.request("send", params, within=30)
    assert len(versions) == 10
    assert all(isinstance(told, dict) and told["version"].startswith("0.") for told in versions)
    assert unknown.value.code == Code.METHOD_NOT_FOUND
    assert nobody.value.code == Code.INVALID_PARAMS
    assert isinstance(send_error(nobody.value), ChannelUnreachable)


async def test_killed_it_is_started_again(environment: Mapping[str, str]) -> None:
    with anyio.fail_after(_LIMIT_SECONDS):
        async with kept(environment) as keeper:
            first = await keeper.line()
            for pid in _children():
                os.kill(pid, signal.SIGKILL)
            with pytest.raises(NoAnswer):
                await first.request("version", {}, within=30)
            second = await keeper.line()
            assert await second.request("listAccounts", {}, within=30) == []
    assert not _children()


def _children() -> list[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in listed if "signal-cli" in Path(f"/proc/{pid}/cmdline").read_text()]


@pytest.mark.parametrize("lasting", [True, False])
async def test_an_account_that_it_does_not_know_is_told(
    environment: Mapping[str, str], tmp_path: Path, lasting: bool
) -> None:
    with anyio.fail_after(_LIMIT_SECONDS):
        async with channel(launch(environment, ACCOUNT), tmp_path, lasting=lasting) as unknown:
            with pytest.raises(ChannelRejected, match="register or link"):
                await unknown.run(DirectedInbox(), cursor=None)


async def test_another_process_on_the_account_is_told(environment: Mapping[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data" / "signal-cli" / "data"
    data.mkdir(parents=True)
    known = {"path": "1", "environment": "LIVE", "number": ACCOUNT, "uuid": None}
    (data / "accounts.json").write_text(json.dumps({"accounts": [known], "version": 2}))
    (data / "1").write_text("{}")
    with (data / "1").open("r+") as file, anyio.fail_after(_LIMIT_SECONDS):
        fcntl.lockf(file, fcntl.LOCK_EX)
        async with channel(launch(environment, ACCOUNT, lock_patience=0.5), tmp_path) as second:
            with pytest.raises(ChannelRejected, match="another signal-cli uses this account"):
                await second.run(DirectedInbox(), cursor=None)


async def test_our_fake_program_refuses_as_the_real_one_does(environment: Mapping[str, str]) -> None:
    lines = (
        '{"jsonrpc": "2.0", "id": 1, "method": "version"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "noSuchMethod"}',
        '{"jsonrpc": "2.0", "id": 3, "method": "unsubscribeReceive", "params": {"subscription": 3}}',
        "no request",
        "[]",
    )
    how = ("jsonRpc", "--receive-mode", "manual")
    with anyio.fail_after(_LIMIT_SECONDS):
        real = await _answers("signal-cli", *how, lines=lines, environment=environment)
        with signal_server() as server:
            fake = await _answers(str(server.program), *how, lines=lines, environment=server.environment)
    assert len(real) == len(lines)
    assert fake == real


async def _answers(
    *command: str, lines: Sequence[str], environment: Mapping[str, str]
) -> dict[object, tuple[object, object]]:
    """By its number, or its code where it has none: the result of each answer, and its code."""
    answers = dict[object, tuple[object, object]]()
    async with await anyio.open_process(command, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send("\n".join((*lines, "")).encode())
        told = BufferedByteReceiveStream(process.stdout)
        while len(answers) < len(lines):
            answer = json.loads(await told.receive_until(b"\n", 100_000))
            code = answer.get("error", {}).get("code")
            answers[answer["id"] or code] = (answer.get("result"), code)
        process.kill()
    return answers
