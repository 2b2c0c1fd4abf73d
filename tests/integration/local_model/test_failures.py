"""What goes wrong with the local model is a `ModelError` that says what to do, and never lasts."""

import os
import signal
import venv
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest

from fermix.application.ports.model import ModelError
from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.local.files import DefaultModelFile, ModelFileError, UserModelFile
from fermix.infrastructure.providers.local.runtime import LocalRuntime
from fermix.infrastructure.system.child_python import Launch
from tests.integration.local_model.processes import ends_within
from tests.integration.local_model.runtimes import AnyFile, client_for, runtime_for

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.needs("local-model", "package:xllamacpp"),
]

ENDLESS = {
    "messages": [{"role": "user", "content": "Tell me everything."}],
    "max_tokens": 900,
    "ignore_eos": True,
    "stream": True,
}
SOURCE = str(Path(__file__).parents[3] / "src")


async def refusal(runtime: LocalRuntime) -> ModelError:
    with pytest.raises(ModelError) as caught:
        async with runtime.lease():
            pytest.fail("a model was lent")
    return caught.value


def cut_to(path: Path, source: Path, size: int) -> Path:
    with source.open("rb") as whole:
        path.write_bytes(whole.read(size))
    return path


async def fail_a_request(
    runtime: LocalRuntime, kind: FailureKind, then: signal.Signals | None = None
) -> None:
    """A request that ends with this error, after a signal to the model's process."""
    async with runtime.lease():
        if then is not None:
            os.kill(process_of(runtime), then)
        raise ModelError(Failure(kind=kind))


def process_of(runtime: LocalRuntime) -> int:
    assert runtime.pid is not None
    return runtime.pid


async def kill_in_mid_answer(runtime: LocalRuntime) -> None:
    """Read the first line of an endless answer, kill the model's process, read on."""
    async with runtime.lease() as endpoint, client_for(endpoint) as client:
        try:
            async with client.stream("POST", "/chat/completions", json=ENDLESS) as response:
                lines = response.aiter_lines()
                await anext(lines)
                os.kill(process_of(runtime), signal.SIGKILL)
                async for _ in lines:
                    pass
        except httpx.TransportError as error:
            raise ModelError(Failure(kind=FailureKind.UNREACHABLE)) from error


async def test_a_model_killed_in_mid_answer_is_a_provider_failure_and_the_next_request_works(
    local_model_file: Path,
) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            with pytest.raises(ModelError) as caught:
                await kill_in_mid_answer(runtime)
            assert "signal 9" in (runtime.failure_cause() or "")
            async with runtime.lease() as endpoint, client_for(endpoint) as client:
                assert (await client.get("/models")).status_code == 200
            assert runtime.failure_cause() is None

    assert caught.value.kind is FailureKind.PROVIDER_FAILED
    assert caught.value.failure.detail == "The local model's process ended in the middle of the answer."
    assert "signal 9" in str(caught.value.__cause__)


async def test_a_model_killed_between_two_requests_is_simply_started_again(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            async with runtime.lease():
                killed = runtime.pid
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            assert await anyio.to_thread.run_sync(ends_within, killed, 5.0)
            while runtime.pid == killed:
                await anyio.lowlevel.checkpoint()
            async with runtime.lease() as endpoint, client_for(endpoint) as client:
                assert (await client.get("/models")).status_code == 200


async def test_a_model_that_hangs_is_replaced(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file), end=0.1) as runtime:
            async with runtime.lease():
                stopped = process_of(runtime)
            with pytest.raises(ModelError, match="timed_out"):
                await fail_a_request(runtime, FailureKind.TIMED_OUT, signal.SIGSTOP)
            async with runtime.lease() as endpoint, client_for(endpoint) as client:
                assert (await client.get("/models")).status_code == 200
                assert ends_within(stopped, 0)


