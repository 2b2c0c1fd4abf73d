"""The file tools on what the sandbox opens: grants, blocks, the open mode, and links between them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

import anyio
import pytest

from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.ids import TurnId
from fermix.domain.sandbox import Sandbox
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.sandbox import SandboxSettings
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.tools.registry import built_in_tools
from fermix.infrastructure.workspace.folders import FolderWorkspace
from fermix.infrastructure.workspace.roots import Places
from fermix.testing.memory_blobs import MemoryBlobs

pytestmark = pytest.mark.anyio


@dataclass(slots=True, kw_only=True)
class House:
    """A person's home, ours in it, a project, and a folder elsewhere; the sandbox can be replaced at any time."""

    user: Path
    elsewhere: Path
    sandbox: Sandbox

    @property
    def home(self) -> Path:
        return self.user / ".fermix"

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def project(self) -> Path:
        return self.user / "project"

    def set(
        self,
        mode: Literal["strict", "standard", "open"] = "standard",
        *,
        allowed: tuple[Path, ...] = (),
        blocked: tuple[Path, ...] = (),
        workspace: Path | None = None,
        launch: Path | None = None,
    ) -> None:
        stated = SandboxSettings(
            mode=mode, allowed_roots=allowed, blocked_roots=blocked, workspace_root=workspace
        )
        self.sandbox = sandbox_of(stated, home=self.home, user_home=self.user, launch_folder=launch)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, cwd: PurePath | None, trust: Trust | None
    ) -> ToolResult:
        places = Places(sandbox=lambda: self.sandbox)
        workspace = FolderWorkspace(places=places, clock=SystemClock())
        tools = {
            tool.capability.name: tool for tool in built_in_tools(workspace, MemoryBlobs(clock=SystemClock()))
        }
        context = ToolContext(turn=TurnId(1), scope=Scope(trust=trust), request_cwd=cwd)
        with anyio.fail_after(10):
            return await tools[name].call(arguments, context)

    async def read(
        self, path: str | Path, *, cwd: Path | None = None, trust: Trust | None = Trust.OPERATOR
    ) -> str:
        return (await self.call("file_read", {"path": str(path)}, cwd=cwd, trust=trust)).text

    async def find(self, pattern: str, *, cwd: Path | None = None) -> list[str]:
        found = await self.call("glob_search", {"pattern": pattern}, cwd=cwd, trust=Trust.OPERATOR)
        return found.text.split("\n")


@pytest.fixture
def house(tmp_path: Path) -> House:
    tmp_path = tmp_path.resolve()
    user, elsewhere = tmp_path / "user", tmp_path / "elsewhere"
    for folder in (user / ".fermix" / "workspace", user / "project" / "deep", user / ".ssh", elsewhere):
        folder.mkdir(parents=True)
    (user / "project" / "a.txt").write_text("of the project")
    (user / "project" / "deep" / "b.txt").write_text("deep")
    (user / ".ssh" / "id.txt").write_text("SECRET")
    (user / ".netrc").write_text("SECRET")
    (user / ".fermix" / "config.txt").write_text("SECRET")
    (elsewhere / "c.txt").write_text("from elsewhere")
    made = House(user=user, elsewhere=elsewhere, sandbox=None)  # type: ignore[arg-type]  # set below
    made.set()
    return made


@pytest.mark.requirement("jail.guest_roots")
@pytest.mark.parametrize("trust", [Trust.GUEST, None, Trust.OPERATOR])
async def test_a_granted_folder_is_read_whoever_asks_and_the_folder_of_a_guest_is_not(
    house: House, trust: Trust | None
) -> None:
    house.set("strict", allowed=(house.project,))
    assert await house.read(house.project / "a.txt", trust=trust) == "of the project"
    assert await house.read("~/project/a.txt", trust=trust) == "of the project"
    assert await house.read("a.txt", trust=trust) == "of the project"
    assert "outside" in await house.read(house.elsewhere / "c.txt", trust=trust)

    house.set("standard")
    seen = await house.read(house.project / "a.txt", cwd=house.project, trust=trust)
    assert (seen == "of the project") == (trust is Trust.OPERATOR)


async def test_a_change_counts_from_the_next_call_on(house: House) -> None:
    assert "outside" in await house.read(house.elsewhere / "c.txt")
    house.set(allowed=(house.elsewhere,))
    assert await house.read(house.elsewhere / "c.txt") == "from elsewhere"
    house.set(allowed=(house.elsewhere,), blocked=(house.elsewhere,))
    assert "outside" in await house.read(house.elsewhere / "c.txt")
    house.set()
    assert "outside" in await house.read(house.elsewhere / "c.txt")


