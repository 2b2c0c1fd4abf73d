"""Troubles that lie between a model and its provider: the key it holds, and the address it is given."""

import socket
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from fermix.infrastructure.providers.openai.endpoint import ApiKey, Endpoint, EndpointSource
from fermix.testing.model_conformance import Trouble

BETWEEN = frozenset({Trouble.KEY_MISSING, Trouble.KEY_REFUSED, Trouble.UNREACHABLE})
WRONG_KEY = "a-key-of-somebody-else"


@contextmanager
def closed_port() -> Generator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


class TroubledEndpoint:
    """An endpoint that leads astray when it was told to; `None` stands for a request without trouble."""

    def __init__(self, source: EndpointSource, *, nobody: str) -> None:
        self._source = source
        self._nobody = nobody
        self.script: deque[Trouble | None] = deque()

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[Endpoint]:
        trouble = self.script.popleft() if self.script else None
        async with self._source() as endpoint:
            match trouble:
                case Trouble.KEY_MISSING:
                    yield replace(endpoint, api_key=None, key_required=True)
                case Trouble.KEY_REFUSED:
                    yield replace(endpoint, api_key=ApiKey(WRONG_KEY))
                case Trouble.UNREACHABLE:
                    yield replace(endpoint, base_url=self._nobody)
                case _:
                    yield endpoint
