"""Killed at every point of a message's life while people write: nothing is lost, every repeat says so."""

import os
from pathlib import Path
from random import Random

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.crash_load import POINTS, CrashLoad
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.people import People


@pytest.mark.requirement("recovery.kill.before_admission", "recovery.kill.after_admission")
def test_deaths_at_every_point_under_load_lose_nothing_and_repeat_nothing_unmarked(
    home: FermixHome, people: People, model: StrictServer, tmp_path: Path
) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = Random(seed)
    load = CrashLoad(home=home, people=people, model=model, chance=chance, folder=tmp_path)
    load.begin()
    print(f"seed {seed}")  # noqa: T201 - a failure must be repeatable
    points = list(POINTS)
    chance.shuffle(points)
    for point in points:
        load.die_at(point)
    load.come_to_rest()
    ends = load.check()
    assert set(load.hits) == set(POINTS)
    print(dict(ends))  # noqa: T201
