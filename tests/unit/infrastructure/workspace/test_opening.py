"""Opening below a root that was looked up a moment ago."""

from pathlib import Path

import pytest

from fermix.application.ports.workspace import PathProblem, PathRefused
from fermix.infrastructure.sandbox.closed import Closed
from fermix.infrastructure.workspace.opening import LeadsOut, open_below
from fermix.infrastructure.workspace.roots import Root

NOTHING = Closed(protected=frozenset(), blocked=frozenset())


def root_at(path: Path) -> Root:
    found = path.stat()
    return Root(path=path, spellings=(path,), relative=True, identity=(found.st_dev, found.st_ino))


def test_a_root_that_was_replaced_since_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("SECRET")
    root = root_at(tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "moved")
    (tmp_path / "other").rename(tmp_path / "root")

    with pytest.raises(PathRefused) as caught, open_below(root, ("a.txt",), asked="a.txt", closed=NOTHING):
        pass

    assert caught.value.reason is PathProblem.MISSING


@pytest.mark.parametrize(
    ("parts", "target"),
    [(("..",), "."), (("..", "x"), "x"), (("in", "..", "..", "..", "x"), "../x"), (("out", "y"), "o/y")],
)
def test_what_leads_out_says_where_to(tmp_path: Path, parts: tuple[str, ...], target: str) -> None:
    base = tmp_path.resolve()
    (base / "root" / "in").mkdir(parents=True)
    (base / "root" / "out").symlink_to(base / "o")

    with (
        pytest.raises(LeadsOut) as caught,
        open_below(root_at(base / "root"), parts, asked="x", closed=NOTHING),
    ):
        pass

    wanted = base.parent / "x" if target == "../x" else base / target
    assert caught.value.target == wanted
