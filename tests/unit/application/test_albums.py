"""Pictures that belong together are one question, whatever order they come in and whoever dies meanwhile."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias, cast

import anyio
import pytest

from fermix.application.gateway.inbox import ChannelInbox
from fermix.application.gateway.stages import Door
from fermix.application.media.preparer import ToldOfMedia
from fermix.application.ports.model import ModelProfile
from fermix.domain.history import UserEntry
from fermix.domain.lane import ALBUM_MAX_PARTS
from fermix.testing.clock import CountedIds
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_channel import MemoryChannel, MemoryPlatform
from fermix.testing.scripted_model import ScriptedModel, ScriptedProvider
from tests.contract.ledger.homes import HOMES
from tests.unit.application.house import DOOR, TEST, build
from tests.unit.application.media_parts import PNG, FileServer, MediaParts

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("home", HOMES)]

Asked: TypeAlias = tuple[list[str], list[str]]
"""The words of a question, and the names of its pictures, each in order."""

SEES = ModelProfile(provider="scripted", model="scripted-1", vision=True)
WAIT = timedelta(seconds=3)
OWNER = "1001"


class Street:
    """A platform, a model, and gateways that come and go over one home."""

    def __init__(self, harness: LedgerHarness, *, debounce: timedelta | None = WAIT) -> None:
        self.harness = harness
        self.platform = MemoryPlatform()
        self.provider = ScriptedProvider()
        self.server = FileServer()
        self.names: dict[str, str] = {}
        self._ids = CountedIds(first=10**9)
        self._debounce = debounce

    @asynccontextmanager
    async def gateway(self) -> AsyncGenerator[None]:
        """A gateway that listens until the block ends; then it dies."""
        async with self.harness.open() as ledger, anyio.create_task_group() as tasks:
            channel = MemoryChannel(self.platform, clock=self.harness.clock, account="a")
            house = build(
                ScriptedModel(self.provider, profile=SEES),
                ledger=cast("Any", ledger),
                clock=self.harness.clock,
                ids=self._ids,
                channel=cast("Any", channel),
                media=MediaParts(blobs=MemoryBlobs(clock=self.harness.clock), server=self.server),
            )
            assert house.preparer is not None
            await ledger.ownership.take(instance="a gateway", boot="boot")
            recovered = await ledger.ownership.recover(channels=frozenset({TEST}))
            tasks.start_soon(house.deliverer.run)
            house.deliverer.submit(recovered.parts)
            tasks.start_soon(house.dispatcher.run)
            house.dispatcher.wake()
            told = ToldOfMedia(prepared=house.dispatcher.wake, spoken=house.gateway.spoken)
            tasks.start_soon(house.preparer.run, told)
            house.preparer.wake()
            door = Door(
                registration=DOOR.registration,
                features=channel.features,
                reads_media=True,
                album_debounce=self._debounce,
            )
            inbox = ChannelInbox(gateway=house.gateway, door=door)
            tasks.start_soon(lambda: channel.run(inbox, cursor=None))
            with anyio.fail_after(5):
                yield
            await self.harness.kill()
            tasks.cancel_scope.cancel()

    async def picture(self, number: int, caption: str = "", *, album: str = "g1") -> None:
        """Somebody sends one picture of an album, and it is taken."""
        content = PNG + b"p%d" % number
        picture = self.server.add(content, name=f"p{number}.jpg")
        self.names[hashlib.sha256(content).hexdigest()] = f"p{number}"
        (written,) = self.platform.user_writes(
            caption, user=OWNER, facts={"id": str(number), "album": album, "attachments": [picture]}
        )
        await self.platform.acknowledges(written.offset)

    async def text(self, number: int, text: str) -> None:
        """Somebody sends a text, and it is taken."""
        (written,) = self.platform.user_writes(text, user=OWNER, facts={"id": str(number)})
        await self.platform.acknowledges(written.offset)

    async def wait_out(self) -> None:
        """Let the window pass, once somebody waits for its end."""
        with anyio.fail_after(5):
            while not self.harness.clock.sleepers:
                await anyio.lowlevel.checkpoint()
        self.harness.clock.advance(WAIT)

    async def asked(self, count: int) -> list[Asked]:
        """What the model was asked last, in each of so many requests."""
        await self.provider.asked(count)
        assert len(self.provider.sent) == count
        entries = [[e for e in each.entries if isinstance(e, UserEntry)][-1] for each in self.provider.sent]
        return [
            (entry.text.split(), [self.names[picture.content.digest] for picture in entry.pictures])
            for entry in entries
        ]


@pytest.fixture
def street(home: str, tmp_path: Path) -> Any:
    with HOMES[home](tmp_path) as harness:
        yield Street(harness)


@pytest.mark.requirement("album.part_restarts_the_window", "album.closes_at_ten_or_window_end")
async def test_parts_that_come_in_disorder_are_one_question_in_their_platforms_order(street: Street) -> None:
    async with street.gateway():
        await street.picture(102, "before")
        await street.picture(101)
        await street.picture(103, "after")
        await street.wait_out()
        (question,) = await street.asked(1)
        assert question == (["before", "after"], ["p101", "p102", "p103"])
        assert len(await street.platform.saw(1)) == 1


async def test_a_death_inside_the_window_loses_no_part_and_parts_come_together(street: Street) -> None:
    async with street.gateway():
        await street.picture(1, "one")
        await street.picture(2)
    street.harness.clock.advance(timedelta(minutes=5))
    async with street.gateway():
        await street.picture(3, "three")
        await street.wait_out()
        (question,) = await street.asked(1)
        assert question == (["one", "three"], ["p1", "p2", "p3"])
        await street.platform.saw(1)


@pytest.mark.requirement("album.collecting_holds_the_lane")
async def test_a_text_sent_after_an_album_ends_its_wait_and_does_not_overtake_it(street: Street) -> None:
    async with street.gateway():
        await street.picture(1, "look")
        await street.picture(2)
        await street.text(3, "and now?")
        album, text = await street.asked(2)
        assert album == (["look"], ["p1", "p2"])
        assert text == (["and", "now?"], [])
        await street.platform.saw(2)


@pytest.mark.requirement("album.closes_at_ten_or_window_end")
async def test_the_tenth_part_ends_the_wait(street: Street) -> None:
    async with street.gateway():
        for number in range(1, ALBUM_MAX_PARTS + 1):
            await street.picture(number, f"caption{number}")
        (question,) = await street.asked(1)
        numbers = range(1, ALBUM_MAX_PARTS + 1)
        assert question == ([f"caption{n}" for n in numbers], [f"p{n}" for n in numbers])
        await street.platform.saw(1)


async def test_without_a_wait_every_picture_is_a_question_of_its_own(home: str, tmp_path: Path) -> None:
    with HOMES[home](tmp_path) as harness:
        street = Street(harness, debounce=None)
        async with street.gateway():
            await street.picture(1, "one")
            await street.picture(2, "two")
            first, second = await street.asked(2)
            assert (first, second) == ((["one"], ["p1"]), (["two"], ["p2"]))
            await street.platform.saw(2)
