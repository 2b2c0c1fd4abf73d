"""The proof: Parley's channel put to every check, over a fake server (`fermix conformance fermix_parley`)."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import assert_never

import anyio
from typing_extensions import override

from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.message import Reference, ReferenceKind
from fermix.domain.route import Target
from fermix.testing.channel_conformance import (
    PRIVATE,
    WAIT,
    CannotArrange,
    ChannelHarness,
    Fact,
    Gap,
    Shown,
    Trouble,
)
from fermix.testing.clock import HastyClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.suites import ChannelConformance
from fermix_parley.channel import ParleyChannel
from fermix_parley.fake_server import Fault, ParleyServer, Said, parley_server
from fermix_parley.line import Server

TOKEN = "fermix:parley-secret-93d1"
TOPIC = "rain"
_LOOK_EVERY = 0.002

_WORDS = "Parley carries words only"
_GAPS = {
    "nobody on Parley is marked as a bot": ("it_tells_bot",),
    "Parley answers whole messages": ("it_tells_quote",),
    "Parley forwards nothing": ("it_tells_forward",),
    "what was said on Parley stays as it was": ("it_tells_edit",),
    "nobody is named in a field of its own on Parley": (
        "it_tells_mention",
        "it_tells_command",
        "it_tells_others_command",
    ),
    _WORDS: (
        "it_tells_attachment",
        "it_tells_album",
        "a_file_of_each_kind_arrives",
        "the_largest_file_is_taken_and_no_larger_one",
        "the_longest_caption_is_taken_and_no_longer_one",
        "a_file_that_is_not_kept_is_told",
        "a_file_is_fetched_whole",
        "a_file_is_fetched_up_to_its_limit",
        "what_cannot_be_fetched_is_told",
        "no_fetching_shows_the_credential",
        "who_stops_fetching_leaves_it_usable",
        "a_reaction_is_put_on_its_message",
        "a_reaction_to_no_message_is_refused",
    ),
}

GARBAGE: tuple[object, ...] = (
    None,
    PRIVATE,
    [PRIVATE],
    {},
    {"number": PRIVATE, "text": PRIVATE},
    {"number": 1, "from": PRIVATE, "room": {"id": "ann"}, "text": PRIVATE},
    {
        "number": 1,
        "from": {"name": 7},
        "room": {"id": {}},
        "text": PRIVATE,
        "at": 10**40,
        "answers": [PRIVATE],
    },
    {"number": True, "text": [PRIVATE], "something_new": PRIVATE},
)
_FAULTS = {
    Trouble.TOO_FAST: Fault.TOO_FAST,
    Trouble.REFUSED: Fault.NOT_WANTED,
    Trouble.ANSWER_LOST: Fault.DROPPED,
    Trouble.ANSWER_GARBLED: Fault.GARBLED,
    Trouble.STALLED: Fault.STALLED,
}


class ParleyFarSide:
    """The `FarSide` of Parley."""

    def __init__(self, server: ParleyServer) -> None:
        self._server = server
        self._numbers: list[int] = []
        self._absent_for_next = False

    def user_writes(self, *texts: str) -> None:
        """See `FarSide`; so are the others."""
        self._numbers += [self._server.writes(text) for text in texts]

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        match fact:
            case Fact.SENDER:
                self._server.writes("hello")
                return {"sender.id": "ann", "sender.name": "Ann", "chat.kind": "direct"}
            case Fact.GROUP:
                self._server.writes("hello", facts={"room": {"id": "garden", "title": "The garden"}})
                return {"chat.kind": "group", "chat.title": "The garden", "chat.id": "garden"}
            case Fact.THREAD:
                self._server.writes("hello", facts={"topic": TOPIC})
                return {"thread.id": TOPIC}
            case Fact.REPLY | Fact.OURS:
                answered = {"number": 3, "name": "Ben", "text": "what Ben said", "yours": fact is Fact.OURS}
                self._server.writes("hello", facts={"answers": answered})
                return {"references": (_reference(is_ours=fact is Fact.OURS),)}
            case Fact.TIME:
                self._server.writes("hello", facts={"at": 1_790_000_000})
                return {"sent_at": datetime.fromtimestamp(1_790_000_000, UTC)}
            case _:
                raise CannotArrange("Parley does not know it")

    def hands_over_garbage(self) -> None:
        for entry in GARBAGE:
            self._server.offers(entry)

    @property
    def acknowledged(self) -> int:
        return sum(number <= self._server.acknowledged for number in self._numbers)

    async def acknowledges(self, count: int) -> None:
        number = self._numbers[count - 1]
        await _until(lambda: self._server.acknowledged >= number)

    async def shown(self, count: int) -> Sequence[Shown]:
        await _until(lambda: len(self._server.said) >= count)
        return [_shown(said) for said in self._server.said]

    def user_sends_file(self, content: bytes) -> None:
        raise CannotArrange(_WORDS)

    async def reactions(self, count: int) -> Sequence[str]:
        raise CannotArrange(_WORDS)

    @property
    def tries(self) -> int:
        return self._server.tries

    def trouble_next(self, trouble: Trouble) -> None:
        match trouble:
            case Trouble.UNREACHABLE:
                self._absent_for_next = True
            case (
                Trouble.TOO_FAST
                | Trouble.REFUSED
                | Trouble.ANSWER_LOST
                | Trouble.ANSWER_GARBLED
                | Trouble.STALLED
            ):
                self._server.fault(_FAULTS[trouble], wait=int(WAIT.total_seconds()))
            case _:
                assert_never(trouble)

    def part_is_made(self) -> None:
        """The trouble that was arranged is for this part, and over with the next one."""
        if self._absent_for_next:
            self._server.goes_away()
            self._absent_for_next = False
        else:
            self._server.comes_back()

    async def stalled(self) -> None:
        await _until(lambda: self._server.stalled > 0)

    def refuses_us(self) -> None:
        self._server.refuses()

    def goes_away(self) -> None:
        self._server.goes_away()

    def comes_back(self) -> None:
        self._server.comes_back()

    async def settles(self) -> int:
        with anyio.move_on_after(0.5):
            await _until(lambda: self._server.open_lines == 0)
        return self._server.open_lines


class OpenParley:
    """The `OpenChannel` of Parley."""

    credential = TOKEN.partition(":")[2]

    def __init__(self, server: ParleyServer) -> None:
        self._server = server
        self._clock = HastyClock()
        self._blobs = MemoryBlobs(clock=self._clock)
        self._nonces = count()
        self.far_side = ParleyFarSide(server)
        self.channel = self.again()

    def again(self) -> Channel:
        """See `OpenChannel`; so are the others."""
        return ParleyChannel(
            server=Server(host="127.0.0.1", port=self._server.port),
            token=TOKEN,
            account="fermix",
            clock=self._clock,
        )

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        return self._to(TextPart(text=text), thread=ThreadId(TOPIC) if in_thread else None)

    def part_of(self, body: Part) -> OutgoingPart:
        return self._to(body)

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def _to(self, body: Part, *, thread: ThreadId | None = None) -> OutgoingPart:
        self.far_side.part_is_made()
        target = Target(
            channel=ChannelName("parley"), account=AccountId("fermix"), chat=ChatId("ann"), thread=thread
        )
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._nonces)}")


class ParleyHarness:
    """The `ChannelHarness` of Parley."""

    @property
    def patience(self) -> timedelta:
        """How long anything may take: everybody is on this machine."""
        return timedelta(seconds=5)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenParley]:
        """The adapter over a server of its own."""
        with parley_server(TOKEN) as server:
            yield OpenParley(server)


class ParleyConformance(ChannelConformance):
    """Every check, but for what Parley does not have."""

    gaps = tuple(Gap(check=check, reason=reason) for reason, checks in _GAPS.items() for check in checks)

    @override
    def harness(self) -> ChannelHarness:
        """A fresh one."""
        return ParleyHarness()


def _shown(said: Said) -> Shown:
    return Shown(text=said.text, id=str(said.number), in_thread=said.topic == TOPIC)


def _reference(*, is_ours: bool) -> Reference:
    return Reference(
        kind=ReferenceKind.REPLY,
        message=PlatformMessageId("3"),
        author="Ben",
        text="what Ben said",
        is_ours=is_ours,
    )


async def _until(holds: Callable[[], bool]) -> None:
    """The server runs in threads of its own, so that nothing here is told when it changes."""
    while not holds():
        await anyio.sleep(_LOOK_EVERY)
