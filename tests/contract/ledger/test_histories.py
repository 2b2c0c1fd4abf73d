"""The random-history experiment over every ledger: nothing lost, nothing twice, nothing out of order.

Each run draws new seeds and prints the first of them; `FERMIX_TEST_SEED` runs those of an earlier one again.
"""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from fermix.testing.histories import BREAKS, SABOTEURS, History, Promise, check, run_history
from tests.contract.ledger.homes import HOMES
from tests.needs import OUTSIDE

pytestmark = pytest.mark.anyio

HISTORIES = 500
"""Over each ledger, half of them on each event loop."""

CHUNK = 50
CHUNKS = HISTORIES // 2 // CHUNK


@pytest.fixture(scope="module")
def first_seed(request: pytest.FixtureRequest) -> int:
    return request.config.stash[OUTSIDE].seed


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


def test_every_planted_fault_says_which_promise_it_breaks() -> None:
    assert BREAKS.keys() == SABOTEURS.keys()


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(("saboteur", "promise"), BREAKS.items(), ids=BREAKS)
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


def test_the_program_that_lives_thousands_of_histories_finds_every_planted_fault() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.ledger_histories",
            "--histories",
            "10",
            "--ledger",
            "memory",
            "--jobs",
            "1",
        ],
        cwd=Path(__file__).parents[3],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert "memory: 10 histories" in run.stdout
    assert [name for name in SABOTEURS if f"{name} found after" not in run.stdout] == []
