"""What a claimed turn's messages bring, once their media is prepared: something to answer, or the end of it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from fermix.application.agent.prompt import user_entry
from fermix.application.ports.file_inbox import FileInbox, NotSaved
from fermix.application.ports.turns import ClaimedMessage, ClaimedTurn
from fermix.application.turns.settle import Ending
from fermix.domain import wording
from fermix.domain.history import UserEntry
from fermix.domain.ids import MessageRow
from fermix.domain.incoming_media import (
    FileKept,
    MediaFailed,
    MediaProblem,
    PictureReady,
    Transcribed,
    extension_of,
    transcript_in,
    words_of,
)
from fermix.domain.media_wording import heard_in, refused, saved
from fermix.domain.message import AttachmentKind
from fermix.domain.trust import Trust
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.media")

SAVING_SECONDS = 30.0
"""How long files may take on their way into the workspace inbox."""

_LOOKED_AT = (AttachmentKind.AUDIO, AttachmentKind.IMAGE, AttachmentKind.FILE, AttachmentKind.OTHER)
"""The order in which failures count."""

_FILE_OF_A_GUEST = MediaFailed(problem=MediaProblem.FILE_OF_A_GUEST, kind=AttachmentKind.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeIn:
    """Makes of claimed messages what the model reads, or the ending of a turn that no model needs to see.

    Attributes:
        inbox: where the owner's files go; `None`: they are only named.
    """

    inbox: FileInbox | None = None

    async def __call__(self, claim: ClaimedTurn, trust: Trust) -> UserEntry | Ending:
        """Take a turn's messages in; what stands in their way ends it, with the reply that says so."""
        failed = failure_of(claim.messages, trust)
        if failed is not None:
            return _told(claim, failed)
        if not any(_is_readable(claimed) for claimed in claim.messages):
            return Ending(outcome=Outcome.FAILED, text=wording.LOOKS_EMPTY)
        return user_entry(claim.messages, saved=await self._save(claim.messages))

    async def _save(self, messages: Sequence[ClaimedMessage]) -> Mapping[MessageRow, Mapping[int, str]]:
        lines: dict[MessageRow, dict[int, str]] = {}
        with anyio.move_on_after(SAVING_SECONDS):
            for claimed in messages:
                for media in claimed.media:
                    if isinstance(media.result, FileKept):
                        line = await self._saved(claimed, media.position, media.result)
                        if line is not None:
                            lines.setdefault(claimed.row, {})[media.position] = line
        return lines

    async def _saved(self, claimed: ClaimedMessage, position: int, file: FileKept) -> str | None:
        if self.inbox is None:
            return None
        attachment = claimed.message.attachments[position]
        try:
            path = await self.inbox.save(
                file.content, name=attachment.name, extension=extension_of(file.mime_type)
            )
        except NotSaved as exc:
            _log.warning("media.not_saved", extra={"cause": str(exc)})
            return None
        return saved(attachment, path=path, mime_type=file.mime_type, size_bytes=file.content.size_bytes)


def failure_of(messages: Sequence[ClaimedMessage], trust: Trust) -> MediaFailed | None:
    """What ends the turn before any model is asked: recordings are looked at first, then pictures, then files.

    One picture that failed ends them all; what its sender can put right goes before what is not told. A file is
    none for a guest, also when its sender was the owner when it was sent.
    """
    return min(_failures(messages, trust), key=_rank, default=None)


def _rank(failed: MediaFailed) -> tuple[bool, int]:
    return failed.is_silent, _LOOKED_AT.index(failed.kind)


def _failures(messages: Sequence[ClaimedMessage], trust: Trust) -> Iterator[MediaFailed]:
    for claimed in messages:
        for media in claimed.media:
            match media.result:
                case MediaFailed(problem=MediaProblem.EMPTY):
                    continue
                case MediaFailed():
                    yield media.result
                case FileKept() if trust is not Trust.OPERATOR:
                    yield _FILE_OF_A_GUEST
                case _:
                    continue


def _told(claim: ClaimedTurn, failed: MediaFailed) -> Ending:
    """The end of a message whose media failed; who waits at a terminal is told in any case."""
    _log.warning(
        "turn.media_failed",
        extra={"turn": claim.turn, "kind": failed.kind.value, "problem": failed.problem.value},
    )
    silent = failed.is_silent and not claim.awaited
    return Ending(outcome=Outcome.FAILED, text="" if silent else refused(failed), keep_bodies=True)


def _is_readable(claimed: ClaimedMessage) -> bool:
    results = [media.result for media in claimed.media]
    says = replace(claimed.message, text=words_of(claimed.message.text, results))
    if says.is_readable or any(isinstance(result, PictureReady | FileKept) for result in results):
        return True
    # A channel whose files are not fetched lets through what the model is only told of.
    return bool(claimed.message.attachments) and not claimed.media


def with_notes(ending: Ending, messages: Sequence[ClaimedMessage]) -> Ending:
    """An answer that says so when a recording was in a language the transcriber does not understand."""
    if ending.outcome is not Outcome.COMPLETED:
        return ending
    heard = [transcript_in(media.result for media in claimed.media) for claimed in messages]
    foreign = {
        each.foreign_language for each in heard if isinstance(each, Transcribed) and each.foreign_language
    }
    notes = [heard_in(language) for language in sorted(foreign)]
    return replace(ending, text="\n\n".join([ending.text, *notes])) if notes and ending.text else ending
