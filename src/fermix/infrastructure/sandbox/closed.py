"""What stays closed, by what it is on the disk and not by its name: links, mounts and spellings cannot hide it."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from fermix.domain.sandbox import RootProblem, Sandbox, is_within

Identity = tuple[int, int]
"""Device and inode: the file or folder itself, however its name is spelled or linked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Files and folders that are never opened.

    Attributes:
        protected: in every mode.
        blocked: by the owner.
    """

    protected: frozenset[Identity]
    blocked: frozenset[Identity]

    @property
    def all(self) -> frozenset[Identity]:
        """Both kinds."""
        return self.protected | self.blocked

    def problem_of(self, identity: Identity) -> RootProblem | None:
        """Which kind it is, or `None`."""
        if identity in self.protected:
            return RootProblem.PROTECTED
        return RootProblem.BLOCKED if identity in self.blocked else None

    def around(self, path: PurePath, *, up_to: PurePath | None = None) -> RootProblem | None:
        """Whether a folder, or one above it, is closed. Blocks.

        Args:
            up_to: this folder and those above it are not looked at for protection, only for blocks.
        """
        for folder in (path, *path.parents):
            for identity in identities([folder]):
                problem = self.problem_of(identity)
                is_open = up_to is not None and is_within(up_to, folder) and identity not in self.blocked
                if problem is not None and not is_open:
                    return problem
        return None


def closed_by(sandbox: Sandbox) -> Closed:
    """What a sandbox keeps closed, looked up anew each time: files and folders come and go. Blocks."""
    return Closed(
        protected=frozenset(identities(sandbox.ground.protected)),
        blocked=frozenset(identities(sandbox.policy.blocked)),
    )


def identities(paths: Iterable[PurePath]) -> Iterator[Identity]:
    """Those of the paths that are there, links followed. Blocks."""
    for path in paths:
        try:
            found = os.stat(path)  # noqa: PTH116 - a pure path
        except (OSError, ValueError):
            continue
        yield found.st_dev, found.st_ino
