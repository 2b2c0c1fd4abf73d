"""The list of independent proofs is true: each has its tests, and none of them can be passed over unseen."""

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.contract.independent.proofs import PROOFS, Drives, Proof

HERE = tuple(proof for proof in PROOFS if sys.version_info[:2] >= proof.python)
"""Those that this Python can run."""

ROOT = Path(__file__).parents[3]
PASSES_OVER = frozenset({"skip", "skipif", "xfail"})


def module_of(proof: Proof) -> ModuleType:
    return import_module(f"tests.contract.independent.{proof.module}")


def marks_of(found: Any) -> list[Any]:
    marked = getattr(found, "pytestmark", [])
    return [getattr(each, "mark", each) for each in (marked if isinstance(marked, list) else [marked])]


def every_test(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if name.startswith("test_")}


def test_every_network_that_others_have_written_something_for_is_held_against_it() -> None:
    assert {proof.channel for proof in PROOFS} == {"telegram", "whatsapp", "slack", "discord", "signal"}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.module)
def test_each_part_is_driven_or_cannot_be(proof: Proof) -> None:
    assert set(proof.tests) | set(proof.cannot) == set(Drives)
    assert not set(proof.tests) & set(proof.cannot)
    assert all(proof.tests.values())


@pytest.mark.parametrize("proof", HERE, ids=lambda proof: proof.module)
def test_the_named_tests_are_those_there_are(proof: Proof) -> None:
    named = {name for names in proof.tests.values() for name in names}
    assert named == every_test(module_of(proof))


@pytest.mark.parametrize("proof", HERE, ids=lambda proof: proof.module)
def test_a_proof_that_cannot_run_fails_where_nothing_may_be_skipped(proof: Proof) -> None:
    module = module_of(proof)
    needed = [thing for mark in marks_of(module) if mark.name == "needs" for thing in mark.args]
    assert needed == [proof.needs]
    marks = [mark for found in (module, *vars(module).values()) for mark in marks_of(found)]
    assert not PASSES_OVER & {mark.name for mark in marks}
    source = Path(module.__file__ or "").read_text("utf-8")
    assert not any(word in source for word in ("pytest.skip", "importorskip", "pytest.xfail"))


def test_everything_that_pip_has_comes_with_the_development_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    # Slack's library comes with the one that is built on it.
    wanted = {proof.library for proof in PROOFS if proof.needs.startswith("package:")} - {"slack_sdk>=3.35"}
    assert wanted <= set(extras["dev"])
    assert any(each.startswith("slack-bolt") for each in extras["slack"])
