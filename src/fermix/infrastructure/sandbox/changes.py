"""The sandbox ports of a running gateway: what the editor does, off the event loop, and in force at once."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from fermix.application.ports.sandbox import ChangeDone, ChangeRefused, Explained
from fermix.domain.authorization import Trust
from fermix.domain.sandbox_changes import ChangeProblem, SandboxChange, SandboxProposal
from fermix.infrastructure.sandbox.canonical import real_path, real_sandbox
from fermix.infrastructure.sandbox.live import LiveSandbox
from fermix.infrastructure.settings.home import absolute_path
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ConfigError

if TYPE_CHECKING:
    from fermix.infrastructure.sandbox.editor import SandboxEditor


class FileSandboxChanges:
    """The `SandboxChanges` and `SandboxView` ports on the configuration file of a home."""

    def __init__(self, *, settings: Settings, sandbox: LiveSandbox, environ: Mapping[str, str]) -> None:
        self._home = settings.home
        self._user_home = settings.user_home
        self._sandbox = sandbox
        self._environ = environ
        self._one_at_a_time = anyio.Lock()

    async def propose(
        self, change: SandboxChange, *, base: PurePath | None = None, reason: str | None = None
    ) -> SandboxProposal:
        """Check a change, as the port says."""

        def work() -> SandboxProposal:
            return self._editor().propose(change, base=base, reason=reason)

        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    async def apply(self, proposal: SandboxProposal) -> ChangeDone:
        """Write a change and put it in force, as the port says."""

        def work() -> SandboxProposal:
            done = self._editor().apply(proposal)
            with suppress(ConfigError):  # broken by somebody else since: whoever watches the file says so
                self._sandbox.replace(load_settings(self._home, self._environ).settings)
            return done

        async with self._one_at_a_time:
            return ChangeDone(proposal=await anyio.to_thread.run_sync(work))

    async def explain(self, path: str, *, trust: Trust | None, request_cwd: PurePath | None) -> Explained:
        """Which rule decides on a path, as the port says."""

        def work() -> Explained:
            asked = absolute_path(Path(path), base=Path(request_cwd or self._home), user_home=self._user_home)
            try:
                real = real_path(asked)
                cwd = None if request_cwd is None else real_path(request_cwd)
            except ValueError as exc:
                raise ChangeRefused(ChangeProblem.BAD_PATH, path) from exc
            verdict = real_sandbox(self._sandbox.stated()).judge(real, trust=trust, request_cwd=cwd)
            return Explained(path=real, verdict=verdict)

        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def _editor(self) -> "SandboxEditor":
        """Made for each change: few gateways see one, and the library that edits files takes a megabyte."""
        from fermix.infrastructure.sandbox.editor import SandboxEditor  # noqa: PLC0415 - imports that library

        return SandboxEditor(
            home=self._home,
            user_home=self._user_home,
            launch_folder=self._sandbox.launch_folder,
            environ=self._environ,
        )
