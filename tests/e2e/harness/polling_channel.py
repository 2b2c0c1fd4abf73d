"""A channel that polls, in the product's process: the far side's messages in, the gateway's parts out."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, cast

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.domain.ids import AccountId, PlatformMessageId
from fermix.domain.normalise import RawMessage

TEST_CHANNEL = "test"
_MAX_LINE_BYTES = 8 * 1024 * 1024
_KEEP = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})
_PAUSE_SECONDS = 0.1
"""Between two polls when the inbox takes nothing."""
_BROKEN = (
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
)


class PollingChannel:
    """Polls with an offset of its own; what the inbox does not take is asked for again."""

    def __init__(
        self,
        *,
        port: int,
        max_text: int | None = None,
        around: Callable[[str], AbstractContextManager[None]] = lambda _call: nullcontext(),
    ) -> None:
        self._port = port
        self._max_text = max_text
        self._around = around

    @property
    def account(self) -> AccountId:
        """Our identity there."""
        return AccountId("bot")

    @property
    def features(self) -> ChannelFeatures:
        """What is not acknowledged is offered again."""
        return ChannelFeatures(offers_again=True, max_text=self._max_text)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """Poll, let the inbox commit, and only then acknowledge."""
        offset = 0 if cursor is None else int(cursor)
        async with self._connected() as line:
            while True:
                polled = (await line.ask({"op": "poll", "after": offset}))["messages"]
                if not polled:
                    continue
                with self._around("receive"):
                    pass
                verdicts = await inbox.accept([Offered(message=_raw(message)) for message in polled])
                taken = _taken(polled, verdicts)
                if taken > offset:
                    with self._around("acknowledge"):
                        await line.ask({"op": "ack", "offset": taken})
                    offset = taken
                if offset < polled[-1]["offset"]:
                    await anyio.sleep(_PAUSE_SECONDS)

    async def send(self, part: OutgoingPart) -> Delivered:
        """Send one part; see the `Channel` port."""
        left = False
        try:
            with self._around("send"):
                async with self._connected() as line:
                    left = True
                    answer = await line.ask(
                        {
                            "op": "send",
                            "chat": part.target.chat,
                            "text": part.body.text,
                            "nonce": part.nonce,
                            "repeated": part.repeated,
                            "reply_to": part.target.reply_to,
                        }
                    )
        except _BROKEN as exc:
            if left:
                raise ChannelOutcomeUnknown("the line broke after the part had left") from exc
            raise ChannelUnreachable("nobody is there") from exc
        match answer.get("error"):
            case "rate_limited":
                raise ChannelRateLimited("too fast", retry_after=timedelta(seconds=answer["retry_after"]))
            case "refused":
                raise ChannelRejected("the platform refused it")
            case _:
                return Delivered(platform_id=PlatformMessageId(answer["id"]))

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator["_Line"]:
        async with await anyio.connect_tcp("127.0.0.1", self._port) as stream:
            line = _Line(stream)
            await line.hear()
            yield line


class _Line:
    """One connection: a request, an answer."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._buffered = BufferedByteReceiveStream(stream)

    async def ask(self, request: Mapping[str, Any]) -> Any:
        await self._stream.send(json.dumps(request).encode() + b"\n")
        return await self.hear()

    async def hear(self) -> Any:
        return json.loads(await self._buffered.receive_until(b"\n", _MAX_LINE_BYTES))


def _raw(message: Mapping[str, Any]) -> RawMessage:
    """The message as an adapter hands it over; what the far side left out, or gave a wrong type, stays so."""
    known = {
        "id": message.get("id"),
        "content": message.get("text"),
        "sender": message.get("name"),
        "sender_id": message.get("user"),
        "chat_id": message.get("chat"),
        "reply_target": message.get("chat"),
    }
    return cast("RawMessage", {name: value for name, value in known.items() if value is not None})


def _taken(polled: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]) -> int:
    """The offset up to which everything may be acknowledged; the first message's own minus one for none."""
    taken: int = polled[0]["offset"] - 1
    for message, verdict in zip(polled, verdicts, strict=True):
        if verdict in _KEEP:
            break
        taken = message["offset"]
    return taken
