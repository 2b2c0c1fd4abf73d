"""Adapters and whole processes are tested on asyncio, which is what they run on."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
