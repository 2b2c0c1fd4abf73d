"""A long recording is heard piece by piece: none is lost, none is long, and no word is cut that need not be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.needs("package:av", "package:numpy")

RATE = 16_000
LONGEST = 120 * RATE


def pieces_of(samples: Any) -> list[Any]:
    from fermix.infrastructure.transcription.local.decoding import in_pieces

    return list(in_pieces(samples))


@given(seconds=st.integers(min_value=0, max_value=400), odd=st.integers(min_value=0, max_value=15_999))
def test_the_pieces_joined_are_the_recording(seconds: int, odd: int) -> None:
    import numpy as np

    samples = np.arange(seconds * RATE + odd).astype(np.int16)
    pieces = pieces_of(samples)
    assert np.array_equal(np.concatenate(pieces), samples)
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert all(len(piece) >= LONGEST - 15 * RATE for piece in pieces[:-1])


@given(pause=st.floats(min_value=106, max_value=118))
@pytest.mark.parametrize("seed", [7])
def test_the_cut_is_in_the_pause(pause: float, seed: int) -> None:
    import numpy as np

    samples = np.random.default_rng(seed).integers(-3000, 3000, 150 * RATE, dtype=np.int16)
    begins, ends = int(pause * RATE), int((pause + 1) * RATE)
    samples[begins:ends] = 0
    first, _rest = pieces_of(samples)
    assert begins <= len(first) <= ends
