"""The adapter with real child processes, where the conformance suite does not look."""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    MediaTooLarge,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.domain.caps import CAPS
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.signal.attachments import SignalAttachments
from fermix.infrastructure.channels.signal.channel import SignalChannel
from fermix.infrastructure.channels.signal.outgoing_files import OutgoingFiles, shown_name
from fermix.infrastructure.channels.signal.process import Launch
from fermix.infrastructure.channels.signal.transport import Transport
from fermix.testing.channel_checks.check import DirectedInbox, listening
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.servers.signal_cli.records import ACCOUNT, OLGA, Fault, uuid_of
from fermix.testing.servers.signal_cli.server import SignalServer, signal_server
from tests.contract.channel.platforms import HastyClock

pytestmark = pytest.mark.anyio

GROUP = "R3JvdXBHcm91cEdyb3VwR3JvdXBHcm91cEdyb3VwMTI="
EACH_WAY = pytest.mark.parametrize("lasting", [True, False], ids=["jsonrpc", "receive"])
_LIMIT_SECONDS = 15


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[SignalServer]:
    with signal_server() as opened:
        yield opened


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs(clock=HastyClock())


@asynccontextmanager
async def opened(
    server: SignalServer, blobs: MemoryBlobs, *, lasting: bool = True, **how: Any
) -> AsyncGenerator[SignalChannel]:
    launch = Launch(program=str(server.program), account=ACCOUNT, environment=server.environment)
    with anyio.fail_after(_LIMIT_SECONDS):
        async with SignalChannel(
            number=ACCOUNT,
            transport=Transport(replace(launch, **how), clock=HastyClock(), lasting=lasting),
            files=OutgoingFiles(server.folder / "outgoing", blobs=blobs),
            attachments=SignalAttachments(server.attachments),
        ) as channel:
            yield channel


_NUMBERS = count()


def part(body: Part | str, chat: str = OLGA) -> OutgoingPart:
    target = Target(channel=ChannelName("signal"), account=AccountId("1"), chat=ChatId(chat))
    whole = TextPart(text=body) if isinstance(body, str) else body
    return OutgoingPart(target=target, body=whole, nonce=f"nonce-{next(_NUMBERS)}")


class WatchingInbox(DirectedInbox):
    """Looks, while it commits a message, whether the next line was read already."""

    def __init__(self, way: Transport) -> None:
        super().__init__()
        self.held_meanwhile = list[int]()
        self._way = way

    @override
    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        if offered:
            self.held_meanwhile.append(self._way.held)
        return await super().accept(offered, cursor=cursor)


