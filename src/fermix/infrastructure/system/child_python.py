"""Starting a program of this package in a process of its own, which inherits nothing that it need not have."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
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
        # Cancelled half-way a started child would have no owner; starting is short.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                self._command(module),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE if keep_errors else DEVNULL,
                env=self._whole(environment),
                start_new_session=True,
            )
        return process  # noqa: RET504 -- for mypy the scope may swallow what is inside

    def exchange(self, module: str, request: bytes, *, limit: timedelta) -> bytes | None:
        """Start a module as a program like `start`, give it a request and wait for its answer. Blocks.

        Args:
            module: its full name.
            request: what it reads on its standard input, to the end.
            limit: how long it may take from start to end; then it is killed.

        Returns:
            What it wrote; `None`: it took too long.

        Raises:
            OSError: no process could be started.
        """
        with Popen(
            self._command(module),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=self._whole(_NOTHING_MORE),
            start_new_session=True,
        ) as process:
            try:
                return process.communicate(request, timeout=limit.total_seconds())[0]
            except TimeoutExpired:
                return None
            finally:
                process.kill()

    def _command(self, module: str) -> list[str]:
        return [self.python, "-P", "-m", module]

    def _whole(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {**self.environment, "PYTHONPATH": os.pathsep.join(self.search_path), **environment}


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the gateway's environment that such a process may have: no keys, no proxies, no home."""
    return {name: environment[name] for name in _INHERITED if name in environment}
