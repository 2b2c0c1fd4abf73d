"""Preparing media at its seams: commands that were said, a ledger or a store that is away, and who else waits."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.gateway import Gateway
from fermix.application.media.preparer import Spoken
from fermix.application.ports.admissions import Admission, Admissions, AdmitResult, CursorMove
from fermix.application.ports.blobs import BlobsUnavailable
from fermix.application.ports.channel import ChannelUnreachable
from fermix.application.ports.control import AskEnd, AskEnded, AskRequest, Principal, PrincipalCapability
from fermix.application.ports.ledger_errors import LedgerFull
from fermix.application.ports.media_queue import MediaPlace, MediaQueue
from fermix.application.ports.uploads import Upload
from fermix.domain import wording
from fermix.domain.approval_wording import NOT_HERE
from fermix.domain.blob import BlobRef
from fermix.domain.ids import TurnId
from fermix.domain.media_wording import AUDIO_NOT_FETCHED
from fermix.domain.message import AttachmentKind
from fermix.testing.memory.media import MemoryMediaQueue
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.samples import written
from fermix.testing.transcriber_harness import Heard
from tests.unit.application.house import TEST, House, running
from tests.unit.application.media_parts import OGG, PNG
from tests.unit.application.test_preparing_media import GUEST, Town, send

pytestmark = pytest.mark.anyio

OWNER = Principal(uid=1, pid=2, capabilities=frozenset(PrincipalCapability))


async def one_piece(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def asked_by_voice(town: Town, house: House) -> AskEnded:
    """The end of a question at a terminal that is nothing but a recording."""
    blob = await town.blobs.store(one_piece(OGG), limit=1000)
    voice = Upload(name="note.ogg", blob=blob, kind=AttachmentKind.AUDIO, mime_type="audio/ogg")
    with anyio.fail_after(5):
        async with house.ask(AskRequest(request="r1", text="", files=(voice,)), OWNER) as events:
            found = [event async for event in events]
    ended = found[-1]
    assert isinstance(ended, AskEnded)
    return ended


@pytest.mark.parametrize(
    ("said", "answer"), [("/stop", wording.stopped(running=0, waiting=0)), ("/confirm AAAA", NOT_HERE)]
)
async def test_who_says_a_command_at_a_terminal_hears_its_reply(said: str, answer: str) -> None:
    town = Town()
    town.listener.will(Heard(text=said))
    async with running(town.house()) as house:
        ended = await asked_by_voice(town, house)
    assert ended.end is AskEnd.ANSWERED
    assert ended.text == answer
    assert town.model.requests == []


class FullForCommands:
    """The `Admissions` port of a ledger whose disk is full whenever a command comes."""

    def __init__(self) -> None:
        self.refused = anyio.Event()

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        await anyio.lowlevel.checkpoint()
        self.refused.set()
        raise LedgerFull("the disk is full")


async def test_a_command_that_was_said_waits_for_space_and_does_not_hold_the_end_of_the_process() -> None:
    town = Town()
    house = town.house()
    disk = FullForCommands()
    gateway = Gateway(
        admissions=cast("Admissions", disk),
        policies=house.policies,
        consequences=Consequences(
            admissions=cast("Admissions", disk),
            dispatcher=house.dispatcher,
            deliverer=house.deliverer,
            clock=house.clock,
        ),
        board=house.board,
        clock=house.clock,
    )
    said = Spoken(message=written("m1", "", channel=TEST, sender="1001"), text="/stop", turn=TurnId(1))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as process:
            process.start_soon(gateway.spoken, said)
            await disk.refused.wait()
            await anyio.wait_all_tasks_blocked()
            process.cancel_scope.cancel()


class Unreadable(MemoryBlobs):
    """A store whose files can be kept and not be read: once each disk has a bad sector."""

    @override
    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with super().open(blob):
            raise BlobsUnavailable("the folder of files cannot be used: I/O error")
            yield


async def test_a_fetched_file_that_cannot_be_read_any_more_holds_its_conversation_for_three_attempts() -> (
    None
):
    town = Town()
    town.blobs = town.media.blobs = Unreadable(clock=town.clock)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        for _ in range(2):
            await town.pass_time()
        assert await house.channel.has_sent(1) == [AUDIO_NOT_FETCHED]
    assert town.listener.audios == []


class Away:
    """The `MediaQueue` port of a ledger that is away for a while whenever an attempt begins."""

    def __init__(self, queue: MediaQueue) -> None:
        self._queue = queue
        self.away = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._queue, name)

    async def begin(self, place: MediaPlace) -> bool:
        if self.away:
            self.away -= 1
            raise LedgerFull("the disk is full")
        return await self._queue.begin(place)


async def test_a_ledger_that_is_away_uses_up_no_attempt_of_a_file() -> None:
    town = Town()
    town.server.troubles += [ChannelUnreachable("away")] * 2
    town.listener.will(Heard(text="at last"))
    queue = Away(town.ledger.media)
    town.ledger.media = cast("MemoryMediaQueue", queue)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await town.server.asked_for(1)
        await town.pass_time()
        await town.server.asked_for(2)
        queue.away = 3
        for _ in range(4):
            await town.pass_time()
        await house.channel.has_sent(1)
    assert [entry.text for entry in town.asked()] == ["at last"]


async def test_many_files_of_one_conversation_leave_places_for_those_of_another() -> None:
    town = Town()
    town.server.gate = anyio.Event()
    async with running(town.house()) as house:
        for number in range(40):
            await send(house, "", town.server.add(OGG), key=f"m{number}", sender_id=GUEST, chat_id="c2")
        await town.server.asked_for(2)
        await anyio.wait_all_tasks_blocked()
        await send(house, "", town.server.add(PNG), key="mine")
        await town.server.asked_for(3)
    assert sorted(town.server.asked) == ["file-1", "file-2", "file-41"]
