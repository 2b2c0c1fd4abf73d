"""A small soak: the whole of it, with fewer messages; `benchmarks.soak` has the long one."""

import os
from pathlib import Path
from random import Random

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.people import People
from tests.e2e.harness.soak import Soak


@pytest.mark.requirement("retention.keys")
def test_two_thousand_messages_lose_nothing_and_after_a_month_only_what_is_remembered_is_left(
    home: FermixHome, people: People, model: StrictServer, tmp_path: Path
) -> None:
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")  # noqa: T201 - a failure must be repeatable
    soak = Soak(
        home=home,
        people=people,
        model=model,
        chance=Random(seed),
        folder=tmp_path,
        messages=2000,
        conversations=100,
        later=200,
    )
    report = soak.run()
    print(report)  # noqa: T201
    assert report.memory <= 1.5, "so short a life is still warming up; the long one must stay within 1.1"
    assert report.reused <= 1.05
