"""What of a conversation in a shared chat a guest's turn may see: what was visibly posted there, and no more."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, ToolEntry, UserEntry


def posted_only(entries: Iterable[HistoryEntry]) -> Iterator[HistoryEntry]:
    """The entries without calls of tools and their results, and without paths of the workspace inbox."""
    for entry in entries:
        match entry:
            case UserEntry():
                yield without_inbox(entry)
            case AssistantEntry() if entry.text.strip():
                yield AssistantEntry(text=entry.text)
            case MarkerEntry():
                yield entry
            case AssistantEntry() | ToolEntry():
                continue


def without_inbox(entry: UserEntry) -> UserEntry:
    """What a person said, without the lines that name files in the workspace inbox."""
    if not entry.inbox_lines:
        return entry
    kept = [piece for piece in entry.text.split("\n\n") if piece not in entry.inbox_lines]
    return replace(entry, text="\n\n".join(kept), inbox_lines=())
