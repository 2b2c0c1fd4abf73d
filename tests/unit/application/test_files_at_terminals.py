"""Files between a terminal and its turn: kept before the question is accepted, handed over as they are sent."""

from collections.abc import AsyncGenerator

import anyio
import pytest

from fermix.application.operations.following import followed
from fermix.application.operations.uploads import KeepUploads
from fermix.application.ports.blobs import BlobMissing
from fermix.application.ports.channel import ChannelRejected, MediaTooLarge, OutgoingPart
from fermix.application.ports.control import AskFile, AskRequest
from fermix.application.ports.uploads import UploadRefused
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart, Part, TextPart
from fermix.domain.events import Numbered, TextDelta
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.message import AttachmentKind
from fermix.domain.route import Target
from fermix.infrastructure.channels.cli.blob_source import BlobSource
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from tests.unit.application.house import build, running
from tests.unit.application.test_gateway import OWNER, GatedModel

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def pieces(*content: bytes) -> AsyncGenerator[bytes]:
    for piece in content:
        yield piece


async def stored(blobs: MemoryBlobs, blob: BlobRef) -> bytes:
    async with blobs.open(blob) as content:
        return b"".join([piece async for piece in content])


def store() -> MemoryBlobs:
    return MemoryBlobs(clock=StoppedClock())


async def test_a_file_is_kept_whole_and_known_by_its_content_alone() -> None:
    blobs = store()
    keep = KeepUploads(blobs=blobs, limit=1000)
    upload = await keep("song.mp3", pieces(PNG[:3], PNG[3:]), size=len(PNG))
    assert (upload.name, upload.kind, upload.mime_type) == ("song.mp3", AttachmentKind.IMAGE, "image/png")
    assert await stored(blobs, upload.blob) == PNG


async def test_a_file_is_refused_by_its_senders_word_and_by_its_stream() -> None:
    keep = KeepUploads(blobs=store(), limit=10)
    with pytest.raises(UploadRefused, match="limit") as said:
        await keep("a", pieces(), size=11)
    with pytest.raises(UploadRefused, match="limit") as came:
        await keep("a", pieces(b"x" * 10, b"x"), size=10)
    assert said.value.too_large
    assert came.value.too_large
    assert (await keep("a", pieces(b"x" * 10), size=3)).blob.size_bytes == 10


async def test_a_full_store_is_told_in_words() -> None:
    keep = KeepUploads(blobs=MemoryBlobs(clock=StoppedClock(), max_bytes=5), limit=10)
    with pytest.raises(UploadRefused, match="no room") as refused:
        await keep("a", pieces(b"x" * 6), size=6)
    assert not refused.value.too_large


async def test_what_was_kept_is_fetched_by_its_reference_and_nothing_else_is() -> None:
    blobs = store()
    upload = await KeepUploads(blobs=blobs, limit=1000)("a", pieces(PNG), size=len(PNG))
    source = BlobSource(blobs)
    async with source.fetch(upload.blob.reference, limit=len(PNG)) as content:
        assert b"".join([piece async for piece in content]) == PNG
    with pytest.raises(MediaTooLarge):
        await fetched(source, upload.blob.reference, limit=len(PNG) - 1)
    for reference in ("/etc/passwd", BlobRef(digest="0" * 64, size_bytes=1).reference):
        with pytest.raises(ChannelRejected):
            await fetched(source, reference, limit=1000)


async def fetched(source: BlobSource, reference: str, *, limit: int) -> None:
    async with source.fetch(reference, limit=limit):
        pass


async def test_a_part_whose_file_is_not_kept_never_reaches_its_terminal() -> None:
    channel = CliChannel(blobs=store())
    lost = MediaPart(kind=MediaKind.IMAGE, blob=BlobRef(digest="0" * 64, size_bytes=1), file_name="a.png")
    with channel.attach(PlatformMessageId("r1")) as parts:
        with pytest.raises(BlobMissing):
            await channel.send(outgoing(lost))
        with pytest.raises(anyio.WouldBlock):
            parts.receive_nowait()


def outgoing(body: Part) -> OutgoingPart:
    target = Target(
        channel=ChannelName("cli"),
        account=AccountId("local"),
        chat=ChatId("cli"),
        reply_to=PlatformMessageId("r1"),
    )
    return OutgoingPart(target=target, body=body, nonce="n")


def a_file(name: str) -> MediaPart:
    return MediaPart(kind=MediaKind.IMAGE, blob=BlobRef(digest="0" * 64, size_bytes=1), file_name=name)


class Delivered:
    """A stream of parts as a terminal has it."""

    def __init__(self) -> None:
        self.send, self._receive = anyio.create_memory_object_stream[Part](64)

    async def receive(self) -> Part:
        return await self._receive.receive()

    def receive_nowait(self) -> Part:
        return self._receive.receive_nowait()

    def close(self) -> None:
        self.send.close()
        self._receive.close()


async def test_a_file_that_a_turn_sends_is_told_to_whoever_asked_and_fetched_from_the_store() -> None:
    model, blobs = GatedModel(), store()
    blob = await blobs.store(pieces(PNG), limit=len(PNG))
    part = MediaPart(kind=MediaKind.IMAGE, blob=blob, file_name="a.png", mime_type="image/png")
    async with running(build(model, blobs=blobs)) as house:
        with anyio.fail_after(5):
            async with house.ask(AskRequest(request="r1", text="draw"), OWNER) as events:
                await anext(events)
                await house.cli.send(outgoing(part))
                model.gate.set()
                heard = [event async for event in events]
    assert AskFile(part=part) in heard
    assert heard[-1].text == "re: draw"  # type: ignore[union-attr]  # the end


async def test_a_file_is_heard_of_between_the_events_when_it_is_delivered() -> None:
    delivered, written = Delivered(), anyio.Event()

    async def watched() -> AsyncGenerator[Numbered]:
        yield Numbered(number=1, event=TextDelta(text="a"))
        await written.wait()
        yield Numbered(number=2, event=TextDelta(text="b"))

    delivered.send.send_nowait(TextPart(text="words are in the events"))
    heard: list[object] = []
    with anyio.fail_after(5):
        async with followed(watched(), delivered) as events:
            async for one in events:
                heard.append(named(one))
                if heard == ["a"]:
                    delivered.send.send_nowait(a_file("x.png"))
                if heard == ["a", "x.png"]:
                    written.set()
    delivered.close()
    assert heard == ["a", "x.png", "b"]


async def test_files_that_come_with_the_end_of_the_turn_are_not_lost() -> None:
    delivered = Delivered()

    async def watched() -> AsyncGenerator[Numbered]:
        yield Numbered(number=1, event=TextDelta(text="a"))
        for number in range(3):
            delivered.send.send_nowait(a_file(f"{number}.png"))

    with anyio.fail_after(5):
        async with followed(watched(), delivered) as events:
            heard = [named(one) async for one in events]
    delivered.close()
    assert heard == ["a", "0.png", "1.png", "2.png"]


async def test_who_leaves_while_a_file_is_handed_over_waits_for_nothing() -> None:
    delivered = Delivered()

    async def watched() -> AsyncGenerator[Numbered]:
        await anyio.sleep_forever()
        yield Numbered(number=1, event=TextDelta(text="never"))

    delivered.send.send_nowait(a_file("x.png"))
    with anyio.fail_after(5):
        async with followed(watched(), delivered):
            await anyio.wait_all_tasks_blocked()
    delivered.close()


def named(one: object) -> str:
    if isinstance(one, MediaPart):
        return one.file_name
    assert isinstance(one, Numbered)
    assert isinstance(one.event, TextDelta)
    return one.event.text