@pytest.mark.requirement("channel.signal.commit_before_next_line")
@EACH_WAY
async def test_a_message_is_committed_before_the_next_line_is_read(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    launch = Launch(program=str(server.program), account=ACCOUNT, environment=server.environment)
    way = Transport(launch, clock=HastyClock(), lasting=lasting)
    files, attachments = OutgoingFiles(server.folder, blobs=blobs), SignalAttachments(server.attachments)
    inbox = WatchingInbox(way)
    for number in range(5):
        server.writes(f"message {number}")
    with anyio.fail_after(_LIMIT_SECONDS):
        async with (
            SignalChannel(number=ACCOUNT, transport=way, files=files, attachments=attachments) as one,
            listening(one, inbox),
        ):
            await inbox.was_offered(5)
    assert inbox.texts == [f"message {number}" for number in range(5)]
    assert inbox.held_meanwhile == [1] * 5


async def test_nothing_is_received_while_nobody_listens(server: SignalServer, blobs: MemoryBlobs) -> None:
    inbox = DirectedInbox()
    async with opened(server, blobs) as channel:
        async with listening(channel, inbox):
            server.writes("one")
            await inbox.was_offered(1)
            await anyio.wait_all_tasks_blocked()
        server.writes("two")
        await channel.send(part("still here"))
        assert len(server.waiting) == 1
        async with listening(channel, inbox):
            assert await inbox.was_offered(2) == ["one", "two"]
    assert len(server.started) == 1


@pytest.mark.requirement("channel.signal.transport")
async def test_where_json_rpc_is_not_known_calls_do_everything(
    server: SignalServer, blobs: MemoryBlobs
) -> None:
    server.speaks_rpc = False
    inbox = DirectedInbox()
    async with opened(server, blobs) as channel:
        sent = await channel.send(part("**before** listening"))
        async with listening(channel, inbox):
            server.writes("hello")
            await inbox.was_offered(1)
            await channel.send(part("in between", GROUP))
        with pytest.raises(ChannelRejected):
            await channel.typing.show(part("").target)
    assert [(one.place, one.text) for one in server.sent] == [
        (OLGA, "before listening"),
        (GROUP, "in between"),
    ]
    assert sent.platform_id == str(server.sent[0].timestamp)
    assert [one.command for one in server.started].count("jsonRpc") == 1


async def test_what_is_said_is_on_no_command_line(server: SignalServer, blobs: MemoryBlobs) -> None:
    async with opened(server, blobs, lasting=False) as channel:
        await channel.send(part("a secret between us"))
    assert "secret" not in repr([one.argv for one in server.started])
    assert server.sent[0].text == "a secret between us"


async def test_two_calls_never_run_at_a_time(server: SignalServer, blobs: MemoryBlobs) -> None:
    async with (
        opened(server, blobs, lasting=False, lock_patience=0.2) as channel,
        listening(channel, DirectedInbox()),
        anyio.create_task_group() as tasks,
    ):
        for number in range(4):
            tasks.start_soon(channel.send, part(f"part {number}"))
    assert sorted(one.text for one in server.sent) == [f"part {number}" for number in range(4)]


@EACH_WAY
async def test_who_stops_waiting_leaves_at_once(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    async with opened(server, blobs, lasting=lasting, patience=60) as channel:
        server.fault = Fault("stalled")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.send, part("never mind"))
            await server.comes_to(lambda: server.met)
            tasks.cancel_scope.cancel()
        await channel.send(part("but this"))
        async with listening(channel, DirectedInbox()):
            await server.comes_to(lambda: any(one.receives for one in server.started) or not lasting)
    assert [one.text for one in server.sent] == ["but this"]


@EACH_WAY
async def test_a_process_of_somebody_else_is_named_and_outlived(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    server.is_locked = True
    async with opened(server, blobs, lasting=lasting, lock_patience=0.1) as channel:
        with pytest.raises(ChannelRejected, match="another signal-cli uses this account"):
            await channel.run(DirectedInbox(), cursor=None)
        with pytest.raises(ChannelUnreachable, match="another signal-cli"):
            await channel.send(part("not now"))
        server.lets_go()
        await channel.send(part("now"))
    assert [one.text for one in server.sent] == ["now"]


async def test_a_short_wait_for_the_lock_is_none_of_anybodys_business(
    server: SignalServer, blobs: MemoryBlobs
) -> None:
    server.is_locked = True
    async with opened(server, blobs) as channel, anyio.create_task_group() as tasks:
        tasks.start_soon(channel.send, part("in a moment"))
        await server.comes_to(lambda: server.processes)
        server.lets_go()
    assert [one.text for one in server.sent] == ["in a moment"]


@pytest.mark.parametrize(
    ("program", "words"), [("no-such-signal-cli", "is not found"), ("/etc/passwd", "may not be run")]
)
async def test_a_program_that_cannot_be_run_is_named(
    server: SignalServer, blobs: MemoryBlobs, program: str, words: str
) -> None:
    async with opened(server, blobs, program=program) as channel:
        with pytest.raises(ChannelRejected, match=words):
            await channel.run(DirectedInbox(), cursor=None)
        with pytest.raises(ChannelUnreachable, match=words):
            await channel.send(part("hello"))


@EACH_WAY
async def test_each_failure_says_truly_whether_it_left(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    expected: Mapping[str, type[Exception]] = {
        "offline": ChannelUnreachable,
        "refused": ChannelTargetGone,
        "lost": ChannelOutcomeUnknown,
    }
    async with opened(server, blobs, lasting=lasting) as channel:
        for kind, error in expected.items():
            server.fault = Fault(kind)
            with pytest.raises(error):
                await channel.send(part("hello"))
        await channel.send(part("after all"))
    assert server.sent[-1].text == "after all"


@EACH_WAY
async def test_a_file_goes_out_under_its_name_and_nothing_of_it_stays(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    async with aclosing(in_pieces(b"picture")) as pieces:
        blob = await blobs.store(pieces, limit=100)
    body = MediaPart(kind=MediaKind.IMAGE, blob=blob, file_name="../../a/b\n.png", caption="_look_")
    async with opened(server, blobs, lasting=lasting) as channel:
        await channel.send(part(body, GROUP))
        server.fault = Fault("refused")
        with pytest.raises(ChannelRejected):
            await channel.send(part(body))
    (sent,) = server.sent
    assert (sent.place, sent.text, sent.files) == (GROUP, "look", (("_.._a_b_.png", b"picture"),))
    assert list((server.folder / "outgoing").iterdir()) == []


@EACH_WAY
async def test_a_reaction_names_the_author_of_its_message(
    server: SignalServer, blobs: MemoryBlobs, lasting: bool
) -> None:
    inbox = DirectedInbox()
    async with opened(server, blobs, lasting=lasting) as channel:
        async with listening(channel, inbox):
            times = [server.writes("direct"), server.writes("all", group=GROUP)]
            await inbox.was_offered(2)
        for raw in inbox.offered:
            body = ReactionPart(message=PlatformMessageId(str(raw["id"])), emoji="👍")
            await channel.send(part(body, str(raw["reply_target"])))
        with pytest.raises(ChannelRejected):
            await channel.send(part(ReactionPart(message=PlatformMessageId("5"), emoji="👍"), GROUP))
    told = [(one.place, one.params["targetAuthor"], one.params["targetTimestamp"]) for one in server.sent]
    assert told == [(OLGA, OLGA, times[0]), (GROUP, uuid_of(OLGA), times[1])]


async def test_two_messages_of_one_moment_are_two(server: SignalServer, blobs: MemoryBlobs) -> None:
    inbox = DirectedInbox()
    when = server.stamp()
    for text in ("one", "two", "two"):
        server.envelope(OLGA, when, dataMessage={"timestamp": when, "message": text})
    async with opened(server, blobs) as channel, listening(channel, inbox):
        await inbox.was_offered(3)
    keys = [str(raw["key"]) for raw in inbox.offered]
    assert keys[0] == f"{uuid_of(OLGA)}:{when}"
    assert keys[1] == keys[2]
    assert keys[1].startswith(f"{keys[0]}:")


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", ".hidden", "a/b", "", "..", "link", "folder", "none"]
)
async def test_only_a_file_in_the_folder_is_fetched(server: SignalServer, name: str) -> None:
    (server.data / "signal-cli" / "secret").write_text("keys")
    (server.attachments / "link").symlink_to(server.data / "signal-cli" / "secret")
    (server.attachments / "folder").mkdir()
    with pytest.raises(ChannelRejected):
        async with SignalAttachments(server.attachments).fetch(name, limit=100):
            pass


async def test_a_fetched_file_is_exactly_as_long_as_allowed(server: SignalServer) -> None:
    (server.attachments / "F1.bin").write_bytes(b"12345")
    source = SignalAttachments(server.attachments)
    async with source.fetch("F1.bin", limit=5) as pieces:
        assert b"".join([piece async for piece in pieces]) == b"12345"
    with pytest.raises(MediaTooLarge):
        async with source.fetch("F1.bin", limit=4):
            pass
    assert (server.attachments / "F1.bin").exists()


async def test_no_more_than_the_cap_is_read_whatever_limit_is_given(server: SignalServer) -> None:
    cap = CAPS[ChannelName("signal")].media_in or 0
    for name, size in (("at_cap", cap), ("over", cap + 1)):
        with (server.attachments / name).open("wb") as sparse:
            sparse.truncate(size)
    source = SignalAttachments(server.attachments)
    async with source.fetch("at_cap", limit=2 * cap) as pieces:
        assert await anext(aiter(pieces))
    with pytest.raises(MediaTooLarge):
        async with source.fetch("over", limit=2 * cap):
            pass


async def test_what_a_child_says_on_its_standard_error_is_in_no_log(
    server: SignalServer, blobs: MemoryBlobs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    inbox = DirectedInbox()
    async with opened(server, blobs) as channel, listening(channel, inbox):
        await server.comes_to(lambda: any(one.receives for one in server.processes))
        for process in server.processes:
            process.order(err="WARN Body: what we said in private\n" * 5000)
        server.writes("hello")
        await inbox.was_offered(1)
    assert "private" not in repr([vars(record) for record in caplog.records])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plan.pdf", "plan.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (".bashrc", "bashrc"),
        ("\x00\x1b", "__"),
        ("", "file"),
        ("...", "file"),
        ("x" * 300 + ".pdf", "x" * 95 + ".pdf"),
    ],
)
def test_a_name_is_no_path(name: str, shown: str) -> None:
    assert shown_name(name)[-20:] == shown[-20:]
    assert len(shown_name(name)) <= 100
    assert Path(shown_name(name)).name == shown_name(name)


def test_the_gateway_is_told_that_nothing_is_offered_again(server: SignalServer, blobs: MemoryBlobs) -> None:
    launch = Launch(program=str(server.program), account=ACCOUNT, environment={})
    channel = SignalChannel(
        number=ACCOUNT,
        transport=Transport(launch, clock=HastyClock()),
        files=OutgoingFiles(server.folder, blobs=blobs),
        attachments=SignalAttachments(server.attachments),
    )
    assert not channel.features.offers_again
    assert not channel.features.webhook
