"""Outgoing parts: what leaves, how often it is tried, and how a repeat is marked."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from fermix.domain.blob import BlobRef
from fermix.domain.ids import PlatformMessageId

MAX_COUNTED_ATTEMPTS = 3
"""Tries that may have left or were refused, before a part counts as failed."""

COUNTED_PAUSES = (timedelta(seconds=2), timedelta(seconds=90))
"""After each counted try but the last. A line that broke once costs little; an outage of a minute and a half in
which each send may have left costs no part."""

GIVE_UP_AFTER = timedelta(hours=24)
"""How long a part that never left is tried, counted from its commit."""

GONE_FOR = timedelta(hours=24)
"""How long nothing is sent to a chat of which the platform said that it is gone, unless somebody writes there."""

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)

REPEAT_MARK = "(possibly sent before)"
"""First line of a text that may already have arrived; splitting leaves room for it."""

ROOM_FOR_MARK = len(REPEAT_MARK) + 1
"""What the mark and its line break take from a part's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A button under a prompt; a tap on it answers the prompt with `token`."""

    label: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Text in the agent's Markdown; the channel renders it. Never empty.

    `draft` is a message that already shows some of it: the part is delivered by replacing that message's
    text. Where that cannot be done the draft is removed and the part sent as any other.

    `choices` makes a prompt of it. A channel without buttons leaves them out: what can be typed in their place
    stands in the text.
    """

    text: str
    draft: PlatformMessageId | None = None
    choices: tuple[Choice, ...] = ()


class MediaKind(StrEnum):
    """As what a file is shown."""

    IMAGE = "image"
    DOCUMENT = "document"
    AUDIO = "audio"
    VOICE = "voice"
    VIDEO = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPart:
    """A stored file, shown as `kind`.

    Attributes:
        file_name: a name that people may see; not a path.
        caption: words that stand under it, in the agent's Markdown; may be empty.
    """

    kind: MediaKind
    blob: BlobRef
    file_name: str
    mime_type: str = "application/octet-stream"
    caption: str = ""

    @property
    def text(self) -> str:
        """The words that its reader sees."""
        return self.caption


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionPart:
    """An emoji of ours on a message of the target's chat; it takes the place of the one we had put there.

    Attributes:
        emoji: spelt as the channel's `Reactions` say: a character, or a name where the platform has names.
    """

    message: PlatformMessageId
    emoji: str

    @property
    def text(self) -> str:
        """What its reader sees."""
        return self.emoji


Part: TypeAlias = TextPart | MediaPart | ReactionPart
"""One outgoing message: text (also a prompt), a file, or a reaction."""


def mark_repeated(part: Part) -> Part:
    """The part with the mark that tells its reader that it may be a repeat.

    A reaction that is put on a message again changes nothing, and needs none.
    """
    match part:
        case TextPart(text=text):
            return replace(part, text=f"{REPEAT_MARK}\n{text}")
        case MediaPart(caption=caption):
            return replace(part, caption=f"{REPEAT_MARK}\n{caption}" if caption else REPEAT_MARK)
        case ReactionPart():
            return part
        case _:
            assert_never(part)


def draft_of(part: Part) -> PlatformMessageId | None:
    """The message that shows some of the part already."""
    return part.draft if isinstance(part, TextPart) else None


def choices_of(part: Part) -> tuple[Choice, ...]:
    """The buttons that belong under the part."""
    return part.choices if isinstance(part, TextPart) else ()


def for_another_chat(part: Part) -> Part:
    """The part without its draft, which lies in the chat that it was meant for at first."""
    return replace(part, draft=None) if isinstance(part, TextPart) else part


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt:
    """Try again at `when`; `counts` says whether this try used up one of the counted ones."""

    when: datetime
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Stop trying; the part has failed."""


Retry: TypeAlias = RetryAt | GiveUp


def after_not_sent(*, now: datetime, created_at: datetime, tries: int, wait: timedelta | None) -> Retry:
    """A part certainly did not leave (unreachable, or told to wait): back off, up to 24 hours.

    Args:
        now: the time of this failure.
        created_at: when the part was committed.
        tries: how often in a row it did not leave, this one included.
        wait: what the platform asked for; takes the place of the back-off, but is never under a second: a
            server that keeps naming no wait at all must not be asked without a pause for a day.
    """
    backoff = min(FIRST_PAUSE * 2 ** min(tries - 1, 10), LONGEST_PAUSE)
    pause = backoff if wait is None else max(wait, FIRST_PAUSE)
    if pause > GIVE_UP_AFTER - (now - created_at):
        return GiveUp()
    return RetryAt(when=now + pause, counts=False)


def after_maybe_sent(*, now: datetime, attempts: int) -> Retry:
    """A part may have left, and nobody knows: few more tries, far apart, each marked as a possible repeat.

    Args:
        now: the time of this failure.
        attempts: counted tries so far, this one included.
    """
    if attempts >= MAX_COUNTED_ATTEMPTS:
        return GiveUp()
    return RetryAt(when=now + COUNTED_PAUSES[attempts - 1], counts=True)
