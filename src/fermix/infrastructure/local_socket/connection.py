"""One client of the control socket, from its first line to its last."""

from collections.abc import Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, assert_never

import anyio
from anyio import CancelScope
from anyio.abc import ByteStream

from fermix.application.ports.blobs import BlobError, BlobMissing
from fermix.application.ports.control import (
    AskEnd,
    AskEnded,
    AskFile,
    AskRequest,
    Control,
    Principal,
    PrincipalCapability,
)
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.uploads import UploadRefused
from fermix.domain import upload_wording
from fermix.domain.delivery import MediaPart
from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.file_wire import (
    decode_attach,
    encode_file,
    encode_file_broken,
    encode_file_piece,
)
from fermix.infrastructure.local_socket.lane_verbs import LaneVerb, lane_answer
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.protocol import (
    ErrorCode,
    LineBuffer,
    ProtocolFault,
    Request,
    Verb,
    decode_request,
    encode_error,
    encode_event,
    encode_result,
)
from fermix.infrastructure.local_socket.refused_wire import encode_refused
from fermix.infrastructure.local_socket.uploads import UploadBrokenOff, Uploads, uploaded
from fermix.infrastructure.local_socket.wire import (
    decode_ask,
    encode_ask_end,
    encode_ask_event,
    encode_health,
    encode_identity,
    encode_status,
)

_CHUNK_BYTES = 64 * 1024
_NO_LEDGER = "The ledger cannot be used now; please try again in a moment."

_NEEDS = MappingProxyType(
    {
        Verb.IDENTIFY: PrincipalCapability.READ,
        Verb.STATUS: PrincipalCapability.READ,
        Verb.HEALTH: PrincipalCapability.READ,
        Verb.ASK: PrincipalCapability.SUBMIT,
        Verb.CANCEL: PrincipalCapability.SUBMIT,
        Verb.STOP: PrincipalCapability.CONTROL,
        Verb.SESSIONS: PrincipalCapability.READ,
        Verb.QUEUE: PrincipalCapability.READ,
        Verb.RESOLVE: PrincipalCapability.CONTROL,
        Verb.REFUSED: PrincipalCapability.READ,
        Verb.ATTACH: PrincipalCapability.SUBMIT,
        Verb.PIECE: PrincipalCapability.SUBMIT,
    }
)


