"""Files that a client brings over its connection before it asks."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from fermix.application.ports.uploads import MAX_FILES, Upload
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.file_wire import decode_piece
from fermix.infrastructure.local_socket.protocol import ErrorCode, ProtocolFault, Request, Verb


class UploadBrokenOff(Exception):
    """The client left in the middle of a file."""


class Uploads:
    """What one connection has brought for its next question, by the names that it was told."""

    def __init__(self) -> None:
        self._kept: dict[str, Upload] = {}

    def must_have_room(self) -> None:
        """Before another one comes.

        Raises:
            Malformed: one question takes no more.
        """
        if len(self._kept) >= MAX_FILES:
            raise Malformed(f"No more than {MAX_FILES} files go with one `ask`.")

    def add(self, upload: Upload) -> str:
        """Note one; the name that the question takes it by."""
        name = str(len(self._kept) + 1)
        self._kept[name] = upload
        return name

    def named(self, names: Sequence[str]) -> tuple[Upload, ...]:
        """Those of these names, in this order.

        Raises:
            Malformed: one was not brought over this connection.
        """
        try:
            return tuple(self._kept[name] for name in names)
        except KeyError:
            raise Malformed(
                "The ask's `files` names what no `attach` of this connection has brought."
            ) from None

    def clear(self) -> None:
        """Forget them all: they went with a question."""
        self._kept.clear()


async def uploaded(
    request_id: str, next_request: Callable[[], Awaitable[Request | None]]
) -> AsyncGenerator[bytes]:
    """The bytes of the file that the request began, as its pieces come.

    Raises:
        UploadBrokenOff: the client left before the last one.
        ProtocolFault: something else came in between.
    """
    while True:
        request = await next_request()
        if request is None:
            raise UploadBrokenOff
        if request.verb != Verb.PIECE:
            raise ProtocolFault(
                ErrorCode.BAD_REQUEST,
                "Until the last `piece` of a file nothing else may come.",
                request_id=request.id,
            )
        try:
            piece = decode_piece(request.params)
        except Malformed as error:
            raise ProtocolFault(ErrorCode.BAD_REQUEST, str(error), request_id=request.id) from None
        if piece.of != request_id:
            continue  # a late piece of a file that was refused
        if piece.data:
            yield piece.data
        if piece.last:
            return
