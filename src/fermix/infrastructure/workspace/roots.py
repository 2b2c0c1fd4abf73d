"""Which folders may be looked into, and which never."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

_PROTECTED = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".docker",
    ".kube",
    ".codex",
    ".claude",
    ".anthropic",
    ".config/gh",
    ".config/gcloud",
    ".local/share/keyrings",
    ".password-store",
    "Library/Keychains",
)
"""Folders of a home that hold credentials."""

Identity = tuple[int, int]
"""Device and inode: the folder itself, however its name is spelled or linked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder that may be looked into, with everything below it.

    Attributes:
        path: its real path.
        spellings: paths that mean it: the real one, and the one it was given by.
        relative: whether names below it are shown relative to it.
    """

    path: Path
    spellings: tuple[PurePath, ...]
    relative: bool

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
class Places:
    """The folders of one owner.

    Attributes:
        workspace: the agent's own folder; made on first use.
        home: the folder with settings, ledger and secrets; nothing in it but the workspace is ever read.
        user_home: the owner's home folder.
        admits_cwd: whether the folder the owner asks from may be looked into at all.
    """

    workspace: Path
    home: Path
    user_home: Path
    admits_cwd: bool = True

    def roots(self, cwd: PurePath | None) -> tuple[Root, ...]:
        """The workspace and, if it may be opened, the folder the owner asks from. Blocking.

        Raises:
            OSError: the workspace cannot be made or reached.
        """
        self.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        real = self.workspace.resolve(strict=True)
        own = Root(path=real, spellings=(real, self.workspace), relative=True)
        extra = self._admit(Path(cwd), real) if cwd is not None and self.admits_cwd else None
        return (own,) if extra is None else (own, extra)

    def protected(self) -> frozenset[Identity]:
        """The folders that are never entered, looked up anew each time: they may come and go. Blocking."""
        folders = [self.home, *(self.user_home / name for name in _PROTECTED)]
        return frozenset(_identities(folders))

    def _admit(self, cwd: Path, workspace: Path) -> Root | None:
        """The folder as a root: a real one strictly inside the owner's home, with nothing of ours in it."""
        try:
            real, user_home = cwd.resolve(strict=True), self.user_home.resolve(strict=True)
            home = self.home.resolve(strict=True)
            inside = [real, *real.parents]
            if not cwd.is_absolute() or not real.is_dir() or user_home not in inside[1:]:
                return None
            if home in inside or real in home.parents or workspace in inside:
                return None
            if self.protected().intersection(_identities(inside)):
                return None
        except (OSError, ValueError, RuntimeError):
            return None
        return Root(path=real, spellings=(real, cwd), relative=False)


def _identities(folders: list[Path]) -> Iterator[Identity]:
    for folder in folders:
        try:
            found = folder.stat()
        except OSError:
            continue
        yield found.st_dev, found.st_ino
