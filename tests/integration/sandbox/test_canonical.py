"""Canonical paths: one folder, one name."""

from pathlib import Path, PurePath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fermix.domain.sandbox import Sandbox, SandboxGround, SandboxMode, SandboxPolicy
from fermix.infrastructure.sandbox.canonical import real_path, real_sandbox
from fermix.infrastructure.sandbox.closed import closed_by


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path.resolve()
    if not (folder / "a").exists():
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "A2").mkdir()
        (folder / "l").symlink_to("a")
        (folder / "a" / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        (folder / "gone").symlink_to("nowhere")
    return folder


STEPS = st.lists(st.sampled_from(["a", "b", "l", "up", "loop", "gone", "..", "A2", "none"]), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_one_path_and_many_at_once_are_found_alike(folder: Path, steps: list[str]) -> None:
    path = PurePath(folder, *steps)
    real = real_path(path)
    found = real_sandbox(
        Sandbox(
            policy=SandboxPolicy(mode=SandboxMode.STRICT, workspace=path, allowed=(path.parent, path)),
            ground=SandboxGround(user_home=folder, home=folder, protected=(path,)),
        )
    )

    assert found.policy.workspace == real
    assert found.policy.allowed[1] == real
    assert found.ground.protected == (real,)
    if "loop" not in steps:
        assert real_path(real) == real
        assert ".." not in real.parts


def test_a_path_that_must_be_there_is_an_error_when_it_is_not(folder: Path) -> None:
    assert real_path(folder / "l" / "b", must_exist=True) == folder / "a" / "b"
    for name, named in (("none", "none"), ("gone", "nowhere"), ("loop", "loop")):
        with pytest.raises(OSError, match=named):
            real_path(folder / name, must_exist=True)


def test_a_folder_is_known_as_closed_under_another_name(folder: Path) -> None:
    closed = closed_by(
        Sandbox(
            policy=SandboxPolicy(mode=SandboxMode.STRICT, workspace=folder, blocked=(folder / "A2",)),
            ground=SandboxGround(user_home=folder, home=folder, protected=(folder / "a",)),
        )
    )
    assert closed.around(folder / "l" / "b") is not None
    assert closed.around(folder / "A2") is not None
    assert closed.around(folder) is None
