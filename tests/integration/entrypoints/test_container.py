"""The composition root: every provider can be built, and two homes live in one process without touching."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import apsw
import pytest

from fermix.application.operations.control import Operations
from fermix.application.ports.control import (
    AskEnd,
    AskEnded,
    AskRequest,
    OwnerKind,
    Principal,
    PrincipalCapability,
)
from fermix.domain.ids import ChannelName
from fermix.entrypoints.channels import doors
from fermix.entrypoints.container import Container
from fermix.entrypoints.endings import GatewayCrashed
from fermix.entrypoints.in_process import own_home
from fermix.entrypoints.lifespan import open_container
from fermix.entrypoints.owner import own
from fermix.entrypoints.preparation import prepare
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.infrastructure.local_socket.client import connect
from fermix.infrastructure.local_socket.queries import status
from fermix.infrastructure.system.lock import HomeBusy
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server

pytestmark = pytest.mark.anyio

OWNER = Principal(uid=0, pid=None, capabilities=frozenset(PrincipalCapability))


def write_config(home: Path, server: StrictServer, *, name: str) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        f"""
[fermix_core.agent]
name = "{name}"
[fermix_core.providers.strict]
base_url = "{server.base_url}"
api_key = "test-key"
default_model = "strict-1"
[fermix_web]
port = 0
"""
    )


async def test_every_provider_builds_what_it_promises(tmp_path: Path) -> None:
    prepared = prepare(tmp_path / "home", {"HOME": str(tmp_path)})
    async with open_container(
        prepared.home, prepared.loaded.settings, kind=OwnerKind.DAEMON, environ={}, on_broken=lambda: None
    ) as (container, takeover):
        assert takeover.first
        for name, provider in container.providers.items():
            assert provider() is not None, name
        assert container.gateway() is container.gateway()
        assert container.core().gateway is container.gateway()


def test_the_container_says_what_it_was_not_given() -> None:
    with pytest.raises(Exception, match="undefined dependencies"):
        Container().check_dependencies()


@pytest.mark.requirement("ingress.normalise.reserved_channels")
@pytest.mark.parametrize("name", ["cli", "daemon"])
def test_no_adapter_can_take_the_name_of_the_control_socket(tmp_path: Path, name: str) -> None:
    settings = prepare(tmp_path / "home", {"HOME": str(tmp_path)}).loaded.settings
    blobs = MemoryBlobs(clock=StoppedClock())
    with pytest.raises(ValueError, match="belongs to the control socket"):
        doors(settings, CliChannel(blobs=blobs), {ChannelName(name): CliChannel(blobs=blobs)})


@asynccontextmanager
async def owned(home: Path, kind: OwnerKind = OwnerKind.IN_PROCESS) -> AsyncGenerator[Operations]:
    prepared = prepare(home, {"HOME": str(home.parent)})

    async def run(*, task_status: anyio.abc.TaskStatus[Operations] = anyio.TASK_STATUS_IGNORED) -> None:
        await own(
            prepared.home,
            prepared.loaded,
            kind=kind,
            environ={"HOME": str(home.parent)},
            task_status=task_status,
        )

    async with anyio.create_task_group() as tasks:
        operations = await tasks.start(run)
        yield operations
        operations.stopping.set()


async def asked(operations: Operations, text: str, request: str) -> AskEnded:
    with anyio.fail_after(20):
        async with operations.ask(AskRequest(request=request, text=text), OWNER) as events:
            ended = [event async for event in events][-1]
    assert isinstance(ended, AskEnded)
    return ended


async def test_two_homes_live_in_one_process(tmp_path: Path) -> None:
    with (
        strict_server(Say(text="from one"), Say(text="again one")) as one,
        strict_server(Say(text="from two")) as two,
    ):
        write_config(tmp_path / "one", one, name="Uno")
        write_config(tmp_path / "two", two, name="Due")
        async with owned(tmp_path / "one") as first, owned(tmp_path / "two") as second:
            assert first.identity.instance != second.identity.instance
            assert (await asked(first, "hello", "r1")).text == "from one"
            assert (await asked(second, "hello", "r1")).text == "from two"
            assert (await asked(first, "more", "r2")).text == "again one"
        assert "Uno" in str(one.requests)
        assert "Due" not in str(one.requests)
        assert "Due" in str(two.requests)
        for home in ("one", "two"):
            assert not (tmp_path / home / "daemon.json").exists()


async def test_a_home_has_one_owner_and_the_second_learns_who(tmp_path: Path) -> None:
    with strict_server() as server:
        write_config(tmp_path / "home", server, name="Fermix")
        async with owned(tmp_path / "home"):
            prepared = prepare(tmp_path / "home", {"HOME": str(tmp_path)})
            with pytest.raises(HomeBusy) as busy:
                await own(prepared.home, prepared.loaded, kind=OwnerKind.IN_PROCESS, environ={})
            assert busy.value.holder is not None


async def test_a_refused_key_reaches_the_asker_as_a_sentence(tmp_path: Path) -> None:
    with strict_server(key="another-key") as server:
        write_config(tmp_path / "home", server, name="Fermix")
        async with owned(tmp_path / "home") as operations:
            ended = await asked(operations, "hello", "r1")
    assert ended.end is AskEnd.FAILED
    assert ended.notice is not None
    assert "refused the API key" in ended.notice
    assert "test-key" not in ended.notice


async def test_status_and_stop_go_over_the_socket(tmp_path: Path) -> None:
    with strict_server() as server:
        write_config(tmp_path / "home", server, name="Fermix")
        async with owned(tmp_path / "home", OwnerKind.IN_PROCESS) as operations:

            def talk() -> str:
                with connect(tmp_path / "home") as client:
                    told = status(client)
                    client.stop()
                return str(told)

            said = await anyio.to_thread.run_sync(talk)
            assert operations.identity.instance in said
            with anyio.fail_after(5):
                await operations.stopping.wait()


def test_a_bug_in_the_gateway_is_a_sentence_for_people_and_a_traceback_in_the_log(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {"HOME": str(tmp_path)}
    with own_home(prepare(home, environ), environ, verbose=False):
        pass
    ledger = apsw.Connection(str(home / "ledger.db"))
    ledger.execute("ALTER TABLE lanes RENAME COLUMN served TO gone")
    ledger.close()
    with pytest.raises(GatewayCrashed, match="failed unexpectedly") as crashed:
        run_until_it_ends(home, environ)
    assert str(home / "logs" / "fermix.log") in str(crashed.value)
    assert "no such column" in (home / "logs" / "fermix.log").read_text()


def run_until_it_ends(home: Path, environ: dict[str, str]) -> None:
    with own_home(prepare(home, environ), environ, verbose=False):
        pass
