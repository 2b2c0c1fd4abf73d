"""Every ledger test runs on both event loops, over a file of its own."""

from pathlib import Path

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"
