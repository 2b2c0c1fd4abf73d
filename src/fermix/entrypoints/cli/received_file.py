"""A file that came with an answer, once it has been saved or cannot be."""

from typing import Any, NamedTuple, TypeAlias

from fermix.infrastructure.local_socket.asking import AskEvent


class ReceivedFile(NamedTuple):
    """How a file that came ended.

    Attributes:
        name: what its sender called it, untrusted.
        path: where it lies, absolute; `None` when it could not be saved, and nothing of it is left.
        kind: as what it is shown: `image`, `document`, `audio`, `voice` or `video`.
        problem: why there is no path: one sentence.
    """

    name: str
    path: str | None
    mime: str
    size: int
    kind: str
    caption: str
    problem: str | None = None

    def told(self) -> str:
        """The line for a person."""
        if self.path is None:
            return f"The file {self.name} could not be saved. {self.problem}"
        caption = f": {' '.join(self.caption.split())}" if self.caption.strip() else ""
        return f"Saved {self.path} ({self.mime}, {_size(self.size)}){caption}"

    def document(self) -> dict[str, Any]:
        """The object for a program."""
        problem = {} if self.problem is None else {"problem": self.problem}
        return {
            "path": self.path,
            "name": self.name,
            "mime": self.mime,
            "size": self.size,
            "kind": self.kind,
            "caption": self.caption,
            **problem,
        }


ShownEvent: TypeAlias = AskEvent | ReceivedFile
"""What is shown of an `ask`."""


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
