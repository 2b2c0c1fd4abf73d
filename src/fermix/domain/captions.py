"""A caption that is too long for its channel: the file keeps its beginning, texts follow with the rest."""

from dataclasses import replace

from fermix.domain.delivery import ROOM_FOR_MARK, MediaPart, Part, TextPart
from fermix.domain.splitting import TextUnit, split, split_off, units

_LEAST = 64
"""A caption with less room than this is not begun at all."""


def with_whole_caption(
    part: MediaPart, *, max_caption: int | None, max_text: int | None, unit: TextUnit
) -> tuple[Part, ...]:
    """A file and its whole caption as parts that a channel takes, each with room for the mark of a repeat.

    Args:
        part: the file, with a caption of any length.
        max_caption: as in the channel's `MediaCap`.
        max_text: as in its features.
        unit: what both are counted in.

    Returns:
        The file first; then, where its caption did not fit, texts.
    """
    if not part.caption.strip():
        return (replace(part, caption=""),)
    if max_caption is None or units(part.caption, unit) <= max_caption - ROOM_FOR_MARK:
        return (part,)
    room = max_caption - ROOM_FOR_MARK
    caption, rest = split_off(part.caption, limit=room, unit=unit) if room >= _LEAST else ("", part.caption)
    pieces = (rest,) if max_text is None else split(rest, limit=max_text - ROOM_FOR_MARK, unit=unit)
    return (replace(part, caption=caption), *(TextPart(text=piece) for piece in pieces if piece.strip()))
