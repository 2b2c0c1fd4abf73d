"""Every secret store passes the conformance suite, but for the gaps that are declared."""

from pathlib import Path

import anyio
import pytest

from fermix.testing.secret_conformance import SECRET_CHECKS, SecretCheck, run_check
from tests.contract.secrets.places import (
    ENVIRONMENT_GAPS,
    FILE_GAPS,
    EnvironmentPlace,
    FilePlace,
    MemoryPlace,
)

pytestmark = pytest.mark.anyio
EACH = pytest.mark.parametrize("check", SECRET_CHECKS, ids=lambda check: check.id)


@EACH
async def test_the_store_in_memory_keeps_its_promise(check: SecretCheck) -> None:
    with anyio.fail_after(5):
        await run_check(check, MemoryPlace())


@EACH
async def test_the_file_keeps_its_promise(check: SecretCheck, tmp_path: Path) -> None:
    with anyio.fail_after(20):
        await run_check(check, FilePlace(tmp_path / "secrets"), gaps=FILE_GAPS)


@EACH
async def test_the_environment_keeps_its_promise(check: SecretCheck) -> None:
    with anyio.fail_after(5):
        await run_check(check, EnvironmentPlace(), gaps=ENVIRONMENT_GAPS)


def test_every_check_has_an_id_of_its_own_and_a_sentence() -> None:
    assert len({check.id for check in SECRET_CHECKS}) == len(SECRET_CHECKS)
    assert [check.id for check in SECRET_CHECKS if not check.promise.endswith(".")] == []
