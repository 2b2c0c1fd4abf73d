"""Making paths canonical: links followed, `..` taken out, names as the file system lists them."""

import os
from dataclasses import replace
from pathlib import PurePath

from fermix.domain.sandbox import Sandbox


def real_path(path: PurePath, *, must_exist: bool = False) -> PurePath:
    """The canonical form of an absolute path. Blocks.

    Args:
        must_exist: else what is not there yet, or cannot be looked at, stays as it is written.

    Raises:
        OSError: only with `must_exist`: it is not there, leads in circles, or cannot be looked at.
        ValueError: no file system could hold it.
    """
    resolved = PurePath(os.path.realpath(path, strict=must_exist))
    found = resolved.anchor
    for name in resolved.parts[1:]:
        found = os.path.join(found, _as_listed(found, name))  # noqa: PTH118 - tens of thousands a second
    return PurePath(found)


def real_sandbox(sandbox: Sandbox) -> Sandbox:
    """The same sandbox with canonical paths, in the same order. Blocks."""
    policy, ground = sandbox.policy, sandbox.ground
    known: dict[PurePath, PurePath] = {}

    def real(path: PurePath) -> PurePath:
        return _real_below(path, known)

    return Sandbox(
        policy=replace(
            policy,
            workspace=real(policy.workspace),
            allowed=tuple(map(real, policy.allowed)),
            blocked=tuple(map(real, policy.blocked)),
        ),
        ground=replace(
            ground,
            user_home=real(ground.user_home),
            home=real(ground.home),
            protected=tuple(map(real, ground.protected)),
            launch_folder=None if ground.launch_folder is None else real(ground.launch_folder),
        ),
    )


def _real_below(path: PurePath, known: dict[PurePath, PurePath]) -> PurePath:
    """`real_path` for many paths that lie in the same folders, of which `known` keeps what was found."""
    if path not in known:
        if not path.name or ".." in path.parts:
            known[path] = real_path(path)
        else:
            above = _real_below(path.parent, known)
            place = above / path.name
            is_link = os.path.islink(place)  # noqa: PTH114 - a pure path
            known[path] = real_path(place) if is_link else above / _as_listed(str(above), path.name)
    return known[path]


def _as_listed(folder: str, name: str) -> str:
    """The name as the folder lists it, where the file system does not tell upper case from lower."""
    path, other = os.path.join(folder, name), os.path.join(folder, name.swapcase())  # noqa: PTH118
    try:
        found = os.stat(path)  # noqa: PTH116
        if other == path or not os.path.samestat(found, os.stat(other)):  # noqa: PTH116
            return name
        with os.scandir(folder) as entries:
            alike = [entry for entry in entries if entry.name.casefold() == name.casefold()]
            names = [each.name for each in alike if os.path.samestat(each.stat(), found)]
    except OSError:
        return name
    return name if name in names or not names else names[0]
