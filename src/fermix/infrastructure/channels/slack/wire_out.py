"""Our parts as parameters of Slack's methods.

Source: https://docs.slack.dev/reference/methods/chat.postMessage.
"""

from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.markdown import within
from fermix.infrastructure.channels.slack.wire_in import is_ts

CAPS_HERE = CAPS[ChannelName("slack")]
MAX_TEXT = CAPS_HERE.max_text or 0

_CALLS_NOBODY = {"parse": "none", "link_names": False}


def formatted(text: str) -> str:
    """The agent's Markdown in Slack's marks, not longer than a message may be."""
    return within(text, limit=MAX_TEXT)


def thread_of(target: Target) -> str | None:
    """The message whose thread it is; a conversation that began with a command has none."""
    return target.thread if is_ts(target.thread) else None


def message(target: Target, text: str) -> dict[str, object]:
    """A text for `chat.postMessage`, without previews of what it links to."""
    return {
        "channel": target.chat,
        "text": formatted(text),
        "thread_ts": thread_of(target),
        "unfurl_links": False,
        "unfurl_media": False,
        **_CALLS_NOBODY,
    }


def edit(target: Target, ts: str, text: str) -> dict[str, object]:
    """A text for `chat.update`."""
    return {"channel": target.chat, "ts": ts, "text": formatted(text), **_CALLS_NOBODY}
