"""A gateway over a real configuration file and real folders, for tests of approvals."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

import anyio

from fermix.application.ports.channel import Buttons
from fermix.application.ports.sandbox import ChangeDone
from fermix.application.ports.tools import Tool
from fermix.application.ports.turns import ClaimedTurn, Claims, Turns
from fermix.application.turns.access import Sandboxed
from fermix.domain.authorization import Policies
from fermix.domain.ids import ChannelName, UserId
from fermix.domain.route import Target
from fermix.domain.sandbox_changes import SandboxChange, SandboxProposal
from fermix.entrypoints.preparation import prepare
from fermix.infrastructure.sandbox.changes import FileSandboxChanges
from fermix.infrastructure.sandbox.live import LiveSandbox
from fermix.infrastructure.tools.directory_access import RequestDirectoryAccess
from fermix.testing.memory_ledger import MemoryLedger
from tests.unit.application.house import TEST, House, TestChannel, allow, build
from tests.unit.application.media_parts import MediaParts
from tests.unit.application.scripted import ScriptedModel

FIRST_CODE = "AAAAAAAB"
SECOND_CODE = "AAAAAAAC"


@dataclass(slots=True)
class Place:
    """A user's folder with a project in it, the configuration, and the sandbox it makes."""

    user: Path
    live: LiveSandbox = field(init=False)
    files: FileSandboxChanges = field(init=False)

    def __post_init__(self) -> None:
        environ = {"HOME": str(self.user)}
        prepared = prepare(self.user / ".fermix", environ)
        self.live = LiveSandbox(settings=prepared.loaded.settings, launch_folder=None)
        self.files = FileSandboxChanges(settings=prepared.loaded.settings, sandbox=self.live, environ=environ)

    @property
    def project(self) -> Path:
        return self.user / "project"

    def config(self) -> str:
        path = self.user / ".fermix" / "config.toml"
        return path.read_text() if path.exists() else ""

    def granted(self) -> tuple[PurePath, ...]:
        return self.live.current().policy.allowed


def place_in(folder: Path) -> Place:
    user = folder.resolve() / "user"
    (user / "project").mkdir(parents=True)
    (user / "other").mkdir()
    return Place(user=user)


@dataclass(slots=True)
class PolicyOf:
    """The policies of a test with the sandbox as it stands now."""

    place: Place
    trusted: tuple[str, ...] = ()

    def current(self) -> Policies:
        policies = allow()
        access = replace(
            policies.channels[TEST], command_allowlist=frozenset(UserId(user) for user in self.trusted)
        )
        return Policies(channels={TEST: access}, sandbox=self.place.live.current())


@dataclass(slots=True)
class HeldChanges:
    """Changes that wait at a gate before they begin."""

    inner: FileSandboxChanges
    gate: anyio.Event
    reached: anyio.Event
    applied: int = 0

    async def propose(
        self, change: SandboxChange, *, base: PurePath | None = None, reason: str | None = None
    ) -> SandboxProposal:
        self.reached.set()
        await self.gate.wait()
        return await self.inner.propose(change, base=base, reason=reason)

    async def apply(self, proposal: SandboxProposal) -> ChangeDone:
        self.applied += 1
        return await self.inner.apply(proposal)


@dataclass(slots=True)
class TestButtons:
    """Remembers which buttons were taken away."""

    __test__ = False

    closed: list[tuple[str, str]] = field(default_factory=list)

    async def close(self, target: Target, token: str) -> None:
        self.closed.append((target.chat, token))


@dataclass(slots=True)
class SeenClaims:
    """The `Turns` port, and every turn that was claimed through it."""

    inner: Turns
    seen: list[ClaimedTurn] = field(default_factory=list)

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        claims = await self.inner.claim(limit=limit, channels=channels)
        self.seen += claims.turns
        return claims

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@dataclass(slots=True, kw_only=True)
class Approving:
    """A house in a place."""

    house: House
    place: Place
    model: ScriptedModel
    claims: SeenClaims
    buttons: TestButtons | None
    policies: PolicyOf


def approving(
    place: Place,
    model: ScriptedModel,
    *,
    buttons: bool = False,
    trusted: tuple[str, ...] = (),
    keeps_waiting: bool = True,
    slots: int = 4,
    changes: HeldChanges | None = None,
    ledger: MemoryLedger | None = None,
    tools: tuple[Tool, ...] = (),
    media: MediaParts | None = None,
) -> Approving:
    found: list[SeenClaims] = []

    def watched(turns: Turns) -> Turns:
        found.append(SeenClaims(turns))
        return found[0]  # type: ignore[return-value]  # the rest of the port is the inner one's

    policies = PolicyOf(place, trusted)
    taps: TestButtons | None = TestButtons() if buttons else None
    able: Buttons | None = taps
    house = build(
        model,
        tools=(RequestDirectoryAccess(), *tools),
        slots=slots,
        ledger=ledger,
        channel=TestChannel(buttons=able),
        wrap_turns=watched,
        sandbox=Sandboxed(view=place.files, changes=changes or place.files),
        keeps_waiting=keeps_waiting,
        policies=policies,
        media=media,
    )
    return Approving(house=house, place=place, model=model, claims=found[0], buttons=taps, policies=policies)
