"""What a model tells of its thoughts, put together while the stream of its answer arrives."""

from collections.abc import Hashable

from fermix.application.ports.model import MAX_THOUGHT

MOST = 256
"""Thoughts of one answer that are told; a model that has more of them is not listened to any further."""


class Thoughts:
    """Joins the pieces of each thought, and hands it out once, when it is whole.

    A thought has a name that is its own within the answer. Only its first `MAX_THOUGHT` characters are kept,
    so that a model that thinks for an hour costs no memory here.
    """

    def __init__(self) -> None:
        self._pieces: dict[Hashable, str] = {}
        self._ended: set[Hashable] = set()
        self._whole: list[str] = []

    def add(self, name: Hashable, piece: str) -> None:
        """The next piece of a thought."""
        if piece and (name in self._pieces or self._may_begin(name)):
            known = self._pieces.get(name, "")
            self._pieces[name] = known + piece[: MAX_THOUGHT - len(known)]

    def end(self, name: Hashable, text: str = "") -> None:
        """A thought is whole.

        Args:
            name: which one; told already, it is not told again.
            text: all of it, where the server repeats that; else its pieces are joined.
        """
        pieces = self._pieces.pop(name, "")
        if name in self._ended or (not pieces and not self._may_begin(name)):
            return
        self._ended.add(name)
        thought = (text or pieces)[:MAX_THOUGHT].strip()
        if thought:
            self._whole.append(thought)

    def end_all(self) -> None:
        """Something else follows: every thought that was begun is whole."""
        for name in tuple(self._pieces):
            self.end(name)

    def told(self) -> tuple[str, ...]:
        """The thoughts that became whole since this was asked last."""
        whole, self._whole = tuple(self._whole), []
        return whole

    def _may_begin(self, name: Hashable) -> bool:
        return name not in self._ended and len(self._ended) + len(self._pieces) < MOST