class Connection:
    """Serves one client: requests one after another, each answered before the next is read.

    While an `ask` runs, its client may only cancel it or leave, which cancels it too: another request is told that
    the connection is busy.
    """

    def __init__(
        self, stream: ByteStream, control: Control, *, principal: Principal, limits: SocketLimits
    ) -> None:
        self._stream = stream
        self._control = control
        self._principal = principal
        self._limits = limits
        self._lines = LineBuffer()
        self._uploads = Uploads()
        self._writing = anyio.Lock()
        self._gone = False
        self._cancelled = False
        self._fault: ProtocolFault | None = None

    async def run(self) -> None:
        """Serve until the client leaves, is refused or is too slow."""
        try:
            await self._serve_requests()
        except ProtocolFault as fault:
            await self._refuse(fault)

    async def _serve_requests(self) -> None:
        limit = self._limits.first_request_seconds
        while not self._gone:
            with anyio.move_on_after(limit) as wait:
                line = await self._next_line()
            if wait.cancelled_caught:
                raise ProtocolFault(ErrorCode.BAD_REQUEST, f"No complete request came within {limit:g} s.")
            if line is None:
                return
            await self._serve(decode_request(line))
            limit = self._limits.idle_seconds

    async def _serve(self, request: Request) -> None:
        try:
            verb = Verb(request.verb)
        except ValueError:
            await self._send_error(
                request.id, ErrorCode.UNKNOWN_VERB, f"Verbs are {', '.join(Verb)}; this one is unknown."
            )
            return
        if _NEEDS[verb] not in self._principal.capabilities:
            await self._send_error(request.id, ErrorCode.DENIED, f"You may not use `{verb}`.")
            return
        try:
            await self._answer(verb, request)
        except LedgerUnavailable:
            await self._send_error(request.id, ErrorCode.UNAVAILABLE, _NO_LEDGER)

    async def _answer(self, verb: Verb, request: Request) -> None:
        match verb:
            case Verb.IDENTIFY:
                await self._send_result(request.id, encode_identity(self._control.identify()))
            case Verb.STATUS:
                await self._send_result(request.id, encode_status(await self._control.status()))
            case Verb.HEALTH:
                await self._send_result(request.id, encode_health(await self._control.health()))
            case Verb.STOP:
                await self._control.stop(self._principal)
                await self._send_result(request.id, {})
            case Verb.ASK:
                await self._serve_ask(request)
            case Verb.SESSIONS | Verb.QUEUE | Verb.RESOLVE:
                await self._serve_lanes(verb, request)
            case Verb.REFUSED:
                await self._send_result(request.id, encode_refused(await self._control.refused()))
            case Verb.ATTACH:
                await self._serve_attach(request)
            case Verb.CANCEL | Verb.PIECE:
                pass  # what it names has ended meanwhile, and has been answered
            case _:
                assert_never(verb)

    async def _serve_lanes(self, verb: LaneVerb, request: Request) -> None:
        try:
            content = await lane_answer(verb, request.params, self._control.lanes)
        except Malformed as error:
            await self._send_error(request.id, ErrorCode.BAD_REQUEST, str(error))
        else:
            await self._send_result(request.id, content)

    async def _serve_attach(self, request: Request) -> None:
        try:
            offer = decode_attach(request.params)
            self._uploads.must_have_room()
        except Malformed as error:
            await self._send_error(request.id, ErrorCode.BAD_REQUEST, str(error))
            return
        try:
            async with aclosing(uploaded(request.id, self._next_piece)) as pieces:
                upload = await self._control.keep(offer.name, pieces, size=offer.size)
        except UploadBrokenOff:
            self._gone = True
        except UploadRefused as refused:
            code = ErrorCode.TOO_LARGE if refused.too_large else ErrorCode.UNAVAILABLE
            await self._send_error(request.id, code, str(refused))
        else:
            await self._send_result(request.id, {"file": self._uploads.add(upload)})

    async def _next_piece(self) -> Request | None:
        limit = self._limits.piece_seconds
        with anyio.move_on_after(limit) as wait:
            line = await self._next_line()
        if wait.cancelled_caught:
            raise ProtocolFault(ErrorCode.BAD_REQUEST, f"No piece of the file came within {limit:g} s.")
        return None if line is None else decode_request(line)

    async def _serve_ask(self, request: Request) -> None:
        try:
            question = decode_ask(request.params, named=self._uploads.named)
        except Malformed as error:
            await self._send_error(request.id, ErrorCode.BAD_REQUEST, str(error))
            return
        self._uploads.clear()
        self._cancelled = False
        end: AskEnded | None = None
        with CancelScope() as last_words:
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._watch, request.id, beside.cancel_scope)
                beside.start_soon(self._keep_alive, request.id, beside.cancel_scope)
                end = await self._follow(request.id, question)
                # The end is known: that the process is ending must not keep it from its client.
                last_words.shield = end is not None
                beside.cancel_scope.cancel()
            if self._fault is None and end is not None:
                await self._send_result(request.id, encode_ask_end(end))
                return
        if self._fault is not None:
            raise self._fault
        if self._cancelled:
            await self._send_error(request.id, ErrorCode.CANCELLED, "The request was cancelled.")
        else:
            await self._send_error(request.id, ErrorCode.INTERNAL, "The answer broke off.")

    async def _follow(self, request_id: str, question: AskRequest) -> AskEnded | None:
        try:
            async with self._control.ask(question, self._principal) as events:
                async for event in events:
                    if isinstance(event, AskEnded):
                        return event
                    if isinstance(event, AskFile):
                        went = await self._send_file(request_id, event.part)
                    else:
                        went = await self._send_event(request_id, encode_ask_event(event))
                    if not went:
                        return None
        except LedgerUnavailable:
            return AskEnded(end=AskEnd.UNAVAILABLE, text="", notice=_NO_LEDGER)
        return None

    async def _send_file(self, request_id: str, part: MediaPart) -> bool:
        """Tell of a file and send its bytes, as fast as the client takes them; false when it is gone."""
        if not await self._send_event(request_id, encode_file(part)):
            return False
        try:
            async with self._control.open_file(part.blob) as pieces:
                async for piece in pieces:
                    if not await self._send_event(request_id, encode_file_piece(piece)):
                        return False
        except BlobError as error:
            gone = isinstance(error, BlobMissing)
            message = upload_wording.FILE_GONE if gone else upload_wording.FILE_UNREADABLE
            return await self._send_event(request_id, encode_file_broken(message))
        return True

    async def _watch(self, asked: str, ask: CancelScope) -> None:
        """Read on while an `ask` runs, and end it when its client cancels, leaves or sends rubbish."""
        try:
            while True:
                line = await self._next_line()
                if line is None:
                    self._gone = True
                    break
                request = decode_request(line)
                if _names_cancelled(request) == asked:
                    self._cancelled = True
                    break
                await self._send_error(request.id, ErrorCode.BUSY, "An `ask` is running on this connection.")
        except ProtocolFault as fault:
            self._fault = fault
        ask.cancel()

    async def _keep_alive(self, asked: str, ask: CancelScope) -> None:
        while not self._gone:
            await anyio.sleep(self._limits.alive_seconds)
            await self._send_event(asked, {"type": "alive"})
        ask.cancel()

    async def _next_line(self) -> bytes | None:
        while (line := self._lines.next_line()) is None:
            try:
                self._lines.feed(await self._stream.receive(_CHUNK_BYTES))
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                if not self._lines.is_empty and not self._gone:
                    raise ProtocolFault(ErrorCode.BAD_REQUEST, "The line has no end.") from None
                return None
        return line

    async def _refuse(self, fault: ProtocolFault) -> None:
        """Say why, then let the client read it: closing at once would throw away what it has not read."""
        await self._send_error(fault.request_id, fault.code, str(fault))
        self._gone = True
        with anyio.move_on_after(self._limits.farewell_seconds):
            try:
                await self._stream.send_eof()
                while True:
                    await self._stream.receive(_CHUNK_BYTES)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _send_error(self, request_id: str | None, code: ErrorCode, message: str) -> None:
        await self._send(encode_error(request_id, code, message))

    async def _send_result(self, request_id: str, content: Mapping[str, Any]) -> None:
        try:
            line = encode_result(request_id, content)
        except ProtocolFault as fault:
            line = encode_error(request_id, fault.code, f"The answer is too long. {fault}")
        await self._send(line)

    async def _send_event(self, request_id: str, content: Mapping[str, Any]) -> bool:
        try:
            line = encode_event(request_id, content)
        except ProtocolFault:
            return True  # longer than a line may be: the end of the request says so
        return await self._send(line)

    async def _send(self, line: bytes) -> bool:
        """Write a line whole, or count the client as gone; false when it is.

        Shielded, and bounded instead: a line broken off by a cancelled `ask` would spoil the reply that follows.
        """
        with anyio.move_on_after(self._limits.write_seconds, shield=True):
            async with self._writing:
                if self._gone:
                    return False
                try:
                    await self._stream.send(line)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    self._gone = True
                    return False
                return True
        self._gone = True
        return False


def _names_cancelled(request: Request) -> str | None:
    if request.verb != Verb.CANCEL:
        return None
    try:
        return Fields(request.params, "cancel").text("id")
    except Malformed as error:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, str(error), request_id=request.id) from None
