"""The transport without a lasting process: signal-cli is called for each thing, and never twice at a time.

Two processes on one account wait for each other's lock, so that a send waits for the receive that runs.
"""

from collections.abc import Mapping
from contextlib import suppress

import anyio

from fermix.infrastructure.channels.signal.beside import beside
from fermix.infrastructure.channels.signal.errors import (
    Code,
    NoAnswer,
    NotSent,
    Refused,
    Trouble,
    results_of,
)
from fermix.infrastructure.channels.signal.mailbox import Mailbox
from fermix.infrastructure.channels.signal.process import Child, Launch, TooLong, running
from fermix.infrastructure.channels.signal.rpc import parsed
from fermix.infrastructure.channels.signal.wire_out import Order, arguments, standard_input

RECEIVE_SECONDS = 5
"""How long a call waits for messages; so long, at most, does a send wait for it when none come."""

MOST_AT_ONCE = 50
_START_SECONDS = 60.0
_CODES = {1: Code.USER_ERROR, 3: Code.IO_ERROR, 4: Code.UNTRUSTED_KEY, 5: Code.RATE_LIMITED}
_CANNOT_START = frozenset(Trouble) - {Trouble.OTHER, Trouble.OFFLINE}


class Calls:
    """One call at a time."""

    def __init__(self, launch: Launch, *, mailbox: Mailbox, receive_seconds: int = RECEIVE_SECONDS) -> None:
        self._launch = launch
        self._mailbox = mailbox
        self._receive_seconds = receive_seconds
        self._lock = anyio.Lock()

    async def call(self, order: Order) -> object:
        """Do one thing, and give back what signal-cli says of it.

        Raises:
            CannotStart: signal-cli does not work, or another process has the account; nothing left.
            NotSent: calls before it did not end.
            NoAnswer: it may have done it.
            Refused: it did not do it.
        """
        with anyio.move_on_after(_START_SECONDS) as waiting:
            await self._lock.acquire()
        if waiting.cancelled_caught:
            raise NotSent("signal-cli is busy with another call")
        try:
            async with running(self._launch, *arguments(order)) as child, beside(child.locked_out):
                return await _outcome(child, order)
        finally:
            self._lock.release()

    async def receive(self) -> None:
        """Receive once, each message taken before the next line is read.

        Raises:
            CannotStart: signal-cli does not work, or another process has the account.
        """
        wanted = ("-t", str(self._receive_seconds), "--max-messages", str(MOST_AT_ONCE))
        async with (
            self._lock,
            running(self._launch, "receive", *wanted) as child,
            beside(child.locked_out),
        ):
            await child.say_no_more()
            async for line in child.lines():
                said = None if isinstance(line, TooLong) else parsed(line)
                if isinstance(said, Mapping) or isinstance(line, TooLong):
                    await self._mailbox.put(said)
            if await child.status() != 0:
                raise await child.ended()


async def _outcome(child: Child, order: Order) -> object:
    with anyio.move_on_after(_START_SECONDS + order.within):
        with suppress(OSError):
            await child.write(standard_input(order))
        await child.say_no_more()
        lines = [line async for line in child.lines() if not isinstance(line, TooLong)]
        answers = [said for said in map(parsed, lines) if said is not None]
        status = await child.status()
        if status == 0:
            return answers[-1] if answers else None
        raise await _failure(child, status, answers)
    raise NoAnswer("signal-cli did not end in time")


async def _failure(child: Child, status: int, answers: list[object]) -> Exception:
    results = results_of(answers[-1]) if answers else ()
    end = await child.ended()
    if not results and end.trouble in _CANNOT_START:
        return end
    if status < 0:
        return NoAnswer("signal-cli was killed before it answered")
    left = "UnknownHostException" if end.trouble is Trouble.OFFLINE else ""
    return Refused(_CODES.get(status, Code.UNEXPECTED_ERROR), left, results=results)
