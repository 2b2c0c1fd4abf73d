"""Signal as the suite directs it: the whole adapter with real child processes, which run the fake signal-cli."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import anyio
import anyio.lowlevel

from fermix.application.ports.blobs import Blobs, ReadsBlobs
from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import ChannelName, ChatId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.domain.route import Target
from fermix.infrastructure.channels.signal.attachments import SignalAttachments
from fermix.infrastructure.channels.signal.channel import SignalChannel
from fermix.infrastructure.channels.signal.outgoing_files import OutgoingFiles
from fermix.infrastructure.channels.signal.process import Launch
from fermix.infrastructure.channels.signal.transport import Transport
from fermix.testing.channel_conformance import (
    PRIVATE,
    WAIT,
    CannotArrange,
    Fact,
    Gap,
    Shown,
    ShownFile,
    Trouble,
)
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.servers.signal_cli.records import ACCOUNT, OLGA, Fault, Sent, uuid_of
from fermix.testing.servers.signal_cli.server import SignalServer, signal_server
from tests.contract.channel.memory_far_side import MakeChannel, as_it_is
from tests.contract.channel.platforms import HastyClock

BEN = "+15552002"
GROUP = "R3JvdXBHcm91cEdyb3VwR3JvdXBHcm91cEdyb3VwMTI="
PATIENCE = timedelta(seconds=3)

_BY_ITSELF = (
    "signal-cli acknowledges what it receives by itself: a death in between is a loss that is declared"
)
_TOLD = "nothing is offered again: the sender of a message that was not taken is told so by the gateway"
_NOT_THERE = "Signal has nothing like it"

SIGNAL_GAPS = tuple(
    Gap(check=check, reason=reason)
    for reason, checks in (
        (_BY_ITSELF, ("it_acknowledges_after_the_inbox_and_not_before",)),
        (
            _TOLD,
            (
                "what_was_not_taken_is_offered_again",
                "nothing_beside_a_message_that_was_not_taken_is_lost",
            ),
        ),
        (
            _NOT_THERE,
            (
                "it_tells_bot",
                "it_tells_thread",
                "it_tells_quote",
                "it_tells_forward",
                "it_tells_album",
                "it_tells_command",
                "it_tells_others_command",
                "a_part_goes_to_its_thread",
            ),
        ),
        (
            "Signal shows text of any length; longer ones travel as a file",
            ("what_is_too_long_is_refused", "one_more_character_is_too_long"),
        ),
        (
            "there is no credential of ours: signal-cli keeps the keys of its account",
            (
                "no_credential_shows_in_an_error",
                "no_credential_shows_in_a_log",
                "no_fetching_shows_the_credential",
            ),
        ),
        (
            "received files lie on this machine's disk, also while Signal is away",
            ("what_cannot_be_fetched_is_told",),
        ),
        ("captions have no limit", ("the_longest_caption_is_taken_and_no_longer_one",)),
    )
    for check in checks
)

GARBAGE: tuple[object, ...] = (
    None,
    5,
    [PRIVATE],
    {},
    {"envelope": None},
    {"envelope": PRIVATE},
    {"envelope": {"dataMessage": {"message": PRIVATE}}},
    {"envelope": {"source": PRIVATE, "dataMessage": {"timestamp": 1, "message": PRIVATE}}},
    {"envelope": {"sourceUuid": uuid_of(OLGA), "dataMessage": PRIVATE}},
    {"envelope": {"sourceUuid": uuid_of(OLGA), "editMessage": PRIVATE}},
    {
        "envelope": {
            "sourceUuid": uuid_of(OLGA),
            "editMessage": {"dataMessage": {"timestamp": 1, "message": "x"}},
        }
    },
    {
        "envelope": {"sourceUuid": uuid_of(OLGA)},
        "exception": {"message": PRIVATE, "type": "ProtocolException"},
    },
)
_IN_A_MESSAGE: tuple[Mapping[str, Any], ...] = (
    {"message": 5},
    {"message": [PRIVATE]},
    {"timestamp": PRIVATE},
    {"timestamp": 10**30},
    {"timestamp": -1, "mentions": PRIVATE},
    {"mentions": PRIVATE},
    {"mentions": [PRIVATE, {"start": [1], "length": "x"}, {"start": -4}, {"start": 10**9, "uuid": 5}]},
    {"attachments": PRIVATE},
    {"attachments": [PRIVATE, {"id": 5}, {"id": "../../etc/passwd", "contentType": 7, "size": PRIVATE}]},
    {"quote": PRIVATE},
    {"quote": {"id": PRIVATE, "author": 5, "text": [PRIVATE], "mentions": 5}},
    {"groupInfo": PRIVATE},
    {"groupInfo": {"groupId": 5, "groupName": [PRIVATE]}},
    {"sticker": PRIVATE, "contacts": 5},
)
"""Laid over a message that is in order otherwise."""

GARBAGE_LINES = (
    "INFO  AccountHelper - The Signal protocol expects that incoming messages are regularly received.",
    "",
    "[" * 20_000,
    '{"jsonrpc":"2.0","method":"receive"}',
    '{"jsonrpc":"2.0","id":99999,"result":{}}',
    '{"jsonrpc":"2.0","id":[1],"result":{}}',
    '{"jsonrpc":"2.0","error":{"code":-32700,"message":"' + PRIVATE + '"},"id":null}',
    '{"half": "' + PRIVATE,
)

_FAULTS = {
    Trouble.TOO_FAST: Fault("too_fast", seconds=int(WAIT.total_seconds())),
    Trouble.UNREACHABLE: Fault("offline"),
    Trouble.REFUSED: Fault("refused"),
    Trouble.ANSWER_LOST: Fault("lost"),
    Trouble.ANSWER_GARBLED: Fault("garbled"),
    Trouble.STALLED: Fault("stalled"),
}


class SignalFarSide:
    """The `FarSide` of Signal."""

    def __init__(self, server: SignalServer, transports: Sequence[Transport]) -> None:
        self.server = server
        self._transports = transports
        self._written: list[int] = []
        self._next: Trouble | None = None

    def user_writes(self, *texts: str) -> None:
        for text in texts:
            when = self.server.stamp()
            number = self.server.envelope(OLGA, when, dataMessage={"timestamp": when, "message": text})
            self._written.append(number)

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        if fact not in _SHOWS:
            raise CannotArrange(_NOT_THERE)
        return _SHOWS[fact](self.server)

    def hands_over_garbage(self) -> None:
        for told in GARBAGE:
            self.server.notice(told)
        for data in _IN_A_MESSAGE:
            self.server.writes(PRIVATE, **data)
        for line in GARBAGE_LINES:
            self.server.line(line)

    def user_sends_file(self, content: bytes) -> None:
        (self.server.attachments / "F1le.bin").write_bytes(content)
        told = {"contentType": "application/octet-stream", "id": "F1le.bin", "size": len(content)}
        self.server.writes(None, attachments=[told])

    @property
    def acknowledged(self) -> int:
        held = sum(each.held for each in self._transports)
        return max(sum(number in self.server.read for number in self._written) - held, 0)

    async def acknowledges(self, count: int) -> None:
        await self.server.comes_to(lambda: sum(one in self.server.read for one in self._written) >= count)
        await anyio.wait_all_tasks_blocked()
        while self.acknowledged < count:
            await anyio.lowlevel.checkpoint()

    async def shown(self, count: int) -> Sequence[Shown]:
        await self.server.comes_to(lambda: len(self.server.sent_as("send")) >= count)
        return [
            Shown(text=each.text, id=str(each.timestamp), in_thread=False, file=_file(each))
            for each in self.server.sent_as("send")
        ]

    async def reactions(self, count: int) -> Sequence[str]:
        await self.server.comes_to(lambda: len(self.server.sent_as("sendReaction")) >= count)
        put = [each.params for each in self.server.sent_as("sendReaction")]
        standing = {(each["targetAuthor"], each["targetTimestamp"]): each["emoji"] for each in put}
        return list(standing.values())

    async def typings(self, count: int) -> int:
        return len(await self.server.comes_to(lambda: self.server.sent_as("sendTyping")))

    @property
    def tries(self) -> int:
        return self.server.tries

    def trouble_next(self, trouble: Trouble) -> None:
        self._next = trouble

    def meets_a_part(self) -> None:
        """A part has been made that is about to be sent: arrange what is to become of it."""
        trouble, self._next = self._next, None
        self.server.fault = None if trouble is None else _FAULTS[trouble]

    async def stalled(self) -> None:
        met = self.server.met
        await self.server.comes_to(lambda: self.server.met > met - 1 and self.server.fault is None)

    def refuses_us(self) -> None:
        self.server.is_registered = False

    def goes_away(self) -> None:
        self.server.goes_away()

    def comes_back(self) -> None:
        self.server.comes_back()

    async def settles(self) -> int:
        await anyio.wait_all_tasks_blocked()
        return len(self.server.processes)


def _file(sent: Sent) -> ShownFile | None:
    if not sent.files:
        return None
    ((name, content),) = sent.files
    return ShownFile(content=content, name=name)


def _sender(server: SignalServer) -> Mapping[str, object]:
    server.writes("hello")
    return {
        "sender.id": uuid_of(OLGA),
        "sender.aliases": ("15551001", "+15551001"),
        "sender.name": "Olga",
        "sender.is_bot": False,
        "chat.kind": "direct",
        "chat.id": uuid_of(OLGA),
        "reply_target": OLGA,
    }


def _group(server: SignalServer) -> Mapping[str, object]:
    when = server.writes("hello all", group=GROUP)
    return {
        "chat.id": GROUP,
        "chat.kind": "group",
        "chat.title": "All of us",
        "reply_target": GROUP,
        "id": f"{when}:{uuid_of(OLGA)}",
        "key": f"{uuid_of(OLGA)}:{when}",
    }


def _reply(server: SignalServer) -> Mapping[str, object]:
    quote = {"id": 5, "author": BEN, "authorNumber": BEN, "authorUuid": uuid_of(BEN), "text": "what Ben said"}
    server.writes("hear, hear", group=GROUP, quote={**quote, "attachments": []})
    said = Reference(kind=ReferenceKind.REPLY, message=_id("5"), author=BEN, text="what Ben said")
    return {"references": (said,)}


def _ours(server: SignalServer) -> Mapping[str, object]:
    quote = {"id": 6, "author": ACCOUNT, "authorNumber": ACCOUNT, "authorUuid": None, "text": "what we said"}
    server.writes("no", quote=quote)
    said = Reference(
        kind=ReferenceKind.REPLY, message=_id("6"), author=ACCOUNT, text="what we said", is_ours=True
    )
    return {"references": (said,)}


def _edit(server: SignalServer) -> Mapping[str, object]:
    first = server.writes("helo")
    when = server.stamp()
    data = {"timestamp": when, "message": "hello"}
    server.envelope(OLGA, when, editMessage={"targetSentTimestamp": first, "dataMessage": data})
    return {
        "edited_at": datetime.fromtimestamp(when / 1000, UTC),
        "id": str(first),
        "key": f"{uuid_of(OLGA)}:{first}",
        "text": "hello",
    }


def _attachment(server: SignalServer) -> Mapping[str, object]:
    told = {"contentType": "application/pdf", "filename": "plan.pdf", "id": "Ab-1_c.pdf", "size": 1234}
    server.writes("the plan", attachments=[told])
    paper = Attachment(
        kind=AttachmentKind.FILE,
        reference="Ab-1_c.pdf",
        mime_type="application/pdf",
        size_bytes=1234,
        name="plan.pdf",
    )
    return {"attachments": (paper,), "text": "the plan"}


def _mention(server: SignalServer) -> Mapping[str, object]:
    told = {"name": ACCOUNT, "number": ACCOUNT, "uuid": uuid_of(ACCOUNT), "start": 0, "length": 1}
    server.writes("\ufffc 🎉 hello", group=GROUP, mentions=[told])
    mention = Mention(id=uuid_of(ACCOUNT), start=0, end=len(ACCOUNT) + 1, is_us=True)
    return {
        "mentions": (mention,),
        "mentions_detectable": True,
        "text": "🎉 hello",
        "raw_text": f"@{ACCOUNT} 🎉 hello",
    }


def _time(server: SignalServer) -> Mapping[str, object]:
    when = server.writes("then")
    return {"sent_at": datetime.fromtimestamp(when / 1000, UTC), "edited_at": None}


def _id(text: str) -> Any:
    return text


_SHOWS = {
    Fact.SENDER: _sender,
    Fact.GROUP: _group,
    Fact.REPLY: _reply,
    Fact.OURS: _ours,
    Fact.EDIT: _edit,
    Fact.ATTACHMENT: _attachment,
    Fact.MENTION: _mention,
    Fact.TIME: _time,
}


def transport(server: SignalServer, clock: Clock, *, lasting: bool = True) -> Transport:
    """The way to the fake program."""
    launch = Launch(program=str(server.program), account=ACCOUNT, environment=server.environment)
    return Transport(launch, clock=clock, lasting=lasting)


def signal(server: SignalServer, way: Transport, blobs: ReadsBlobs) -> SignalChannel:
    """The adapter, whole."""
    return SignalChannel(
        number=ACCOUNT,
        transport=way,
        files=OutgoingFiles(server.folder / "outgoing", blobs=blobs),
        attachments=SignalAttachments(server.attachments),
    )


class OpenSignal:
    credential = ""

    def __init__(
        self, far_side: SignalFarSide, clock: HastyClock, channel: Channel, following: Channel, blobs: Blobs
    ) -> None:
        self.far_side = far_side
        self.channel = channel
        self._clock = clock
        self._following = following
        self._blobs = blobs
        self._numbers = count()

    def again(self) -> Channel:
        self.far_side.server.dies()  # as it does when the process that started it has died
        return self._following

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        if in_thread:
            raise CannotArrange(_NOT_THERE)
        return self.part_of(TextPart(text=text))

    def part_of(self, body: Part) -> OutgoingPart:
        self._clock.advance(WAIT)
        self.far_side.meets_a_part()
        target = Target(channel=ChannelName("signal"), account=self.channel.account, chat=ChatId(OLGA))
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._numbers)}")


class SignalHarness:
    """A `ChannelHarness` over Signal."""

    def __init__(
        self, make: MakeChannel = as_it_is, *, lasting: bool = True, patience: timedelta = PATIENCE
    ) -> None:
        self._make = make
        self._lasting = lasting
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenSignal]:
        clock, platform = HastyClock(), MemoryPlatform()
        blobs = MemoryBlobs(clock=clock)
        with signal_server() as server:
            ways = [transport(server, clock, lasting=self._lasting) for _ in range(2)]
            one, other = (signal(server, way, blobs) for way in ways)
            async with one as channel, other as following:
                yield OpenSignal(
                    SignalFarSide(server, ways),
                    clock,
                    self._make(channel, platform),
                    self._make(following, platform),
                    blobs,
                )
