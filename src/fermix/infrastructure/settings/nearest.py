"""The right name that a wrong one was probably meant to be."""

from collections.abc import Iterable
from difflib import SequenceMatcher

CLOSE_ENOUGH = 0.45
"""Low on purpose: `model` for `default_model` scores 0.55, and a list of all names helps less than one guess."""


def nearest_name(wrong: str, right: Iterable[str], *, at_least: float = CLOSE_ENOUGH) -> str | None:
    """The most similar of `right`, or `None` when nothing is similar at least so much (0 to 1).

    Case, dashes and spaces do not count as differences. Ties go to the name that comes first in the alphabet, so
    that the same mistake always gets the same answer.
    """
    folded = _fold(wrong)
    scored = [(_similarity(folded, _fold(name)), name) for name in sorted(set(right))]
    if not scored:
        return None
    score, name = max(scored, key=lambda pair: pair[0])
    return name if score >= at_least else None


def _similarity(wrong: str, right: str) -> float:
    # People leave out the qualifying word: `model` means `default_model` rather than `model_path`.
    shortened = 0.2 if right.endswith(f"_{wrong}") else 0.0
    return SequenceMatcher(None, wrong, right).ratio() + shortened


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
