"""The sandbox as it stands, and changing it."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol

from fermix.domain.authorization import Trust
from fermix.domain.sandbox import Sandbox, Verdict
from fermix.domain.sandbox_changes import ChangeProblem, SandboxChange, SandboxProposal


class SandboxSource(Protocol):
    """The sandbox is replaced whole at run time; whoever decides asks for the current value each time."""

    def current(self) -> Sandbox:
        """The sandbox in force, its paths as they were canonical when it was put in force."""
        ...


class ChangeRefused(Exception):
    """Nothing was changed.

    Attributes:
        problem: why.
        subject: the path or name it is about, as far as there is one.
        detail: what the configuration or the file system said, for `UNWRITABLE`.
    """

    def __init__(self, problem: ChangeProblem, subject: str = "", *, detail: str = "") -> None:
        self.problem = problem
        self.subject = subject
        self.detail = detail
        super().__init__(": ".join(part for part in (problem.value, subject, detail) if part))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDone:
    """A change that is in the configuration now, and in force.

    Attributes:
        proposal: what was done; its diff is what it took in the file as it stands now.
    """

    proposal: SandboxProposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What the sandbox says of one path; `path` is canonical."""

    path: PurePath
    verdict: Verdict


class SandboxChanges(Protocol):
    """Changes the owner's configuration: first looked at, then done."""

    async def propose(
        self, change: SandboxChange, *, base: PurePath | None = None, reason: str | None = None
    ) -> SandboxProposal:
        """Check a change against the configuration as it stands; nothing is written.

        Args:
            change: its path may begin with `~`; a relative one starts at `base` and is refused without.
            reason: goes along.

        Raises:
            ChangeRefused: it cannot be made.
        """
        ...

    async def apply(self, proposal: SandboxProposal) -> ChangeDone:
        """Write a proposed change and put it in force. Not cut short once begun.

        What others wrote meanwhile is kept. When the same change would open more by now than was proposed, or its
        path means another folder, it is refused.

        Raises:
            ChangeRefused: it was not made.
        """
        ...


class SandboxView(Protocol):
    """Looks at paths with the sandbox in force."""

    async def explain(self, path: str, *, trust: Trust | None, request_cwd: PurePath | None) -> Explained:
        """Which rule decides on a path for a turn of that trust.

        Raises:
            ChangeRefused: it is no path (`BAD_PATH`).
        """
        ...
