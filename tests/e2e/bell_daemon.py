"""The killable daemon with one more capability: a bell, which the world hears once for each line in a file.

`python -m tests.e2e.bell_daemon --far PORT --bell FILE [--dies-ringing] [--kill after:begin_effect:1]`.
The product itself knows nothing of any of this.
"""

import argparse
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.capability import Capability, RiskClass
from fermix.entrypoints.container import Container
from fermix.entrypoints.daemon import main as run_daemon
from tests.e2e.harness.killable_daemon import Death, put_in

RING = "ring_bell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """Rings; a second call is a second ring. With `dies_ringing` the process is gone before it can say so."""

    path: Path
    dies_ringing: bool

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
        with self.path.open("ab") as file:
            file.write(b"ring\n")
        if self.dies_ringing:
            os.kill(os.getpid(), signal.SIGKILL)
        return ToolResult(text="It rang.")


def hang_up(container: Container, *, port: int, death: Death, bell: Bell) -> None:
    """Put the bell in beside what the killable daemon brings."""
    put_in(container, port=port, death=death)
    container.toolbox.override(Toolbox([bell]))


def main() -> int:
    """Run it; the exit status is the daemon's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--far", type=int, required=True)
    parser.add_argument("--bell", type=Path, required=True)
    parser.add_argument("--dies-ringing", action="store_true")
    parser.add_argument("--kill", type=Death.parse, default=Death())
    given = parser.parse_args()
    bell = Bell(path=given.bell, dies_ringing=given.dies_ringing)
    return run_daemon([], override=partial(hang_up, port=given.far, death=given.kill, bell=bell))


if __name__ == "__main__":
    raise SystemExit(main())
