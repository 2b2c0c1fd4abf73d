"""Every value of the domain is closed, frozen and built by name."""

import dataclasses
import importlib
import inspect
import pkgutil
import typing

import pytest

import fermix.domain
from fermix.domain import events, loop_detection

MODULES = [
    importlib.import_module(f"fermix.domain.{module.name}")
    for module in pkgutil.iter_modules(fermix.domain.__path__)
]
CLASSES = sorted(
    {
        found
        for module in MODULES
        for found in vars(module).values()
        if inspect.isclass(found) and dataclasses.is_dataclass(found) and found.__module__ == module.__name__
    },
    key=lambda found: found.__qualname__,
)
WITH_A_LIFE = {loop_detection.LoopDetector}


@pytest.mark.parametrize("value", CLASSES, ids=lambda value: value.__qualname__)
def test_a_value_cannot_be_changed_and_names_its_parts(value: type) -> None:
    parameters = value.__dataclass_params__  # type: ignore[attr-defined]  # every one is a dataclass
    assert "__slots__" in vars(value)
    if value not in WITH_A_LIFE:
        assert parameters.frozen
        assert all(field.kw_only for field in dataclasses.fields(value))


def test_the_events_of_a_turn_are_one_closed_list() -> None:
    declared = {
        found for found in CLASSES if found.__module__ == events.__name__ and found is not events.Numbered
    }
    assert set(typing.get_args(events.TurnEvent)) == declared


def test_an_event_carries_its_place_in_the_turn() -> None:
    numbered = events.Numbered(number=1, event=events.TextDelta(text="hi"))
    assert numbered == events.Numbered(number=1, event=events.TextDelta(text="hi"))
    assert numbered != events.Numbered(number=2, event=events.TextDelta(text="hi"))
    assert len({numbered, events.Numbered(number=1, event=events.TextDelta(text="hi"))}) == 1
