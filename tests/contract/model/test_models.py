"""Every model passes the conformance suite, but for the gaps that are declared."""

from pathlib import Path

import anyio
import pytest

from fermix.infrastructure.providers.openai.factory import Wire
from fermix.testing.model_conformance import MODEL_CHECKS, Gap, ModelCheck, run_check
from tests.contract.model.harness_local import GAPS, LocalHarness
from tests.contract.model.harness_scripted import SECRET, ScriptedHarness
from tests.contract.model.harness_wires import WireHarness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("turn.only_the_chain_asks_again")]
EACH = pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.id)
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"], scope="module")


@EACH
async def test_the_scripted_model_keeps_its_promise(check: ModelCheck) -> None:
    keyless = Gap(check="no_secret_shows_in_a_failure", reason="it has no key")
    with anyio.fail_after(10):
        await run_check(check, ScriptedHarness(), gaps=[keyless])


@ON_ASYNCIO
@EACH
@pytest.mark.parametrize("wire", list(Wire))
async def test_a_wire_keeps_its_promise(wire: Wire, check: ModelCheck, anyio_backend: str) -> None:
    with anyio.fail_after(30):
        await run_check(check, WireHarness(wire))


@ON_ASYNCIO
@EACH
@pytest.mark.needs("local-model", "package:xllamacpp")
async def test_the_local_model_keeps_its_promise(
    check: ModelCheck, local_model_file: Path, anyio_backend: str
) -> None:
    with anyio.fail_after(60):
        await run_check(check, LocalHarness(local_model_file), gaps=GAPS)


def test_the_mark_is_that_of_the_checks() -> None:
    assert {each for check in MODEL_CHECKS for each in check.requirements} == {
        "turn.only_the_chain_asks_again"
    }


def test_every_check_has_an_id_of_its_own_and_a_sentence() -> None:
    assert len({check.id for check in MODEL_CHECKS}) == len(MODEL_CHECKS)
    assert [check.id for check in MODEL_CHECKS if not check.promise.endswith(".")] == []


async def test_a_model_that_holds_a_secret_can_keep_it() -> None:
    (check,) = (check for check in MODEL_CHECKS if check.id == "no_secret_shows_in_a_failure")
    assert await run_check(check, ScriptedHarness(secrets=(SECRET,))) is None
