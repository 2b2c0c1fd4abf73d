"""The strict server as a process of its own, as end-to-end tests use it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest

from fermix.application.ports.model import ModelError, ModelRequest
from fermix.domain.failure import FailureKind
from fermix.domain.history import UserEntry
from fermix.infrastructure.providers.openai.factory import Wire
from tests.integration.providers.asking import ask, failure, model_at

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def started(*answers: object) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server process with a script, and its address."""
    with NamedTemporaryFile("w", suffix=".json") as script:
        json.dump(answers, script)
        script.flush()
        arguments = [
            sys.executable,
            "-m",
            "fermix.testing.servers.openai_strict",
            "--keyless",
            "--script",
            script.name,
        ]
        with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["base_url"], process
            process.communicate(timeout=10)


def posted(base_url: str, path: str, body: str) -> bytes:
    connection = HTTPConnection(urlsplit(base_url).netloc, timeout=5)
    connection.request("POST" if body else "GET", path, body or None)
    answer = connection.getresponse().read()
    connection.close()
    return answer


async def test_it_answers_by_its_script_and_tells_what_arrived() -> None:
    with started({"say": {"text": "Scripted.", "calls": []}}, {"echo": {}}) as (base_url, process):
        async with model_at(base_url, Wire.CHAT_COMPLETIONS, key=None) as model:
            answers = [(await ask(model, text="one")).text for _ in range(2)]
            more = json.dumps([{"say": {"text": "Later."}}])
            await anyio.to_thread.run_sync(posted, base_url, "/_strict/script", more)
            answers.append((await ask(model)).text)
        seen = json.loads(await anyio.to_thread.run_sync(posted, base_url, "/_strict/requests", ""))

    assert answers == ["Scripted.", "You said: one", "Later."]
    assert [request["path"] for request in seen] == ["/v1/chat/completions"] * 3
    assert process.returncode == 0


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_server_process_that_is_killed_in_the_middle_is_a_provider_error(wire: Wire) -> None:
    request = ModelRequest(system="", entries=(UserEntry(text="Hello?"),))
    with started({"hang": "middle"}) as (base_url, process):
        async with model_at(base_url, wire, key=None, timeout_seconds=60) as model:
            with pytest.raises(ModelError) as caught, anyio.fail_after(10):
                await model.complete(request, on_text=lambda _: process.kill())
            assert caught.value.kind is FailureKind.PROVIDER_FAILED
            process.wait(10)
            assert (await failure(model)).kind is FailureKind.UNREACHABLE