async def test_blocked_folders_and_files_stay_closed_under_every_name(house: House) -> None:
    (house.project / "alias").symlink_to("deep")
    (house.project / "again.txt").hardlink_to(house.project / "deep" / "b.txt")
    house.set(allowed=(house.project,), blocked=(house.project / "deep", house.project / "deep" / "b.txt"))

    for path in ("deep/b.txt", "alias/b.txt", "again.txt"):
        assert "owner has closed" in await house.read(house.project / path)
    assert await house.find("*.txt") == [str(house.project / "a.txt")]


async def test_a_root_inside_a_blocked_folder_is_none(house: House) -> None:
    house.set("open", allowed=(house.project / "deep",), blocked=(house.project,))

    assert "closed" in await house.read(house.project / "deep" / "b.txt")
    assert "does not exist" in await house.read("b.txt")
    assert "closed" in await house.read(house.project / "a.txt", cwd=house.project)


async def test_a_blocked_workspace_leaves_nothing(house: House) -> None:
    house.set("strict", blocked=(house.workspace,))

    assert "outside" in await house.read("x")
    assert "outside" in (await house.find("*"))[0]


async def test_the_open_mode_reads_the_home_but_what_is_protected(house: House) -> None:
    (house.workspace / "w.txt").write_text("of the workspace")
    (house.user / "key").symlink_to(".ssh/id.txt")
    house.set("open", blocked=(house.user / "project" / "deep",))

    assert await house.read("~/project/a.txt") == "of the project"
    assert await house.read(house.workspace / "w.txt") == "of the workspace"
    for path in ("~/.ssh/id.txt", "~/.netrc", "~/.fermix/config.txt", "~/key", "~/project/../.ssh/id.txt"):
        assert "protected" in await house.read(path)
    assert await house.find("*.txt", cwd=house.project) == ["w.txt", str(house.project / "a.txt")]
    assert "outside" in await house.read(house.elsewhere / "c.txt")


async def test_a_link_may_lead_from_one_open_folder_into_another_and_nowhere_else(house: House) -> None:
    (house.workspace / "p").symlink_to(house.project)
    (house.workspace / "c").symlink_to("../../../elsewhere/c.txt")
    (house.project / "back").symlink_to(house.workspace / "c")
    house.set("strict", allowed=(house.project,))
    assert await house.read("p/a.txt") == "of the project"
    assert "outside" in await house.read("c")
    assert "outside" in await house.read("p/back")

    house.set("strict", allowed=(house.project, house.elsewhere))
    assert await house.read("c") == "from elsewhere"
    assert await house.read("p/back") == "from elsewhere"


async def test_links_between_folders_that_never_end_are_given_up(house: House) -> None:
    (house.workspace / "ping").symlink_to(house.project / "pong")
    (house.project / "pong").symlink_to(house.workspace / "ping")
    house.set("strict", allowed=(house.project,))

    assert "too many links" in await house.read("ping")


async def test_a_grant_that_became_a_link_to_something_protected_opens_nothing(house: House) -> None:
    granted = house.user / "granted"
    granted.symlink_to(house.user / ".ssh")
    house.set("strict", allowed=(granted, house.user / "gone"))

    assert "outside" in await house.read(granted / "id.txt")
    assert await house.find("*.txt") == ["Nothing matches."]


async def test_a_path_through_a_link_outside_is_known_by_where_it_leads(house: House, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(house.project)
    house.set("strict", allowed=(house.project,))

    assert await house.read(link / "a.txt") == "of the project"
    house.set("strict", allowed=(link,))
    assert await house.read(link / "a.txt") == "of the project"
    assert await house.read(house.project / "a.txt") == "of the project"


async def test_the_folder_that_the_gateway_was_started_in_is_read_but_not_in_the_strict_mode(
    house: House,
) -> None:
    house.set(launch=house.project)
    assert await house.read(house.project / "a.txt", trust=Trust.GUEST) == "of the project"
    house.set("strict", launch=house.project)
    assert "outside" in await house.read(house.project / "a.txt")


async def test_another_workspace_is_made_and_read(house: House) -> None:
    house.set(workspace=house.user / "agent")

    assert await house.find("*") == ["Nothing matches."]
    (house.user / "agent" / "x.txt").write_text("x")
    assert await house.read("x.txt") == "x"
    assert os.stat(house.user / "agent").st_mode & 0o777 == 0o700  # noqa: PTH116


async def test_a_workspace_in_a_protected_place_is_not_used(house: House) -> None:
    house.set(workspace=house.user / ".ssh")

    assert "outside" in await house.read("id.txt")
    assert "outside" in (await house.find("*"))[0]
