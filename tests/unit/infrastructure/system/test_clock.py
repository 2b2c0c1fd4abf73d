import uuid
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fermix.infrastructure.system.boot import kernel_boot_id
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.ids import Uuids

pytestmark = pytest.mark.anyio


async def test_sleep_until_returns_at_the_instant() -> None:
    clock = SystemClock()
    instant = clock.now() + timedelta(milliseconds=20)

    with anyio.fail_after(5):
        await clock.sleep_until(instant)

    assert clock.now() >= instant


async def test_sleeping_until_the_past_is_still_a_place_to_be_cancelled() -> None:
    clock = SystemClock()

    with anyio.CancelScope() as scope:
        scope.cancel()
        await clock.sleep_until(clock.now() - timedelta(days=1))

    assert scope.cancelled_caught


async def test_now_knows_its_time_zone_and_monotonic_never_goes_back() -> None:
    clock = SystemClock()

    assert clock.now().utcoffset() == timedelta(0)
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.requirement("ingress.dedupe.generated_ids_are_uuids")
async def test_ids_are_uuids_and_differ() -> None:
    ids = Uuids()
    made = {ids.new() for _ in range(100)}

    assert len(made) == 100
    assert all(uuid.UUID(text).version == 4 for text in made)


async def test_the_boot_id_stays_while_the_kernel_runs() -> None:
    first = kernel_boot_id()

    assert first == kernel_boot_id()
    assert first is None or "\n" not in first


async def test_a_boot_id_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")

    assert kernel_boot_id(source=tmp_path / "gone") is None
    assert kernel_boot_id(source=tmp_path / "empty") is None
