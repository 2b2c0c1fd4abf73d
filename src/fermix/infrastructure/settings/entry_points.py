"""What other installed packages offer under an entry-point group: found by name, loaded one by one.

Finding reads the packages' metadata and imports nothing. Loading runs their code, so whatever goes wrong there,
of whatever type, comes out as `PackageUnusable` with one line that names the package.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb
from typing import Generic, TypeVar

from pydantic import ValidationError

T = TypeVar("T")

FindEntryPoints = Callable[[str], Iterable[EntryPoint]]
"""The entry points of a group."""


class PackageUnusable(Exception):
    """A package of somebody else cannot be used; the text is one line that names it and says why."""


def installed_entry_points(group: str) -> Iterable[EntryPoint]:
    """Those of every package that Python can import here."""
    return entry_points(group=group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers(Generic[T]):
    """The entry points of one group.

    Attributes:
        group: such as `fermix.channels`.
        kind: what each of them must name an instance of.
        find: where they come from.
    """

    group: str
    kind: type[T]
    find: FindEntryPoints = installed_entry_points

    def names(self) -> frozenset[str]:
        """All names that are offered; nothing is loaded."""
        return frozenset(point.name for point in self.find(self.group))

    def packages(self) -> Mapping[str, tuple[str, ...]]:
        """The packages that offer each name, more than one where they collide; nothing is loaded."""
        found: dict[str, list[str]] = {}
        for point in self.find(self.group):
            found.setdefault(point.name, []).append(package_of(point))
        return {name: tuple(sorted(set(packages))) for name, packages in found.items()}

    def load(self, name: str) -> T:
        """Import what stands behind a name.

        Raises:
            PackageUnusable: there is none of that name, or more than one; it cannot be imported; it is something
                else than it has to be.
        """
        points = {
            (point.value, package_of(point)): point for point in self.find(self.group) if point.name == name
        }
        if not points:
            raise PackageUnusable(f"no installed package has an entry point {name} in {self.group}")
        if len(points) > 1:
            packages = " and ".join(sorted({package for _, package in points}))
            raise PackageUnusable(f"{packages} both bring {name}; keep one of them")
        (point,) = points.values()
        with foreign_code(package_of(point), words=True):
            found = point.load()
        if not isinstance(found, self.kind):
            kinds = f"{point.value} is a {type(found).__name__} and no {self.kind.__name__}"
            raise PackageUnusable(f"the package {package_of(point)} cannot be used: {kinds}")
        return found


def package_of(point: EntryPoint) -> str:
    """The distribution an entry point belongs to, with its version."""
    return point.module if point.dist is None else f"{point.dist.name} {point.dist.version}"


@contextmanager
def foreign_code(package: str, *, words: bool = False) -> Generator[None]:
    """Turn whatever code of a package raises inside into `PackageUnusable`.

    Args:
        package: as it is named in the text.
        words: repeat the words of what was raised; only where the code was shown no secret.

    Raises:
        PackageUnusable: something was raised; pydantic's own refusals pass.
    """
    try:
        yield
    except ValidationError:
        raise
    except (Exception, SystemExit) as exc:  # foreign code raises what it likes, and must not end the gateway
        said = " ".join(str(exc).split()) if words else ""
        told = f"{type(exc).__name__}: {said}" if said else f"{type(exc).__name__} at {_place(exc)}"
        raise PackageUnusable(f"the package {package} cannot be used: {told}") from exc


def _place(exc: BaseException) -> str:
    frames = extract_tb(exc.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
