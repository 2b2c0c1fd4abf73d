"""Reactions by their names. Slack lets one put many on a message; ours takes the place of the one before it."""

import logging
from collections import OrderedDict

from fermix.domain.delivery import ReactionPart
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.errors import NoAnswer, NotSent, Refused
from fermix.infrastructure.channels.slack.web_api import SlackApi

_log = logging.getLogger("fermix.slack")

_MOST = 1000


class Reactions:
    """Remembers the latest reactions that this process has put on messages, to take them off again."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._ours: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def put(self, target: Target, part: ReactionPart) -> None:
        """Put one on a message; that it is there already is no error.

        Raises:
            CallError: it may not be there.
        """
        place = (target.chat, part.message)
        try:
            await self._ask("reactions.add", place, part.emoji)
        except Refused as exc:
            if exc.code != "already_reacted":
                raise
        before = self._ours.pop(place, part.emoji)
        self._ours[place] = part.emoji
        while len(self._ours) > _MOST:
            self._ours.popitem(last=False)
        if before != part.emoji:
            await self._take_off(place, before)

    async def _take_off(self, place: tuple[str, str], name: str) -> None:
        """Without it there are two, which is no reason to put the new one there again."""
        try:
            await self._ask("reactions.remove", place, name)
        except (NotSent, NoAnswer, Refused) as exc:
            _log.info("slack.reaction_left", extra={"cause": getattr(exc, "code", type(exc).__name__)})

    async def _ask(self, method: str, place: tuple[str, str], name: str) -> None:
        chat, ts = place
        await self._api.ask(method, channel=chat, timestamp=ts, name=name)
