"""What the model sees in one turn: the part of the conversation that it can hold, and the pictures in it."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from fermix.application.agent.window import fit_to_window
from fermix.application.ports.blobs import BlobError, BlobMissing, ReadsBlobs
from fermix.application.ports.model import Model, ModelError, ModelRequest, ToolDefinition
from fermix.domain import wording
from fermix.domain.blob import BlobRef
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import PICTURES_SHOWN, HistoryEntry, UserEntry, pictures_of, pictures_to_show

_log = logging.getLogger("fermix.agent")

_ABOUT_PICTURES = frozenset({FailureKind.IMAGE_UNSUPPORTED, FailureKind.IMAGE_REFUSED})


class _NothingKept:
    def open(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise BlobMissing(f"no file is kept here, {blob.digest} neither")


NOTHING_KEPT: ReadsBlobs = _NothingKept()
"""A store for who has none: of every picture the model is told that it was there."""


class Sight:
    """One turn's requests as they are seen. A picture's bytes are read once and kept while the turn lasts."""

    def __init__(
        self, *, model: Model, system: str, tools: Sequence[ToolDefinition], blobs: ReadsBlobs
    ) -> None:
        self._model = model
        self._system = system
        self._tools = tuple(tools)
        self._blobs = blobs
        self._read: dict[str, bytes] = {}
        self._looks_back = True
        self._shows_old = False

    async def request(self, history: Sequence[HistoryEntry], turn: Sequence[HistoryEntry]) -> ModelRequest:
        """The next request: all pictures of the turn, and the newest of the conversation besides.

        To a model without vision old pictures are mentioned, as is one whose file is gone.

        Raises:
            ModelError: the turn itself brings a picture, and the model has no vision.
        """
        new = pictures_of(turn)
        profile = self._model.profile
        if new and not profile.vision:
            raise ModelError(
                Failure(kind=FailureKind.IMAGE_UNSUPPORTED, provider=profile.provider, model=profile.model)
            )
        limit = PICTURES_SHOWN if profile.vision and self._looks_back else 0
        shown = pictures_to_show(history, turn, limit=limit)
        entries = fit_to_window(history, turn, self._model, self._system, self._tools, shown=shown)
        seen = shown & pictures_of(entries)
        self._shows_old = bool(seen - new)
        pictures = {blob.digest: content for blob in seen if (content := await self._bytes(blob)) is not None}
        return ModelRequest(system=self._system, entries=entries, tools=self._tools, pictures=pictures)

    def looks_away(self, refusal: Failure) -> bool:
        """Whether a request that was refused for its pictures is to be asked again without those of earlier turns.

        The provider ran nothing of it. A picture that one provider took and another does not would else end every
        later turn of the conversation.
        """
        if refusal.kind not in _ABOUT_PICTURES or not self._shows_old:
            return False
        _log.warning("agent.old_pictures_refused", extra={"kind": refusal.kind.value})
        self._looks_back = self._shows_old = False
        return True

    async def _bytes(self, blob: BlobRef) -> bytes | None:
        if blob.digest not in self._read:
            try:
                async with self._blobs.open(blob) as pieces:
                    self._read[blob.digest] = b"".join([piece async for piece in pieces])
            except BlobError as exc:
                _log.warning("agent.picture_gone", extra={"digest": blob.digest, "cause": str(exc)})
        return self._read.get(blob.digest)


def forget_pictures(refusal: Failure, turn: list[HistoryEntry]) -> None:
    """Take the pictures out of a turn whose provider refused them, so that no later request brings them again."""
    if refusal.kind not in _ABOUT_PICTURES:
        return
    for place, entry in enumerate(turn):
        if isinstance(entry, UserEntry) and entry.pictures:
            notes = [wording.PICTURE_REFUSED] * len(entry.pictures)
            turn[place] = replace(entry, text="\n\n".join([*filter(None, [entry.text]), *notes]), pictures=())
