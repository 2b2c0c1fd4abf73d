"""Two files exchanged in one step."""

import sys
from pathlib import Path

import pytest

from fermix.infrastructure.settings.swapping import exchange


@pytest.mark.skipif(sys.platform not in {"linux", "darwin"}, reason="no such call elsewhere")
def test_two_files_change_names(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    if exchange(one, other):
        assert (one.read_text(), other.read_text()) == ("2", "1")


def test_a_missing_file_cannot_be_exchanged(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("1")
    assert not exchange(one, tmp_path / "other")
    assert one.read_text() == "1"
