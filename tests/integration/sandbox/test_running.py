"""The sandbox of a running gateway: changes count at once, edits of the file within one look."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path, PurePath

import anyio
import pytest

from fermix.application.ports.control import OwnerKind
from fermix.application.ports.sandbox import ChangeRefused
from fermix.application.ports.workspace import PathProblem, PathRefused
from fermix.domain.sandbox import RootSource, SandboxMode, SandboxRule, Unreachable
from fermix.domain.sandbox_changes import ChangeProblem, GrantPath, RevokePath, SetMode
from fermix.domain.trust import Trust
from fermix.entrypoints.container import Container
from fermix.entrypoints.lifespan import open_container
from fermix.entrypoints.preparation import prepare
from fermix.infrastructure.settings.watching import LOOK_EVERY, watch_policies
from fermix.testing.clock import StoppedClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "user"
    (folder / "project").mkdir(parents=True)
    (folder / "project" / "a.txt").write_text("of the project")
    return folder


@asynccontextmanager
async def gateway(user: Path) -> AsyncGenerator[Container]:
    environ = {"HOME": str(user)}
    prepared = prepare(user / ".fermix", environ)
    async with open_container(
        prepared.home,
        prepared.loaded.settings,
        kind=OwnerKind.DAEMON,
        environ=environ,
        on_broken=lambda: None,
    ) as (container, _):
        yield container


async def read(container: Container, path: Path) -> str:
    page = await container.workspace().read(str(path), first=1, count=None, cwd=None)
    return page.text


async def test_a_change_is_in_force_when_it_is_done(user: Path) -> None:
    file = user / "project" / "a.txt"
    async with gateway(user) as container:
        changes = container.sandbox_changes()
        with pytest.raises(PathRefused) as refused:
            await read(container, file)
        proposal = await changes.propose(GrantPath(path=PurePath("~/project")), reason="to read it")
        with pytest.raises(PathRefused):
            await read(container, file)

        done = await changes.apply(proposal)

        assert refused.value.reason is PathProblem.OUTSIDE
        assert done.proposal == proposal
        assert await read(container, file) == "of the project"
        assert container.sandbox().current().policy.allowed == (user / "project",)
        assert container.policies().current().sandbox == container.sandbox().current()
        await changes.apply(await changes.propose(RevokePath(path=user / "project")))
        with pytest.raises(PathRefused):
            await read(container, file)


async def test_two_changes_at_once_are_both_made(user: Path) -> None:
    (user / "other").mkdir()
    async with gateway(user) as container:
        changes = container.sandbox_changes()

        async def grant(name: str) -> None:
            await changes.apply(await changes.propose(GrantPath(path=user / name)))

        async with anyio.create_task_group() as group:
            group.start_soon(grant, "project")
            group.start_soon(grant, "other")

        assert set(container.sandbox().current().policy.allowed) == {user / "project", user / "other"}


async def test_an_edit_of_the_file_counts_after_the_next_look_and_a_broken_one_does_not(user: Path) -> None:
    environ = {"HOME": str(user)}
    home = user / ".fermix"
    clock = StoppedClock()
    async with gateway(user) as container, anyio.create_task_group() as group:
        loaded = prepare(home, environ).loaded
        replaced = anyio.Event()

        def replace(settings: object) -> bool:
            changed = container.live_policies().replace(settings)  # type: ignore[arg-type]
            anyio.from_thread.run_sync(replaced.set)
            return changed

        async def watch() -> None:
            await watch_policies(loaded, environ=environ, replace=replace, clock=clock)

        async def look() -> None:
            with anyio.fail_after(5):
                while not clock.sleepers:
                    await anyio.lowlevel.checkpoint()
            clock.advance(LOOK_EVERY)

        group.start_soon(watch)
        await look()
        (home / "config.toml").write_text('[sandbox]\nallowed_roots = ["~/project"]\nmode = "strict"\n')
        await look()
        with anyio.fail_after(5):
            await replaced.wait()
        assert await read(container, user / "project" / "a.txt") == "of the project"
        assert container.sandbox().current().policy.mode is SandboxMode.STRICT

        (home / "config.toml").write_text("[sandbox\n")
        await look()
        await look()
        await look()
        assert await read(container, user / "project" / "a.txt") == "of the project"
        group.cancel_scope.cancel()


async def test_a_path_is_explained_with_the_sandbox_in_force(user: Path) -> None:
    async with gateway(user) as container:
        view = container.sandbox_changes()

        own = await view.explain("a.txt", trust=Trust.OPERATOR, request_cwd=user / "project")
        guest = await view.explain(str(user / "project"), trust=Trust.GUEST, request_cwd=user / "project")
        secret = await view.explain("~/.fermix/config.toml", trust=Trust.OPERATOR, request_cwd=None)

        assert own.path == user / "project" / "a.txt"
        assert own.verdict.root.source is RootSource.REQUEST_CWD  # type: ignore[union-attr]
        assert guest.verdict == Unreachable(rule=SandboxRule.OUTSIDE)
        assert secret.verdict == Unreachable(rule=SandboxRule.PROTECTED, by=user / ".fermix")
        with pytest.raises(ChangeRefused):
            await view.explain("a\0b", trust=None, request_cwd=None)


async def test_a_change_that_somebody_overtook_is_refused(user: Path) -> None:
    async with gateway(user) as container:
        changes = container.sandbox_changes()
        await changes.apply(await changes.propose(SetMode(mode=SandboxMode.OPEN)))
        grant = await changes.propose(GrantPath(path=user / "project"))
        await changes.apply(await changes.propose(SetMode(mode=SandboxMode.STRICT)))

        with pytest.raises(ChangeRefused) as caught:
            await changes.apply(grant)

        assert caught.value.problem is ChangeProblem.OUTDATED
        assert container.sandbox().current().policy.allowed == ()
