"""What a conversation remembers: the entries of a lane's window, and cutting them to a model's window."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fermix.domain.blob import BlobRef
from fermix.domain.picture import Picture

PICTURES_SHOWN = 4
"""How many pictures of a conversation go with each request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """What a person said, as the model reads it, and the pictures that came with it, in order.

    Attributes:
        inbox_lines: the paragraphs of `text` that name files in the workspace inbox, which not everybody may see.
    """

    text: str
    pictures: tuple[Picture, ...] = ()
    inbox_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """A tool call inside an assistant entry; `arguments` is always the text of a JSON object."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantEntry:
    """What the model said, with the calls it made.

    `provider_state` is opaque and goes back only to `provider`, which made it.
    """

    text: str
    calls: tuple[CallRecord, ...] = ()
    provider: str | None = None
    provider_state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """The result of one call; directly follows the assistant entry that made it, in call order."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerEntry:
    """A note by the system (a stopped request, a restart), read by the model as context."""

    text: str


HistoryEntry: TypeAlias = UserEntry | AssistantEntry | ToolEntry | MarkerEntry


def cut_to_budget(
    entries: Sequence[HistoryEntry], *, budget: int, measure: Callable[[HistoryEntry], int]
) -> tuple[HistoryEntry, ...]:
    """Keep the newest exchanges that fit, never parting a call from its result.

    An exchange starts with a user or marker entry and runs to the next one. The last exchange is always kept
    whole, even over budget: it is what must be answered, and the provider says best that it is too long.

    Args:
        entries: oldest first.
        budget: in the unit of `measure`; may be negative.
        measure: the cost of one entry.

    Returns:
        A suffix of `entries` that starts with a user or marker entry (or everything, when none exists).
    """
    starts = [i for i, entry in enumerate(entries) if isinstance(entry, UserEntry | MarkerEntry)]
    if not starts:
        return tuple(entries)
    cut = starts[-1]
    spent = sum(measure(entry) for entry in entries[cut:])
    for start in reversed(starts[:-1]):
        spent += sum(measure(entry) for entry in entries[start:cut])
        if spent > budget:
            break
        cut = start
    return tuple(entries[cut:])


def pictures_of(entries: Iterable[HistoryEntry]) -> frozenset[BlobRef]:
    """All pictures of these entries."""
    return frozenset(picture.content for picture in _pictures(entries))


def pictures_to_show(
    history: Sequence[HistoryEntry], turn: Sequence[HistoryEntry], *, limit: int = PICTURES_SHOWN
) -> frozenset[BlobRef]:
    """The pictures that go with a request, so that a later question can be about an earlier picture.

    Args:
        history: the conversation before the turn, oldest first.
        turn: the turn so far; its own pictures are always shown.
        limit: the newest so many of both together are shown as well.
    """
    own = pictures_of(turn)
    newest: list[BlobRef] = []
    for picture in reversed([*_pictures(history), *_pictures(turn)]):
        if len(newest) >= limit:
            break
        if picture.content not in newest:
            newest.append(picture.content)
    return own.union(newest)


def _pictures(entries: Iterable[HistoryEntry]) -> list[Picture]:
    return [picture for entry in entries if isinstance(entry, UserEntry) for picture in entry.pictures]
