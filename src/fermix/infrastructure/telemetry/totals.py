"""Counts and durations of all events since the start, ready to be shown as metrics."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import cast

from fermix.domain.telemetry_fields import EventKind, FieldKind

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)
"""Upper bounds in seconds of the buckets that durations are sorted into; one more takes the rest."""

MAX_SERIES = 200
"""Combinations of labels kept apart for one event; what is more counts under `other`."""

DURATION = "duration"
"""The field whose values make a histogram of an event."""

_LABELS = frozenset({FieldKind.WORD, FieldKind.NAME, FieldKind.FLAG})
_OTHER = "other"


@dataclass(slots=True)
class Series:
    """What is known of one combination of labels."""

    count: int = 0
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One event's numbers at one moment.

    Attributes:
        labels: the names of the labels.
        timed: whether the event has a duration.
        series: the values of the labels, and what is known of them.
    """

    kind: EventKind
    labels: tuple[str, ...]
    timed: bool
    series: tuple[tuple[tuple[str, ...], Series], ...]


class _Family:
    __slots__ = ("duration", "kind", "labels", "read", "series")

    def __init__(self, kind: EventKind) -> None:
        self.kind = kind
        places = [place for place, spec in enumerate(kind.fields) if spec.kind in _LABELS]
        self.labels = tuple(kind.fields[place].name for place in places)
        self.read = _reader(places)
        self.duration = next((p for p, spec in enumerate(kind.fields) if spec.name == DURATION), None)
        self.series: dict[tuple[object, ...], Series] = {}

    def new(self, labels: tuple[object, ...]) -> Series:
        if len(self.series) >= MAX_SERIES:
            labels = (_OTHER,) * len(self.labels)
        return self.series.setdefault(labels, Series())


class Totals:
    """Adds events up. Belongs to the event loop; what `measured` gives is a copy for any thread."""

    def __init__(self, kinds: Iterable[EventKind]) -> None:
        self._families = {kind.name: _Family(kind) for kind in kinds}

    def add(self, kind: EventKind, values: tuple[object, ...]) -> None:
        """Count one event."""
        family = self._families[kind.name]
        labels = family.read(values)
        series = family.series.get(labels) or family.new(labels)
        series.count += 1
        if family.duration is not None:
            seconds = cast("float", values[family.duration])
            series.seconds += seconds
            series.buckets[bisect_left(BOUNDS, seconds)] += 1

    def measured(self) -> tuple[Measured, ...]:
        """Everything as it is now, in the order of registration."""
        return tuple(_measured(family) for family in self._families.values())


def _measured(family: _Family) -> Measured:
    return Measured(
        kind=family.kind,
        labels=family.labels,
        timed=family.duration is not None,
        series=tuple(
            (
                tuple(_shown(value) for value in labels),
                Series(count=series.count, seconds=series.seconds, buckets=list(series.buckets)),
            )
            for labels, series in family.series.items()
        ),
    )


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reader(places: list[int]) -> Callable[[tuple[object, ...]], tuple[object, ...]]:
    """Picks the values at these places, always as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[place] for place in places)


def counted(measured: Iterable[Measured]) -> Mapping[str, int]:
    """How often each event was emitted, by name."""
    return {one.kind.name: sum(series.count for _, series in one.series) for one in measured}
