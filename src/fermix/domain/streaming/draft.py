"""One message that is edited while its text is written: what is to be done with it next, and when.

The machine has no clock and makes no call. Whoever drives it carries out one action at a time and says what became
of it; between two actions it may hear any number of events, of which only the newest text counts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from fermix.domain.ids import PlatformMessageId
from fermix.domain.splitting import TextUnit, head
from fermix.domain.streaming.heard import BeganAnew, Heard, ItemDone, Missed, Thought, Wrote

OPENS_AT = 30
"""Characters of text before a draft is worth a message."""

WRITE_EVERY = timedelta(seconds=1)
"""Between the beginnings of two writes; the first one waits for nothing."""

MAX_WRITES = 300
"""Writes in one turn; after them the draft stands still until its end."""

_OVER = 64
"""Characters kept beyond the limit: enough to see whether a cut there would part a visible character."""

MAX_FAILURES = 2
"""Failed writes in a row after which the draft stands still until its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDraft:
    """Send the text as a new message."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDraft:
    """Replace the text of the draft."""

    draft: PlatformMessageId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SealDraft:
    """The reply takes the draft's place: its first part replaces the draft's text for good."""

    draft: PlatformMessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardDraft:
    """Remove the draft; the reply, if there is one, is a message of its own."""

    draft: PlatformMessageId


DraftWrite: TypeAlias = OpenDraft | EditDraft
DraftEnd: TypeAlias = SealDraft | DiscardDraft
DraftAction: TypeAlias = DraftWrite | DraftEnd


class WriteFailure(StrEnum):
    """Why a write failed, by what it leaves behind."""

    NOT_SENT = "not_sent"
    """It did not leave; the same may be tried again."""
    REFUSED = "refused"
    """The platform does not do it: not to this text, or not to this draft."""
    UNKNOWN = "unknown"
    """Perhaps it was done, or still will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLimits:
    """How much text a draft holds; the same as the first part of a reply."""

    text: int | None
    unit: TextUnit


class DraftMachine:
    """The life of one turn's draft.

    States: *closed* until there is enough text; *open* once a write opened it (or a draft of an earlier run
    of the turn was adopted); *frozen* after too many writes or failures, or when nobody knows whether it was
    opened; *ended* by `end`, after which there is no action any more. Text is heard in each of them.
    """

    def __init__(
        self, *, limits: DraftLimits, adopted: PlatformMessageId | None = None, still: bool = False
    ) -> None:
        """Begin a draft's life.

        Args:
            limits: how much text it holds.
            adopted: the draft that an earlier run of the turn left behind.
            still: write nothing; only bring the adopted draft to its end.
        """
        self._limits = limits
        self._draft = adopted
        self._is_adopted = adopted is not None
        self._text = ""
        self._deaf = False
        self._shown: str | None = None
        self._writing: DraftWrite | None = None
        self._not_before: datetime | None = None
        self._failures = 0
        self._uncertain = False
        self._frozen = still
        self._ended = False
        self._snapshots = 0
        self.writes = 0

    @property
    def draft(self) -> PlatformMessageId | None:
        """The message that is the draft now."""
        return self._draft

    @property
    def dropped(self) -> int:
        """How many states of the text were never shown, since newer ones took their place."""
        return max(self._snapshots - self.writes, 0)

    def hear(self, event: Heard) -> None:
        """Take in what happened to the text; what is shown stays until there is something to show instead."""
        match event:
            case Wrote(text=text):
                if not (self._deaf or self._is_full()):
                    self._text += text
                self._snapshots += 1
            case BeganAnew():
                self._text, self._deaf = "", False
            case Missed():
                self._text, self._deaf = "", True
            case ItemDone() | Thought():
                pass
            case _:
                assert_never(event)

    def due(self, now: datetime) -> datetime | None:
        """When to ask for the next write; `None` while there is none before more is heard."""
        if self._wanted() is None:
            return None
        return now if self._not_before is None else max(now, self._not_before)

    def next_write(self, now: datetime) -> DraftWrite | None:
        """The write to make now, if any; say `wrote` or `failed` before asking again."""
        wanted = self._wanted()
        if wanted is None or (self._not_before is not None and now < self._not_before):
            return None
        self._writing = wanted
        self._not_before = now + WRITE_EVERY
        self.writes += 1
        return wanted

    def wrote(self, draft: PlatformMessageId) -> None:
        """The write under way was done; `draft` is the message it stands in."""
        if self._writing is not None:
            self._shown = self._writing.text
        self._writing = None
        self._draft, self._is_adopted = draft, False
        self._failures, self._uncertain = 0, False

    def failed(self, failure: WriteFailure, *, now: datetime, wait: timedelta | None = None) -> None:
        """The write under way failed.

        Args:
            failure: what is known of it.
            now: the time.
            wait: what the platform asked for; being too fast slows the draft down and is no failure of it.
        """
        write, self._writing = self._writing, None
        if wait is not None:
            self._not_before = max(now + wait, self._not_before or now)
            return
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self._frozen = True
        match failure:
            case WriteFailure.NOT_SENT:
                pass
            case WriteFailure.REFUSED:
                if self._is_adopted:
                    # It was removed after the earlier run had noted it; this run may open one of its own.
                    self._draft, self._is_adopted = None, False
            case WriteFailure.UNKNOWN:
                self._uncertain = True
                # A second opening could leave two drafts, one of which nobody would know.
                self._frozen = self._frozen or isinstance(write, OpenDraft)
            case _:
                assert_never(failure)

    def end(self, *, answered: bool) -> DraftEnd | None:
        """End the draft; call it when no write is under way, or when that write will not be waited for.

        A draft whose last write may still be done is no place for the reply: a late edit would undo it.

        Args:
            answered: the turn has an answer; a stopped, failed or silent one leaves no draft behind.
        """
        self._ended = True
        if self._draft is None:
            return None
        if answered and not self._uncertain and self._writing is None:
            return SealDraft(draft=self._draft)
        return DiscardDraft(draft=self._draft)

    def _is_full(self) -> bool:
        """Whether more text could not be shown anyway."""
        return self._limits.text is not None and len(self._text) > self._limits.text + _OVER

    def _wanted(self) -> DraftWrite | None:
        if self._ended or self._frozen or self._writing is not None or self.writes >= MAX_WRITES:
            return None
        text = self._text.rstrip()
        if not text.strip() or (self._draft is None and len(text) < OPENS_AT):
            return None
        if self._limits.text is not None:
            text = head(text, limit=self._limits.text, unit=self._limits.unit).rstrip()
        if not text.strip() or text == self._shown:
            return None
        return OpenDraft(text=text) if self._draft is None else EditDraft(draft=self._draft, text=text)
