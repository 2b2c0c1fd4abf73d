"""The random-history experiment over every ledger: nothing lost, nothing twice, nothing out of order.

Each run draws new seeds; `FERMIX_TEST_SEED` runs those of an earlier one again.
"""

import random
from pathlib import Path

import anyio
import pytest

from fermix.testing.histories import SABOTEURS, History, Promise, check, run_history
from tests.contract.ledger.homes import HOMES
from tests.needs import OUTSIDE

pytestmark = pytest.mark.anyio

HISTORIES = 500
"""Over each ledger, half of them on each event loop."""

CHUNK = 50
CHUNKS = HISTORIES // 2 // CHUNK


@pytest.fixture(scope="module")
def first_seed(request: pytest.FixtureRequest) -> int:
    given = request.config.stash[OUTSIDE].seed
    seed = random.SystemRandom().randrange(10**9) if given is None else given
    plugins = request.config.pluginmanager
    terminal, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")
    if terminal is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            terminal.write_line(f" histories of FERMIX_TEST_SEED={seed}")
    return seed


async def live(home: str, folder: Path, seed: int, *, power_cuts: bool) -> History:
    with HOMES[home](folder) as harness:
        return await run_history(harness, seed=seed, power_cuts=power_cuts)


@pytest.mark.requirement(
    "recovery.kill.before_admission",
    "recovery.kill.after_admission",
    "recovery.kill.around_claim",
    "recovery.kill.around_settlement",
    "recovery.kill.around_delivery",
    "recovery.kill.stop_stays_stopped",
)
@pytest.mark.parametrize("chunk", range(CHUNKS))
async def test_every_history_keeps_every_promise(
    chunk: int, first_seed: int, anyio_backend: str, tmp_path: Path
) -> None:
    deaths = cuts = 0
    start = chunk * CHUNK + (HISTORIES // 2 if anyio_backend == "trio" else 0)
    for number in range(start, start + CHUNK):
        seed, power_cuts = first_seed + number, number % 2 == 1
        where = f"history {number} of FERMIX_TEST_SEED={first_seed}"
        with anyio.fail_after(60):
            told = {
                home: await live(home, tmp_path / f"{home}-{number}", seed, power_cuts=power_cuts)
                for home in HOMES
            }
        for home, history in told.items():
            assert check(history) == (), f"{where}, {home}"
        assert power_cuts or told["sqlite"] == told["memory"], (
            f"{where}: the ledgers tell different histories"
        )
        deaths += told["sqlite"].deaths
        cuts += told["sqlite"].power_cuts
    assert deaths > CHUNK, "histories in which hardly anybody dies prove little"
    assert cuts > CHUNK / 5


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(
    ("saboteur", "promise"),
    [
        ("replays_blindly", Promise.EFFECTS_ONCE),
        ("hides_repeats", Promise.REPEATS_MARKED),
        ("overtakes_albums", Promise.ORDER_KEPT),
        ("leaves_chats_behind", Promise.ONE_ACTIVE_TURN),
        ("starts_unprepared", Promise.MEDIA_READY),
        ("tries_for_ever", Promise.PREPARED_ONCE),
    ],
    ids=SABOTEURS,
)
async def test_a_planted_fault_is_found(saboteur: str, promise: Promise, home: str, tmp_path: Path) -> None:
    for seed in range(HISTORIES):
        with anyio.fail_after(60), HOMES[home](tmp_path / str(seed)) as harness:
            history = await run_history(
                harness, seed=seed, power_cuts=seed % 2 == 1, sabotage=SABOTEURS[saboteur]
            )
        if promise in {violation.promise for violation in check(history)}:
            return
    pytest.fail(f"{saboteur} was not found in {HISTORIES} histories")


@pytest.mark.parametrize("home", HOMES)
async def test_a_seed_tells_the_same_history_twice(home: str, tmp_path: Path) -> None:
    first, second = [await live(home, tmp_path / name, 8, power_cuts=True) for name in ("first", "second")]
    assert first == second
    assert first.deaths > 0
