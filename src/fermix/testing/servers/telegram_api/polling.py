"""The queue of updates and what `getUpdates` does to it.

An update stays until a poll asks for a higher offset, however often it was handed out. Only one poll can wait:
a newer one ends it. `allowed_updates` is remembered and decides over updates that come later, never over those
that wait already. Source: https://core.telegram.org/bots/api#getupdates.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fermix.testing.servers.telegram_api.parameters import Parameters
from fermix.testing.servers.telegram_api.records import Json
from fermix.testing.servers.telegram_api.refusal import ANOTHER_POLLER, Conflict

MAX_POLL = 50
"""Seconds a poll may wait at most; longer ones are cut to it."""

MAX_BATCH = 100
ONLY_WHEN_ASKED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_LOOK = 0.05
"""Seconds between two looks whether the client is still there."""


@dataclass(slots=True)
class UpdateQueue:
    """Updates in order of their ids. Everything is called with the world's lock held."""

    changed: threading.Condition
    pending: deque[Json] = field(default_factory=deque[Json])
    next_id: int = 100_000_001
    confirmed: int = 0
    allowed: frozenset[str] | None = None
    poller: object | None = None

    def push(self, update: Json) -> int:
        """Add an update, unless its kind is not wanted; its id."""
        number = int(update.get("update_id", self.next_id))
        self.next_id = max(self.next_id, number + 1)
        if self._wanted(update):
            self.pending.append({"update_id": number, **update})
            self.changed.notify_all()
        return number

    def _wanted(self, update: Json) -> bool:
        if self.allowed is None:
            return not ONLY_WHEN_ASKED & update.keys()
        kinds = update.keys() - {"update_id"}
        return not kinds or bool(self.allowed & kinds)

    def poll(self, given: Parameters, gone: Callable[[], bool]) -> list[Json]:
        """Answer one `getUpdates`; `gone` tells when nobody waits for it any more.

        Raises:
            Conflict: another poll came while this one waited.
        """
        ticket = self.poller = object()
        self.changed.notify_all()
        try:
            self._remember_kinds(given)
            self._confirm(given.whole("offset"))
            self._wait(ticket, min(max(given.whole("timeout"), 0), MAX_POLL), gone)
        finally:
            replaced = self.poller is not ticket
            if not replaced:
                self.poller = None
        if replaced:
            raise Conflict(ANOTHER_POLLER)
        limit = min(max(given.whole("limit", MAX_BATCH), 1), MAX_BATCH)
        return list(self.pending)[:limit]

    def _wait(self, ticket: object, seconds: int, gone: Callable[[], bool]) -> None:
        until = time.monotonic() + seconds
        while not self.pending and self.poller is ticket and not gone():
            left = until - time.monotonic()
            if left <= 0:
                return
            self.changed.wait(min(left, _LOOK))

    def _remember_kinds(self, given: Parameters) -> None:
        kinds = _kinds(given.values.get("allowed_updates"))
        if kinds is not None:
            self.allowed = frozenset(kinds) or None

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            while len(self.pending) > -offset:
                self.pending.popleft()
            return
        while self.pending and self.pending[0]["update_id"] < offset:
            self.pending.popleft()
        self.confirmed = max(self.confirmed, offset)


def _kinds(raw: Any) -> list[str] | None:
    """The wanted kinds; what cannot be read changes nothing, as on the live service."""
    try:
        kinds = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return None
    return [str(kind) for kind in kinds] if isinstance(kinds, list) else None
