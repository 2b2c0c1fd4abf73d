"""JSON-RPC with one signal-cli process: a line a message, answers in any order, messages of people in between."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anyio
import orjson

from fermix.infrastructure.channels.signal.errors import NoAnswer, NotSent, read_error
from fermix.infrastructure.channels.signal.process import Child, TooLong

MAX_WAITING = 256
"""Requests that wait for their answers at once."""

_log = logging.getLogger("fermix.signal")

TakesNotice = Callable[[object], Awaitable[None]]
"""Is handed the parameters of each received message, `None` for one that cannot be read."""


@dataclass(slots=True)
class _Waiting:
    answer: Mapping[str, Any] | None = None
    came: anyio.Event = field(default_factory=anyio.Event)


def parsed(line: bytes) -> object:
    """The JSON in a line; `None` for what is none."""
    try:
        return orjson.loads(line)
    except ValueError:
        pass
    try:
        return json.loads(
            line.decode("utf-8", "replace")
        )  # half of a surrogate pair is no reason to lose a message
    except (ValueError, RecursionError):
        return None


class RpcLine:
    """The line to one process. `listen` must run while it is used."""

    def __init__(self, child: Child, *, take: TakesNotice) -> None:
        self._child = child
        self._take = take
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = count(1)
        self.over = anyio.Event()

    async def listen(self) -> Exception | None:
        """Read until the process ends; a received message is taken before the next line is read."""
        try:
            async for line in self._child.lines():
                if isinstance(line, TooLong):
                    await self._take(None)
                else:
                    await self._line(line)
        finally:
            self.over.set()
            for waiting in self._waiting.values():
                waiting.came.set()
        return None

    async def _line(self, line: bytes) -> None:
        said = parsed(line)
        if not isinstance(said, dict):
            if line.strip():
                _log.debug("signal.line_skipped", extra={"bytes": len(line)})
            return
        if said.get("method") == "receive":
            await self._take(said.get("params"))
            return
        number = said.get("id")
        waiting = self._waiting.get(number) if type(number) is int else None
        if waiting is not None:
            waiting.answer = said
            waiting.came.set()

    async def request(self, method: str, params: Mapping[str, object], *, within: float) -> object:
        """Ask for something and wait for the answer, `within` seconds at most.

        Raises:
            NotSent: the process is gone.
            NoAnswer: it may have done it.
            Refused: it did not do it.
        """
        for _ in range(
            2
        ):  # that the process is gone is seen in a turn of the loop, before a line goes nowhere
            await anyio.lowlevel.checkpoint()
        if self.over.is_set() or len(self._waiting) >= MAX_WAITING:
            raise NotSent("signal-cli does not run" if self.over.is_set() else "signal-cli does not answer")
        number, waiting = next(self._numbers), _Waiting()
        self._waiting[number] = waiting
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            with anyio.move_on_after(within):
                await self._child.write(orjson.dumps(asked) + b"\n")
                await waiting.came.wait()
        except OSError as exc:
            raise NoAnswer("signal-cli ended before it answered") from exc
        finally:
            del self._waiting[number]
        return _result(waiting, ended=self.over.is_set())


def _result(waiting: _Waiting, *, ended: bool) -> object:
    if waiting.answer is None:
        raise NoAnswer(
            "signal-cli ended before it answered" if ended else "signal-cli did not answer in time"
        )
    error = waiting.answer.get("error")
    if isinstance(error, Mapping):
        raise read_error(error)
    if "result" not in waiting.answer:
        raise NoAnswer("an answer that is none of signal-cli's")
    return waiting.answer["result"]
