"""Our whole Discord adapter against simcord, which none of us wrote: its rules, its payloads, its refusals."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from simcord.interactions import base_payload

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    OutgoingPart,
)
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.channel import DiscordChannel, account_of
from fermix.infrastructure.channels.discord.rest import Requests
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from tests.contract.channel.platforms import HastyClock
from tests.contract.independent.simcord_line import SimServer
from tests.integration.channels.discord.bot import SECONDS, Inbox

pytestmark = [pytest.mark.anyio, pytest.mark.needs("package:simcord")]

THEN = datetime(2026, 1, 1, tzinfo=UTC)
"""When simcord's clock stands."""

CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 64


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[SimServer]:
    served = SimServer()
    yield served
    served.close()


@asynccontextmanager
async def bot(server: SimServer, inbox: Inbox) -> AsyncGenerator[tuple[DiscordChannel, MemoryBlobs]]:
    """The channel, listening again as its supervisor has it."""
    clock = HastyClock(THEN)
    blobs = MemoryBlobs(clock=clock)
    requests = Requests(token=server.token, root=server.api_base_url, clock=clock, answer_seconds=SECONDS)
    async with DiscordChannel(
        requests=requests,
        account=account_of(server.token),
        commands=COMMANDS,
        gateway=None,
        blobs=blobs,
        clock=clock,
    ) as channel:
        with anyio.fail_after(SECONDS * 2):
            async with anyio.create_task_group() as tasks:

                async def listens() -> None:
                    while True:
                        read_up_to = next(
                            (each for each in reversed(inbox.cursors) if each is not None), None
                        )
                        with suppress(ChannelUnreachable):
                            await channel.run(inbox, cursor=read_up_to)

                tasks.start_soon(listens)
                await server.until_opened(2)
                yield channel, blobs
                tasks.cancel_scope.cancel()


def part(server: SimServer, body: str | Part, *, chat: int | None = None, nonce: str = "n-1") -> OutgoingPart:
    target = Target(
        channel=ChannelName("discord"),
        account=account_of(server.token),
        chat=ChatId(str(chat or server.direct)),
    )
    return OutgoingPart(
        target=target, body=TextPart(text=body) if isinstance(body, str) else body, nonce=nonce
    )


def by_us(server: SimServer, chat: int | None = None) -> list[Any]:
    """What simcord keeps of what we have sent."""
    with server.world() as backend:
        ours = backend.bot_user.id
        return [each for each in backend.messages[chat or server.direct].values() if each.author_id == ours]


def read(inbox: Inbox) -> list[InboundMessage]:
    """What was offered, as the gateway takes it."""
    here = Registration(channel=ChannelName("discord"), account=AccountId("1"))
    found = [normalise(raw, here) for raw in inbox.messages]
    return [each for each in found if isinstance(each, InboundMessage)]


async def test_what_people_write_arrives_with_its_facts(server: SimServer) -> None:
    inbox = Inbox()
    async with bot(server, inbox):
        first = server.writes("hello 🎉")
        with server.world() as backend:
            us = str(backend.bot_user.id)
        server.writes("and again", reference={"message_id": first, "channel_id": str(server.direct)})
        server.writes(f"<@{us}> roses?", chat=server.room)
        await inbox.until_text("roses?")
    direct, reply, room = read(inbox)
    assert (direct.id, direct.text) == (first, "hello 🎉")
    assert (direct.sender.id, direct.sender.name, direct.sender.is_bot) == (str(server.ann), "Ann", False)
    assert (direct.chat.kind.value, direct.chat.id) == ("direct", str(server.direct))
    (referred,) = reply.references
    assert (referred.message, referred.author, referred.text) == (first, "Ann", "hello 🎉")
    facts = (room.chat.kind.value, room.chat.title, room.chat.guild, room.text)
    assert facts == ("channel", "roses", str(server.guild), "roses?")
    assert [(each.id, each.is_us) for each in room.mentions] == [(us, True)]


async def test_an_edit_is_told_and_what_we_and_bots_do_starts_nothing(server: SimServer) -> None:
    inbox = Inbox()
    async with bot(server, inbox) as (channel, _):
        number = server.writes("helo")
        await inbox.until_text("helo")
        await channel.send(part(server, "from us"))
        with server.world() as backend:
            backend.edit_message(server.direct, int(number), {"content": "hello"})
            backend.set_pinned(server.direct, int(number), True, actor_id=server.ann)
        await inbox.until_text("hello")
        server.writes("the last")
        await inbox.until_text("the last")
    assert [(each.text, each.edited_at is not None) for each in read(inbox)] == [
        ("helo", False),
        ("hello", True),
        ("the last", False),
    ]


async def test_a_text_is_kept_as_it_was_said_and_calls_nobody(server: SimServer) -> None:
    async with bot(server, Inbox()) as (channel, _):
        told = await channel.send(part(server, f"@everyone <@{server.ann}> **hello** 🎉", chat=server.room))
        await channel.send(part(server, "x" * 2000, nonce="n-2"))
    (said,) = by_us(server, server.room)
    assert (str(said.id), said.content) == (told.platform_id, f"@everyone <@{server.ann}> **hello** 🎉")
    assert (said.ping_user_ids, said.ping_role_ids, said.mention_everyone) == ([], [], False)
    assert [each.content for each in by_us(server)] == ["x" * 2000]


