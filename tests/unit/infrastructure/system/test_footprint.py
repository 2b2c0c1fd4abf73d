import importlib
import sys

import pytest

from fermix.infrastructure.system.footprint import without

NOBODY_LOADS = "this"


@pytest.fixture(autouse=True)
def _unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NOBODY_LOADS, raising=False)


def test_a_library_is_not_found_inside_the_block_and_is_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    with without(NOBODY_LOADS), pytest.raises(ImportError):
        importlib.import_module(NOBODY_LOADS)
    assert importlib.import_module(NOBODY_LOADS).__name__ == NOBODY_LOADS
    assert "Zen" in capsys.readouterr().out


def test_what_somebody_has_loaded_stays_loaded() -> None:
    with without("json"):
        assert importlib.import_module("json") is sys.modules["json"]
    assert sys.modules["json"] is not None


def test_a_block_that_fails_hides_nothing_afterwards() -> None:
    with pytest.raises(LookupError), without(NOBODY_LOADS):
        raise LookupError
    assert NOBODY_LOADS not in sys.modules
