"""Figures of several rounds, told as medians with their spread, and ratios to a floor of the same rounds."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that was measured.

    Attributes:
        name: what.
        unit: of the rounds.
        rounds: one value each.
        floor: what the same work costs at least, measured in the same rounds; paired with `rounds`.
        goal: the largest ratio to the floor that is wanted.
    """

    name: str
    unit: str
    rounds: Sequence[float]
    floor: Sequence[float] | None = None
    goal: float | None = None

    @property
    def ratio(self) -> float | None:
        """The median of the ratios of each round: a machine that slows down in between does not count."""
        if self.floor is None:
            return None
        return median(mine / least for mine, least in zip(self.rounds, self.floor, strict=True))

    @property
    def row(self) -> str:
        """A row of the table."""
        ratio, goal = self.ratio, "" if self.goal is None else f"≤ {self.goal:g}"
        floor = "" if self.floor is None else f"{median(self.floor):,.3g}"
        against = "" if ratio is None else f"{ratio:.2f}"
        spread = f"{min(self.rounds):,.3g}–{max(self.rounds):,.3g}"
        value = f"{median(self.rounds):,.3g} {self.unit}".strip()
        return f"| {self.name} | {value} | {spread} | {floor} | {against} | {goal} |"


def table(figures: Iterable[Figure]) -> str:
    """All figures as a Markdown table."""
    head = "| What | median | min–max | floor | ratio | goal |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(figure.row for figure in figures)])


def circumstances(*, rounds: int) -> str:
    """What the figures were measured under, for whoever reads them elsewhere."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python} on {machine}, load {load}; medians of {rounds} rounds."
