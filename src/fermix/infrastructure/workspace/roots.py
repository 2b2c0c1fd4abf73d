"""Which folders a call may look into, as they are on the disk at that moment."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from fermix.domain.authorization import Trust
from fermix.domain.sandbox import EffectiveRoot, RootSource, Sandbox
from fermix.infrastructure.sandbox.canonical import real_path, real_sandbox
from fermix.infrastructure.sandbox.closed import Closed, Identity, closed_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder that may be looked into, with everything below it.

    Attributes:
        path: its real path.
        spellings: paths that mean it: the real one, and the one it was given by.
        relative: whether names below it are shown relative to it.
        identity: what is opened must be this folder still.
    """

    path: Path
    spellings: tuple[PurePath, ...]
    relative: bool
    identity: Identity

    def below(self, path: PurePath) -> tuple[str, ...] | None:
        """The parts of an absolute path below this root, `..` included; `None` when it does not begin here."""
        for spelling in self.spellings:
            if path.parts[: len(spelling.parts)] == spelling.parts:
                return path.parts[len(spelling.parts) :]
        return None

    def shown(self, parts: tuple[str, ...]) -> str:
        """What a path below this root is called; undecodable bytes become U+FFFD."""
        name = "/".join(parts) if self.relative else str(self.path.joinpath(*parts))
        return os.fsencode(name or ".").decode(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What one call may look into.

    Attributes:
        roots: in the order in which relative paths are looked for in them.
        closed: what is never opened below them.
        user_home: what `~` stands for.
    """

    roots: tuple[Root, ...]
    closed: Closed
    user_home: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders of one owner.

    Attributes:
        sandbox: gives the sandbox in force, its paths as they are written.
    """

    sandbox: Callable[[], Sandbox]

    def reach(self, cwd: PurePath | None) -> Reach:
        """What may be looked into right now; the workspace is made on first use. Blocks.

        Args:
            cwd: the folder that the owner asks from; whoever is not the owner brings none.

        Raises:
            OSError: the workspace cannot be made or reached.
        """
        stated = self.sandbox()
        sandbox = real_sandbox(stated)
        closed = closed_by(sandbox)
        folder = None if cwd is None else _folder(cwd)
        spelled = dict(_spellings(sandbox, stated))
        if folder is not None and cwd is not None:
            spelled.setdefault(folder, cwd)
        found = sandbox.roots(trust=Trust.OPERATOR, request_cwd=folder)
        roots = [
            root
            for each in found
            if (root := _root(each, sandbox, closed, spelled.get(each.path, each.path))) is not None
        ]
        return Reach(roots=tuple(roots), closed=closed, user_home=stated.ground.user_home)


def _root(root: EffectiveRoot, sandbox: Sandbox, closed: Closed, spelling: PurePath) -> Root | None:
    is_workspace = root.source is RootSource.WORKSPACE
    if closed.around(root.path, up_to=sandbox.ground.home if is_workspace else None) is not None:
        return None
    path = Path(root.path)
    if is_workspace:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        found = path.stat()
    except OSError:
        if is_workspace:
            raise
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    return Root(
        path=path,
        spellings=tuple(dict.fromkeys([root.path, spelling])),
        relative=is_workspace,
        identity=(found.st_dev, found.st_ino),
    )


def _folder(path: PurePath) -> PurePath | None:
    """The canonical path of a folder that is there."""
    try:
        return real_path(path, must_exist=True) if path.is_absolute() and Path(path).is_dir() else None
    except (OSError, ValueError):
        return None


def _spellings(sandbox: Sandbox, stated: Sandbox) -> Iterator[tuple[PurePath, PurePath]]:
    yield sandbox.policy.workspace, stated.policy.workspace
    yield sandbox.ground.user_home, stated.ground.user_home
    yield from zip(sandbox.policy.allowed, stated.policy.allowed, strict=True)
