"""The workspace inbox: where the owner's files lie, for the agent's tools to read."""

from typing import Protocol

from fermix.domain.blob import BlobRef


class NotSaved(Exception):
    """The file could not be put there; the text is for operators and holds no name from outside."""


class FileInbox(Protocol):
    """A folder in the workspace, for this user alone. Raises `NotSaved` and nothing else."""

    async def save(self, content: BlobRef, *, name: str | None, extension: str | None) -> str:
        """Put a stored file there, under a name of our own; the same file twice is one file.

        Args:
            content: in the store that the inbox was built with.
            name: as its sender calls it; a part of it is kept for people to know it by.
            extension: what fits its content, for a name that has none.

        Returns:
            The path that tools know it by.

        Raises:
            NotSaved: it is not there, and nothing of it is left.
        """
        ...
