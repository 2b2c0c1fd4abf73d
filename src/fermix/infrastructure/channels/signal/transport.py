"""Which way to signal-cli is used: one lasting process or, where that cannot be, a call for each thing."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import anyio

from fermix.application.ports.clock import Clock
from fermix.infrastructure.channels.signal.beside import beside
from fermix.infrastructure.channels.signal.calls import Calls
from fermix.infrastructure.channels.signal.errors import CannotStart, NoAnswer, NotSent, Refused, Trouble
from fermix.infrastructure.channels.signal.keeper import Keeper
from fermix.infrastructure.channels.signal.mailbox import HEARD, Mailbox
from fermix.infrastructure.channels.signal.process import Launch
from fermix.infrastructure.channels.signal.rpc import RpcLine
from fermix.infrastructure.channels.signal.wire_out import Order

PAUSE = timedelta(seconds=1)
"""Between two calls that receive."""

STARTS_BEFORE_CALLS = 3
"""So often in a row a lasting process may fail for an unknown reason before calls are tried."""

SUBSCRIBE_SECONDS = 10.0
UNSUBSCRIBE_SECONDS = 1.0

_log = logging.getLogger("fermix.signal")


class Transport:
    """`keep` must run while it is used.

    Args:
        lasting: begin with one lasting process; else everything is a call.
    """

    def __init__(self, launch: Launch, *, clock: Clock, lasting: bool = True) -> None:
        self._mailbox = Mailbox()
        self._keeper = Keeper(launch, mailbox=self._mailbox)
        self._calls = Calls(launch, mailbox=self._mailbox)
        self._clock = clock
        self._only_calls = not lasting
        self._by_calls = not lasting
        self._failed_starts = 0

    @property
    def is_quick(self) -> bool:
        """Whether an order costs no process of its own."""
        return not self._by_calls

    @property
    def held(self) -> int:
        """How many messages signal-cli has handed over and nobody has committed yet."""
        return self._mailbox.held

    async def keep(self) -> None:
        """Keep the lasting process for as long as this runs."""
        await self._keeper.keep()

    async def do(self, order: Order) -> object:
        """Have something done, and give back what signal-cli says of it.

        Raises:
            CannotStart: signal-cli does not work; nothing left.
            NotSent: nothing left.
            NoAnswer: it may have been done.
            Refused: it was not done.
        """
        if self._by_calls:
            return await self._calls.call(order)
        try:
            line = await self._keeper.line()
        except CannotStart as exc:
            if not self._gives_up_on(exc):
                raise
            return await self._calls.call(order)
        return await line.request(order.method, order.params, within=order.within)

    async def listen(self, take: Callable[[object], Awaitable[None]]) -> None:
        """Receive until cancelled; `take` gets each message, and `HEARD` when it is known that we are heard.

        Raises:
            CannotStart: signal-cli does not work.
            NotSent: its process has ended.
            NoAnswer: it does not receive.
            Refused: it does not receive.
        """
        if not self._by_calls:
            try:
                line = await self._keeper.line()
            except CannotStart as exc:
                self._failed_starts += 1
                if not self._gives_up_on(exc):
                    raise
            else:
                self._failed_starts = 0
                async with beside(partial(self._subscription, line)):
                    await self._mailbox.take_all(take)
        async with beside(self._receive):
            await self._mailbox.take_all(take)

    async def _subscription(self, line: RpcLine) -> Exception:
        """Let signal-cli receive until its end; what comes at other times waits at Signal's servers.

        Messages may come before the answer that they will: both are on one line, so that they are taken already.
        """
        number: object = None
        try:
            with anyio.CancelScope(shield=True):  # cut off half-way nobody would know of the subscription
                number = await line.request("subscribeReceive", {}, within=SUBSCRIBE_SECONDS)
            await self._mailbox.put(HEARD)
            await line.over.wait()
        except (NotSent, NoAnswer, Refused) as exc:
            return exc
        finally:
            with anyio.CancelScope(shield=True):
                await _unsubscribe(line, number)
        return NotSent("signal-cli has ended; it is started again")

    async def _receive(self) -> CannotStart:
        while True:
            try:
                await self._calls.receive()
            except CannotStart as exc:
                self._by_calls = self._only_calls
                return exc
            await self._mailbox.put(HEARD)
            await self._clock.sleep_until(self._clock.now() + PAUSE)

    def _gives_up_on(self, exc: CannotStart) -> bool:
        """Whether calls may do what the lasting process does not."""
        if exc.trouble is Trouble.USAGE:
            self._only_calls = True
        elif exc.trouble not in {Trouble.OTHER, Trouble.SILENT} or self._failed_starts < STARTS_BEFORE_CALLS:
            return False
        self._failed_starts = 0
        self._by_calls = True
        _log.warning("signal.falls_back", extra={"to": "receive", "cause": str(exc)})
        return True


async def _unsubscribe(line: RpcLine, number: object) -> None:
    if type(number) is not int:
        return
    try:
        await line.request("unsubscribeReceive", {"subscription": number}, within=UNSUBSCRIBE_SECONDS)
    except (NotSent, NoAnswer, Refused) as exc:
        _log.debug("signal.still_receives", extra={"cause": type(exc).__name__})
