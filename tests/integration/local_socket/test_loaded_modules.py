"""The client loads nothing heavy: what it imports is pinned, so that no later import slows every command down."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "anyio",
    "apsw",
    "asyncio",
    "click",
    "dataclasses",
    "httpx",
    "inspect",
    "logging",
    "openai",
    "pydantic",
    "rich",
    "sqlite3",
    "ssl",
    "starlette",
    "structlog",
    "trio",
    "uvicorn",
}
OURS = {
    "fermix",
    "fermix.infrastructure",
    "fermix.infrastructure.local_socket",
    *(
        f"fermix.infrastructure.local_socket.{name}"
        for name in ("asking", "client", "daemon_file", "fields", "file_events", "peer", "protocol")
    ),
}


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    code = "import json, sys, fermix.infrastructure.local_socket.client; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=30)
    return set(json.loads(done.stdout))


def test_the_client_loads_nothing_heavy(loaded: set[str]) -> None:
    assert loaded & HEAVY == set()


def test_the_client_loads_exactly_these_modules_of_ours(loaded: set[str]) -> None:
    assert {name for name in loaded if name.partition(".")[0] == "fermix"} == OURS
