"""Starting a program of this package in a process of its own, which inherits nothing that it need not have."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from types import MappingProxyType

import anyio
from anyio.abc import Process

_INHERITED = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
)
"""What a Python with shared libraries in an odd place needs to start at all, and nothing else of the gateway's."""

_NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start Python for a process of ours.

    Attributes:
        python: the interpreter.
        search_path: where it finds this package and its libraries; by default where we found them.
        environment: its whole environment but for what is set here. `child_environment` makes it.
    """

    python: str = sys.executable
    search_path: tuple[str, ...] = field(default_factory=lambda: tuple(path for path in sys.path if path))
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    async def start(
        self, module: str, *, environment: Mapping[str, str] = _NOTHING_MORE, keep_errors: bool = False
    ) -> Process:
        """Start a module as a program, with pipes for what goes in and comes out; the caller must end it.

        A session of its own keeps the terminal's Ctrl-C, meant for the question, away from it.

        Args:
            module: its full name.
            environment: what it needs besides.
            keep_errors: whether there is a pipe for its errors too, which the caller must read; else they are
                thrown away.

        Raises:
            OSError: no process could be started.
        """
        whole = {**self.environment, "PYTHONPATH": os.pathsep.join(self.search_path), **environment}
        # Cancelled half-way a started child would have no owner; starting is short.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [self.python, "-P", "-m", module],
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE if keep_errors else DEVNULL,
                env=whole,
                start_new_session=True,
            )
        return process  # noqa: RET504 -- for mypy the scope may swallow what is inside


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the gateway's environment that such a process may have: no keys, no proxies, no home."""
    return {name: environment[name] for name in _INHERITED if name in environment}
