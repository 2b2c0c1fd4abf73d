"""Showing that an answer is being written, beside the work on it."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TypeVar

import anyio

from fermix.application.ports.channel import Channel, ChannelError, ShowsTyping, Typing
from fermix.application.ports.clock import Clock
from fermix.domain.ids import ChannelName
from fermix.domain.route import Target

_log = logging.getLogger("fermix.typing")

_T = TypeVar("_T")

START_AFTER = timedelta(milliseconds=300)
"""A quick answer needs no announcement, and asking the platform for one would only slow it down."""

REPEAT_EVERY = timedelta(seconds=4)
"""Telegram shows typing for five seconds (sendChatAction); other platforms for longer."""

LONGEST = timedelta(seconds=300)
"""Who has waited so long is not helped by it any more."""


class ShowTyping:
    """Shows typing in the chat a turn answers, on channels that can, for as long as the turn works."""

    def __init__(self, *, channels: Mapping[ChannelName, Channel], clock: Clock) -> None:
        self._able = dict(_able(channels))
        self._clock = clock

    async def during(self, target: Target, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do the work, and show typing from `START_AFTER` on until it ends in whatever way.

        The work begins at once and never waits for the platform; what goes wrong with typing is only logged.

        Raises:
            Exception: what the work raises, as it is.
        """
        typing = self._able.get(target.channel)
        if typing is None:
            return await work()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_showing, typing, target, name=f"typing {target.channel}")
                try:
                    return await work()
                finally:
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # The other task raises nothing, so the one error in the group is the work's own.
            failure = group.exceptions[0]
        raise failure

    async def _keep_showing(self, typing: Typing, target: Target) -> None:
        started = self._clock.now()
        due = started + START_AFTER
        try:
            while due < started + LONGEST:
                await self._clock.sleep_until(due)
                with anyio.fail_after(REPEAT_EVERY.total_seconds()):
                    await typing.show(target)
                due += REPEAT_EVERY
        except Exception as exc:  # noqa: BLE001  # whatever an adapter raises, a courtesy must not cost the answer
            cause = str(exc) if isinstance(exc, ChannelError) else type(exc).__name__
            _log.debug("typing.gave_up", extra={"channel": target.channel, "cause": cause})


def _able(channels: Mapping[ChannelName, Channel]) -> Mapping[ChannelName, Typing]:
    abilities = {
        name: channel.typing for name, channel in channels.items() if isinstance(channel, ShowsTyping)
    }
    return {name: typing for name, typing in abilities.items() if typing is not None}
