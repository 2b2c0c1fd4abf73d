"""The killable daemon for a running load: it can die at every point of a message's life, and says where.

`python -m tests.e2e.harness.crash_daemon --far PORT --bell FILE --marker FILE [--kill in:stream:7]`. Beside what
the killable daemon replaces, its model dies before, in and after an answer, and it has a bell: a tool that the
world hears once for each line in a file.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.model import Model, ModelAnswer, ModelProfile, ModelRequest
from fermix.application.ports.models import Models
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.capability import Capability, RiskClass
from fermix.entrypoints.container import Container
from fermix.entrypoints.daemon import main as run_daemon
from tests.e2e.harness.killable_daemon import Death, put_in

RING = "ring_bell"


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalModel:
    """A request, each piece of its answer, and the whole answer are moments to die at."""

    inner: Model
    death: Death

    @property
    def profile(self) -> ModelProfile:
        return self.inner.profile

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        def hear(text: str) -> None:
            on_text(text)
            if self.death.inside("stream"):
                self.death.strike()

        with self.death.around("model"):
            return await self.inner.complete(request, on_text=hear, on_thought=on_thought)


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalModels:
    """The models of the configuration, each mortal."""

    inner: Models
    death: Death

    def resolve(self, requested: str | None) -> Model:
        return MortalModel(inner=self.inner.resolve(requested), death=self.death)

    def primary(self) -> ModelProfile | None:
        return self.inner.primary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """Rings, and writes down for which turn; a second call is a second ring."""

    path: Path
    death: Death

    @property
    def capability(self) -> Capability:
        return Capability(
            name=RING,
            description="Rings the bell.",
            risk=RiskClass.EXTERNAL_API,
            owner_data=False,
            repeatable=False,
        )

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        with self.death.around("tool"), self.path.open("ab", buffering=0) as file:
            file.write(f"{context.turn}\n".encode())
        return ToolResult(text="It rang.")


def prepare(container: Container, *, port: int, death: Death, bell: Path) -> None:
    """Put everything in."""
    put_in(container, port=port, death=death)
    container.toolbox.override(Toolbox([Bell(path=bell, death=death)]))
    container.models.override(MortalModels(inner=container.models(), death=death))


def main() -> int:
    """Run it; the exit status is the daemon's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--far", type=int, required=True)
    parser.add_argument("--bell", type=Path, required=True)
    parser.add_argument("--marker", type=Path, required=True)
    parser.add_argument("--kill", type=Death.parse, default=Death())
    given = parser.parse_args()
    death = replace(given.kill, marker=given.marker)
    return run_daemon([], override=partial(prepare, port=given.far, death=death, bell=given.bell))


if __name__ == "__main__":
    raise SystemExit(main())
