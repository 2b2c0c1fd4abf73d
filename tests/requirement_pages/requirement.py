"""The shape of one required behaviour."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One behaviour that a test can prove.

    Attributes:
        id: stable and dotted, by subject; tests name it in their `requirement` mark.
        source: page, heading and, where the heading numbers its points, the point.
        behaviour: what holds, in one sentence that can be checked.
        ruling: where two documents differ, the decision that `behaviour` follows.
    """

    id: str
    source: str
    behaviour: str
    ruling: str | None = None
