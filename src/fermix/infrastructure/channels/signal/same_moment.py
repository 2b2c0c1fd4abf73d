"""Keys of messages: sender and time, by which Signal itself knows a message, and what is done when that fails.

Signal's apps give no two messages of a sender the same time. Programs that write through several connections do;
then the later one, which says something else, is no repeat and must not be dropped as one.
"""

import hashlib
import json
from collections import OrderedDict

from fermix.domain.normalise import RawMessage

MAX_REMEMBERED = 1000


class SameMoment:
    """Remembers what was said lately under a key."""

    def __init__(self) -> None:
        self._said: OrderedDict[str, str] = OrderedDict()

    def key_of(self, message: RawMessage) -> str:
        """The message's own key, or one with its content in it when that key was just used for something else."""
        key, said = message["key"], _digest(message)
        if message.get("edited_at") is not None:
            return key
        first = self._said.setdefault(key, said)
        if len(self._said) > MAX_REMEMBERED:
            self._said.popitem(last=False)
        return key if first == said else f"{key}:{said}"


def _digest(message: RawMessage) -> str:
    files = [str(each.get("reference")) for each in message.get("attachments", ())]
    said = json.dumps([str(message["chat_id"]), message["content"], files])
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()
