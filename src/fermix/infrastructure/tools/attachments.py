"""The capability to send a file of the workspace into the conversation."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import assert_never

from fermix.application.ports.blobs import BlobError, Blobs, BlobsFull, BlobTooLarge
from fermix.application.ports.reply import SEND_ATTACHMENT, NotShown, ReplySeam, ShowAnswer, Shown, UnderWay
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.application.ports.workspace import OpenFile, PathRefused, Workspace, WorkspaceSlow
from fermix.domain.authorization import Trust
from fermix.domain.capability import Capability, RiskClass
from fermix.domain.caps import MIB
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.incoming_media import HEAD_BYTES
from fermix.domain.outgoing_file import shown_name, shows_as, stated_type, type_to_send
from fermix.infrastructure.tools.answers import quoted, refused
from fermix.infrastructure.tools.arguments import Arguments, BadArgument

_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")

_KIND = "How it is shown: as a document when absent. A voice is a recording that is played in the chat."


def _parameters(kinds: Iterable[MediaKind]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "A file: relative to the workspace, or absolute inside it.",
            },
            "kind": {"type": "string", "enum": [kind.value for kind in kinds], "description": _KIND},
            "caption": {"type": "string", "description": "Words under it, in Markdown."},
            "filename": {
                "type": "string",
                "description": "The name people see; the file's own when absent.",
            },
            "mime_type": {
                "type": "string",
                "description": "Its media type, where its content does not say so.",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }


_CAPABILITY = Capability(
    name=SEND_ATTACHMENT,
    description=(
        "Send a file from the workspace to the person you are talking to, in this conversation. One file a step. "
        "The same file with the same caption is not shown twice within a minute. When the file says all there is "
        "to say, you may end your turn without text."
    ),
    parameters=_parameters(MediaKind),
    # It changes nothing but the conversation, and writes its own effect row in one commit with what is sent.
    risk=RiskClass.READ_ONLY,
    owner_data=True,
    category="channel",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the model asked for, checked as far as that goes without the file."""

    path: str
    kind: MediaKind
    caption: str
    filename: str | None
    stated_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAttachment:
    """Copies a file into the store and hands it to the reply; from there on it is as safe as any text."""

    workspace: Workspace
    blobs: Blobs
    capability: Capability = _CAPABILITY

    def offered(self, context: ToolContext) -> Mapping[str, object] | None:
        """See `OfferedByTurn.offered`: only where files can be shown, and with the kinds that are."""
        if context.reply is None or not context.reply.files:
            return None
        return _parameters(kind for kind in MediaKind if kind in context.reply.files)

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Send one file; whatever stands against it is a failed result that says what."""
        if context.reply is None or not context.reply.files:
            return _failed("There is no conversation here that a file could be sent to.")
        try:
            wanted = _wanted(Arguments(given=arguments), context.reply)
            return await self._send(wanted, context.reply, _cwd(context))
        except (BadArgument, PathRefused, WorkspaceSlow, BlobError) as exc:
            return _failed(_why_not(exc))

    async def _send(self, wanted: _Wanted, reply: ReplySeam, cwd: PurePath | None) -> ToolResult:
        most = reply.files[wanted.kind].max_bytes
        async with self.workspace.open(wanted.path, cwd=cwd) as file:
            if file.size_bytes > most:
                return _failed(_too_large(wanted.path, file.size_bytes, most))
            head = await anext(file.content, b"")
            if not head:
                return _failed(f"{quoted(wanted.path)} is empty; there is nothing to send.")
            name = shown_name(wanted.filename or file.name)
            mime_type = type_to_send(head[:HEAD_BYTES], name=name, stated=wanted.stated_type)
            if not shows_as(wanted.kind, mime_type):
                return _failed(
                    f"{quoted(wanted.path)} is of the type {mime_type} and cannot be shown as {wanted.kind}. "
                    "Send it as a document."
                )
            try:
                blob = await self.blobs.store(_whole(head, file), limit=most)
            except BlobTooLarge:
                return _failed(f"{quoted(wanted.path)} grew while it was read, to more than {_size(most)}.")
        part = MediaPart(
            kind=wanted.kind, blob=blob, file_name=name, mime_type=mime_type, caption=wanted.caption
        )
        return _told(part, await reply.show_file(part))


async def _whole(head: bytes, file: OpenFile) -> AsyncGenerator[bytes]:
    """The file again from its beginning, of which `head` was read already."""
    yield head
    async for piece in file.content:
        yield piece


def _wanted(given: Arguments, reply: ReplySeam) -> _Wanted:
    """What is to be sent, checked in the order in which a mistake is told.

    Raises:
        BadArgument: the path is missing or an address, the kind is none or none of this conversation, or another
            argument is wrong.
    """
    path = given.text("path")
    if _ADDRESS.match(path):
        raise BadArgument(
            f"{quoted(path)} is an address on the web, not a file. Only files can be sent; give the address in "
            "your answer instead."
        )
    kind = _kind(given.optional_text("kind"), reply)
    given.only("path", "kind", "caption", "filename", "mime_type")
    stated = given.optional_text("mime_type")
    if stated is not None and stated_type(stated) is None:
        raise BadArgument(f"The argument `mime_type` is no media type: {quoted(stated)}. One is `text/csv`.")
    return _Wanted(
        path=path,
        kind=kind,
        caption=given.optional_text("caption") or "",
        filename=given.optional_text("filename"),
        stated_type=None if stated is None else stated_type(stated),
    )


def _kind(named: str | None, reply: ReplySeam) -> MediaKind:
    here = ", ".join(f"`{kind}`" for kind in MediaKind if kind in reply.files)
    try:
        kind = MediaKind(named or MediaKind.DOCUMENT)
    except ValueError as exc:
        raise BadArgument(f"There is no kind of file {quoted(named or '')}; there are: {here}.") from exc
    if kind not in reply.files:
        raise BadArgument(f"This conversation takes no file of the kind `{kind}`; it takes: {here}.")
    return kind


def _why_not(error: BadArgument | PathRefused | WorkspaceSlow | BlobError) -> str:
    match error:
        case BadArgument():
            return str(error)
        case PathRefused():
            return refused(error)
        case WorkspaceSlow():
            return "The file could not be read in time."
        case BlobsFull():
            return "There is no room to keep a copy of the file until it has been sent."
        case BlobError():
            return "The file could not be copied to be sent."
        case _:
            assert_never(error)


def _told(part: MediaPart, answer: ShowAnswer) -> ToolResult:
    file = f"{quoted(part.file_name)} ({_size(part.blob.size_bytes)}, {part.mime_type})"
    match answer:
        case Shown():
            return ToolResult(text=f"{file} was sent as a file of the kind `{part.kind}`.")
        case UnderWay():
            return ToolResult(
                text=f"{file} is on its way, and tried again by itself until it has arrived. Do not send it twice."
            )
        case NotShown(cause=cause):
            return _failed(f"{file} could not be sent: the platform did not take it ({cause}).")
        case _:
            assert_never(answer)


def _too_large(path: str, size: int, most: int) -> str:
    return (
        f"{quoted(path)} is too large to be sent as it is: it has {_size(size)}, and this conversation takes "
        f"{_size(most)} at most."
    )


def _size(size: int) -> str:
    """Bytes in words; exact where rounding would hide on which side of a limit they are."""
    if size % MIB == 0 and size:
        return f"{size // MIB} MB"
    return f"{size / MIB:.1f} MB ({size} bytes)" if size > MIB else f"{size} bytes"


def _cwd(context: ToolContext) -> PurePath | None:
    """The folder the owner asks from; a turn of anybody else brings none, whatever its context says."""
    return context.request_cwd if context.scope.trust is Trust.OPERATOR else None


def _failed(text: str) -> ToolResult:
    return ToolResult(text=text, failed=True)
