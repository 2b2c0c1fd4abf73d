"""When a file counts as the one that was sent a moment ago."""

import hashlib
import json
from datetime import timedelta

from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.delivery import MediaPart
from fermix.domain.route import Target

SAME_FILE_FOR = timedelta(seconds=60)
"""How long the same file with the same words is not shown again in the same chat."""


def same_file_key(target: Target, part: MediaPart) -> str:
    """Equal for files that people could not tell apart: channel, chat, kind, caption, name, type and content.

    At a terminal each question is a place of its own: nothing is left there for whoever asks again.
    """
    said = [
        target.channel,
        target.account,
        target.chat,
        part.kind.value,
        part.caption,
        part.file_name,
        part.mime_type,
        part.blob.digest,
        target.reply_to if target.channel in LOCAL_CHANNELS else None,
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
