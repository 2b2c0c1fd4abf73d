"""Our whole Telegram adapter against tg-auto-test, which none of us wrote: its updates, its answers, its files."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest

from fermix.application.commands.registry import COMMANDS
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.channel import Listening, TelegramChannel, account_of
from fermix.infrastructure.channels.telegram.pace import Pace
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from tests.contract.independent.tg_line import TOKEN, TgServer
from tests.integration.channels.telegram.bot import SECONDS, Inbox, listening, part

pytestmark = [pytest.mark.anyio, pytest.mark.needs("package:tg_auto_test")]

CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 64
VOICE = b"OggS\0\0" + (48_000 * 3).to_bytes(8, "little") + bytes(12) + b"\x01\x10" + bytes(16)
"""One page of Ogg that ends after three seconds."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[TgServer]:
    served = TgServer()
    yield served
    served.close()


@asynccontextmanager
async def bot(server: TgServer) -> AsyncGenerator[tuple[TelegramChannel, MemoryBlobs]]:
    """The channel, closed at the end."""
    clock = StoppedClock()
    blobs = MemoryBlobs(clock=clock)
    async with TelegramChannel(
        api=BotApi(token=TOKEN, root=server.address, blobs=blobs, answer_seconds=SECONDS),
        account=account_of(TOKEN),
        commands=COMMANDS,
        pace=Pace(None),
        clock=clock,
        listening=Listening(),
    ) as channel:
        with anyio.fail_after(SECONDS * 2):
            yield channel, blobs


def read(inbox: Inbox) -> list[InboundMessage]:
    here = Registration(channel=ChannelName("telegram"), account=AccountId("999999"))
    found = [normalise(raw, here) for raw in inbox.messages]
    return [each for each in found if isinstance(each, InboundMessage)]


async def test_what_a_person_writes_arrives(server: TgServer) -> None:
    inbox = Inbox()
    async with bot(server) as (channel, _), listening(channel, inbox):
        server.writes("hello 🎉 **you**")
        server.writes("/help")
        await inbox.until_offered(2)
    hello, command = read(inbox)
    assert (hello.text, hello.sender.id, hello.sender.name) == ("hello 🎉 you", "1001", "Ann")
    assert (hello.chat.kind.value, hello.chat.id, command.text) == ("direct", "1001", "/help")


async def test_a_text_is_shown_with_its_formatting_and_can_be_changed(server: TgServer) -> None:
    async with bot(server) as (channel, _):
        told = await channel.send(part("hello 🎉 **you**"))
        draft = await channel.drafts.open(part("x").target, "thinking")
        await channel.drafts.edit(part("x").target, draft, "thought")
        await channel.drafts.discard(part("x").target, draft)
        await channel.typing.show(part("x").target)
    sent, opened = server.calls("sendMessage")
    assert (sent.result["text"], str(sent.result["message_id"])) == ("hello 🎉 you", told.platform_id)
    assert [(each["type"], each["offset"], each["length"]) for each in sent.result["entities"]] == [
        ("bold", 9, 3)
    ]
    (edited,) = server.calls("editMessageText")
    assert (opened.result["text"], edited.result["text"]) == ("thinking", "thought")
    assert [len(server.calls(method)) for method in ("deleteMessage", "sendChatAction")] == [1, 1]


async def test_our_commands_are_put_into_its_menu(server: TgServer) -> None:
    async with bot(server) as (channel, _), listening(channel, Inbox()):
        (call, *_) = await server.until(
            lambda: server.wait(lambda: server.calls("setMyCommands"), bool, "a menu")
        )
    listed = {each["command"] for each in json.loads(call.parameters["commands"])}
    assert listed == {each.name for each in COMMANDS}


async def test_files_go_both_ways_whole(server: TgServer) -> None:
    inbox = Inbox()
    async with bot(server) as (channel, blobs), listening(channel, inbox):
        server.sends(CONTENT, "the plan", force_document=True)
        server.sends(VOICE, "", voice_note=True)
        await inbox.until_offered(2)
        plan, voice = (each.attachments[0] for each in read(inbox))
        assert voice.kind.value == "audio"
        for attached, content in ((plan, CONTENT), (voice, VOICE)):
            async with channel.media_source.fetch(attached.reference, limit=len(content)) as pieces:
                assert b"".join([piece async for piece in pieces]) == content
        blob = await blobs.store(in_pieces(CONTENT), limit=len(CONTENT))
        body = MediaPart(
            kind=MediaKind.DOCUMENT,
            blob=blob,
            file_name="plan.pdf",
            mime_type="application/pdf",
            caption="**read** it",
        )
        await channel.send(part(body))
    (sent,) = server.calls("sendDocument")
    assert sent.file is not None
    assert (sent.file.filename, sent.file.data, sent.result["caption"]) == ("plan.pdf", CONTENT, "read it")
