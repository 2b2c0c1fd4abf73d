"""What was written in a chat while nobody listened, read back over REST."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fermix.application.ports.clock import Clock
from fermix.infrastructure.channels.discord.cursor import LONGEST_GAP, Place, first_id
from fermix.infrastructure.channels.discord.errors import NoAnswer, NotSent, Refused, TooSoon, listen_error
from fermix.infrastructure.channels.discord.rest import RestClient

MAX_MESSAGES = 100
"""Of each chat, the oldest of what was missed."""

LONGEST_WAIT_SECONDS = 60.0
_TRIES = 3

_log = logging.getLogger("fermix.discord")


class History:
    """Reads one chat at a time."""

    def __init__(self, *, rest: RestClient, clock: Clock) -> None:
        self._rest = rest
        self._clock = clock

    async def behind(self, chat: str, place: Place) -> Sequence[Mapping[str, Any]] | None:
        """Messages newer than a place and not older than a day, oldest first; `None` when the chat is gone.

        Raises:
            ChannelError: they cannot be read; see `Channel.run`.
        """
        since = self._clock.now() - LONGEST_GAP
        for _ in range(_TRIES - 1):
            try:
                return _missed(await self._ask(chat, place, since), place, since)
            except TooSoon as exc:
                await self._wait(exc.seconds)
            except Refused as exc:
                if exc.status in {403, 404} and exc.code:
                    _log.info("discord.chat_gone", extra={"chat": chat, "code": exc.code})
                    return None
                if exc.status != 429:
                    raise listen_error(exc) from exc
                await self._wait(exc.retry_after or 0.0)
            except (NotSent, NoAnswer) as exc:
                raise listen_error(exc) from exc
        try:
            return _missed(await self._ask(chat, place, since), place, since)
        except (NotSent, NoAnswer, Refused) as exc:
            raise listen_error(exc) from exc

    async def _ask(self, chat: str, place: Place, since: datetime) -> object:
        after = max(place.message, first_id(since))
        return await self._rest.logs_from(int(chat), MAX_MESSAGES, after=after)

    async def _wait(self, seconds: float) -> None:
        pause = min(seconds, LONGEST_WAIT_SECONDS)
        _log.info("discord.history_waits", extra={"seconds": pause})
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=pause))


def _missed(answer: object, place: Place, since: datetime) -> Sequence[Mapping[str, Any]]:
    messages = [each for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []
    numbered = [(number, each) for each in messages if (number := _number(each)) > place.message]
    numbered.sort(key=lambda pair: pair[0])
    return [each for _number, each in numbered[:MAX_MESSAGES] if not _is_older(each, since)]


def _number(message: Mapping[str, Any]) -> int:
    number = message.get("id")
    return int(number) if isinstance(number, str) and number.isascii() and number.isdecimal() else 0


def _is_older(message: Mapping[str, Any], since: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(message.get("timestamp"))) < since
    except (ValueError, TypeError):
        return False