async def test_drafts_reactions_and_typing_are_taken(server: SimServer) -> None:
    inbox = Inbox()
    async with bot(server, inbox) as (channel, _):
        number = PlatformMessageId(server.writes("hello"))
        await channel.send(part(server, ReactionPart(message=number, emoji="🎉")))
        to = part(server, "").target
        await channel.typing.show(to)
        draft = await channel.drafts.open(to, "thinking")
        await channel.drafts.edit(to, draft, "thought")
        with server.world() as backend:
            (shown,) = (
                each for each in backend.messages[server.direct].values() if each.content == "thought"
            )
            assert str(shown.id) in draft
        await channel.drafts.discard(to, draft)
    with server.world() as backend:
        (reaction,) = backend.messages[server.direct][int(number)].reactions
        assert (reaction.emoji, set(reaction.user_ids)) == ("🎉", {backend.bot_user.id})
        typed = [each for each in backend.http_requests if each.path.endswith("/typing")]
    assert len(typed) == 1
    assert by_us(server) == []


async def test_a_file_goes_both_ways_whole(server: SimServer) -> None:
    inbox = Inbox()
    async with bot(server, inbox) as (channel, blobs):
        with server.world() as backend:
            files = backend.store_attachments(server.direct, [("plan.pdf", CONTENT)])
        server.writes("the plan", attachments=files)
        await inbox.until_text("the plan")
        (attached,) = read(inbox)[0].attachments
        assert (attached.name, attached.mime_type, attached.size_bytes) == (
            "plan.pdf",
            "application/pdf",
            len(CONTENT),
        )
        async with channel.media_source.fetch(attached.reference, limit=len(CONTENT)) as pieces:
            assert b"".join([piece async for piece in pieces]) == CONTENT
        blob = await blobs.store(in_pieces(CONTENT), limit=len(CONTENT))
        body = MediaPart(
            kind=MediaKind.DOCUMENT,
            blob=blob,
            file_name="answer.pdf",
            mime_type="application/pdf",
            caption="read it",
        )
        await channel.send(part(server, body))
    (sent,) = by_us(server)
    assert sent.content == "read it"
    (file,) = sent.attachments
    assert (file["filename"], file["size"]) == ("answer.pdf", len(CONTENT))
    with server.world() as backend:
        assert backend.cdn.get(file["url"]) == CONTENT


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (403, 50001, ChannelRejected),
        (403, 50007, ChannelRejected),
        (404, 10003, ChannelRejected),
        (429, 0, ChannelRateLimited),
        (401, 0, ChannelUnreachable),
    ],
)
async def test_a_refusal_is_told_by_its_remedy_and_the_next_part_is_sent(
    server: SimServer, status: int, code: int, error: type[ChannelError]
) -> None:
    async with bot(server, Inbox()) as (channel, _):
        fault = {"method": "POST", "path": "/channels/*/messages", "status": status, "code": code}
        with server.world() as backend:
            backend.faults.append({**fault, "message": "refused", "times": 1})
        with pytest.raises(error):
            await channel.send(part(server, "one"))
        await channel.send(part(server, "two", chat=server.room))
    assert (by_us(server), [each.content for each in by_us(server, server.room)]) == ([], ["two"])


async def test_simcord_refuses_by_itself_what_discord_refuses(server: SimServer) -> None:
    with server.world() as backend:
        other = backend.get_dm_channel(backend.make_user("other", bot=True).id).id
    async with bot(server, Inbox()) as (channel, _):
        for chat in (other, 12345):
            with pytest.raises(ChannelRejected):
                await channel.send(part(server, "hello", chat=chat))
        with pytest.raises(ChannelRejected):
            await channel.send(part(server, ReactionPart(message=PlatformMessageId("12345"), emoji="🎉")))


async def test_our_commands_are_ones_that_simcord_registers_and_one_is_answered_in_time(
    server: SimServer,
) -> None:
    inbox = Inbox()
    async with bot(server, inbox):
        listed = await server.until(lambda: server.wait(server.commands, bool, "commands"))
        with server.world() as backend:
            asked, told = base_payload(
                backend,
                type=2,
                channel_id=server.direct,
                guild_id=None,
                user_id=server.ann,
                data={**server.commands()["whoami"], "options": []},
            )
            backend.emit("INTERACTION_CREATE", told)
        await inbox.until_text("/whoami")
        await server.until(lambda: server.wait(lambda: asked.responded, bool, "an answer"))
    assert {f"/{name}" for name in listed} >= {f"/{each.name}" for each in COMMANDS}


async def test_a_broken_line_goes_on_where_it_was_and_a_lost_session_is_read_back(server: SimServer) -> None:
    inbox = Inbox()
    async with bot(server, inbox):
        server.writes("before")
        await inbox.until_text("before")
        server.cut()
        server.writes("meanwhile")
        await server.until_opened(2, 6)
        await inbox.until_text("meanwhile")
        server.forgets_session()
        server.writes("while nobody listened")
        server.cut()
        await server.until_opened(2, 6, 2)
        await inbox.until_text("while nobody listened")
        server.writes("after")
        await inbox.until_text("after")
    assert inbox.texts == ["before", "meanwhile", "while nobody listened", "after"]