async def test_an_error_of_the_request_keeps_the_model(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            async with runtime.lease():
                first = process_of(runtime)
            with pytest.raises(ModelError, match="context_too_long"):
                await fail_a_request(runtime, FailureKind.CONTEXT_TOO_LONG)
            async with runtime.lease():
                assert runtime.pid == first


async def test_a_missing_model_names_the_command_that_installs_it(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with runtime_for(DefaultModelFile(path=tmp_path / "gone.gguf")) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.NO_MODEL
    assert error.failure.detail == "The local model is not installed. Run `fermix model install`."
    assert error.failure.provider == "local"


async def test_a_model_cut_short_names_the_command_that_installs_it(
    tmp_path: Path, local_model_file: Path
) -> None:
    short = cut_to(tmp_path / "short.gguf", local_model_file, 1_000_000)
    with anyio.fail_after(10):
        async with runtime_for(DefaultModelFile(path=short)) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.NO_MODEL
    assert error.failure.detail == "The local model's file is damaged. Run `fermix model install`."


@dataclass(frozen=True, slots=True, kw_only=True)
class VanishingFile:
    """A file that is there when it is checked, and not when it is loaded."""

    path: Path

    def check(self) -> None:
        if not self.path.exists():
            raise ModelFileError("It vanished.", cause="unlinked")
        self.path.unlink()

    def unloadable(self) -> tuple[FailureKind, str]:
        return FailureKind.PROVIDER_FAILED, "not this"


async def test_a_model_that_vanishes_while_it_is_loaded_is_no_model(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with anyio.fail_after(10):
        async with runtime_for(VanishingFile(path=file)) as runtime:
            error = await refusal(runtime)

    assert (error.kind, error.failure.detail) == (FailureKind.NO_MODEL, "It vanished.")


@pytest.mark.parametrize("size", [4, 1_000, 1_000_000])
async def test_a_damaged_file_of_the_users_is_named_with_the_librarys_reason_for_the_operator(
    tmp_path: Path, local_model_file: Path, size: int
) -> None:
    short = cut_to(tmp_path / "mine.gguf", local_model_file, size)
    with anyio.fail_after(10):
        async with runtime_for(UserModelFile(path=short)) as runtime:
            error = await refusal(runtime)
            cause = runtime.failure_cause()

    assert error.kind is FailureKind.NO_MODEL
    assert "mine.gguf named by `model_path` could not be loaded" in (error.failure.detail or "")
    assert "failed to load model" in (cause or "")
    assert str(tmp_path) not in (error.failure.detail or "")


@pytest.mark.parametrize(("content", "words"), [(None, "does not exist"), (b"PK\3\4", "is not a GGUF model")])
async def test_a_file_of_the_users_that_is_no_model_is_named(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = tmp_path / "mine.gguf"
    if content is not None:
        file.write_bytes(content)
    with anyio.fail_after(10):
        async with runtime_for(UserModelFile(path=file)) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.NO_MODEL
    assert words in (error.failure.detail or "")


async def test_a_file_repaired_after_a_failure_is_loaded(tmp_path: Path, local_model_file: Path) -> None:
    file = tmp_path / "mine.gguf"
    with anyio.fail_after(30):
        async with runtime_for(UserModelFile(path=file)) as runtime:
            assert (await refusal(runtime)).kind is FailureKind.NO_MODEL
            file.symlink_to(local_model_file)
            async with runtime.lease() as endpoint:
                assert endpoint.base_url.startswith("http://127.0.0.1:")


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


async def test_without_the_package_it_names_the_command_that_installs_it(
    local_model_file: Path, bare_python: str
) -> None:
    launch = Launch(python=bare_python, search_path=(SOURCE,))
    with anyio.fail_after(10):
        async with runtime_for(AnyFile(path=local_model_file), launch=launch) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.NO_MODEL
    assert "pip install 'fermix-agent[local]'" in (error.failure.detail or "")


async def test_a_program_that_does_not_run_is_a_provider_failure_with_its_last_words(
    local_model_file: Path, bare_python: str
) -> None:
    with anyio.fail_after(10):
        launch = Launch(python=bare_python, search_path=())
        async with runtime_for(AnyFile(path=local_model_file), launch=launch) as runtime:
            error = await refusal(runtime)
            cause = runtime.failure_cause()

    assert error.kind is FailureKind.PROVIDER_FAILED
    assert "exit code 1" in (cause or "")
    assert "No module named" in (cause or "")


async def test_an_interpreter_that_is_not_there_is_a_provider_failure(local_model_file: Path) -> None:
    launch = Launch(python="/nonexistent/python")
    with anyio.fail_after(10):
        async with runtime_for(AnyFile(path=local_model_file), launch=launch) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.PROVIDER_FAILED
    assert error.failure.detail == "The local model's process could not be started."


async def test_a_load_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "never.gguf"
    os.mkfifo(pipe)
    with anyio.fail_after(15):
        async with runtime_for(AnyFile(path=pipe), load=0.5, end=0.5) as runtime:
            error = await refusal(runtime)

    assert error.kind is FailureKind.TIMED_OUT
    assert "not loaded within 0.5 s" in (error.failure.detail or "")


async def test_a_request_cancelled_while_the_model_loads_does_no_harm(local_model_file: Path) -> None:
    with anyio.fail_after(30):
        async with runtime_for(AnyFile(path=local_model_file)) as runtime:
            with anyio.move_on_after(0):
                async with runtime.lease():
                    pytest.fail("lent at once")
            async with runtime.lease() as endpoint, client_for(endpoint) as client:
                assert (await client.get("/models")).status_code == 200


async def test_closing_while_the_model_loads_leaves_no_process(tmp_path: Path) -> None:
    pipe = tmp_path / "never.gguf"
    os.mkfifo(pipe)

    async def ask() -> None:
        with pytest.raises(ModelError):
            async with runtime.lease():
                pytest.fail("lent")

    with anyio.fail_after(15):
        async with anyio.create_task_group() as group:
            async with runtime_for(AnyFile(path=pipe)) as runtime:
                group.start_soon(ask)
                while (pid := runtime.pid) is None:
                    await anyio.lowlevel.checkpoint()
            assert ends_within(pid, 0)
