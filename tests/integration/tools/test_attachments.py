"""Sending files and reactions: what is checked, in which order, and what the model is told; on real files."""

import os
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.reply import NotShown, ShowAnswer, Shown, UnderWay
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.capability import Scope
from fermix.domain.caps import CAPS, MIB, MediaCap
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.reactions import ANY_EMOJI, NO_REACTIONS, Reactions
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.sandbox import SandboxSettings
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.tools.attachments import SendAttachment
from fermix.infrastructure.tools.reactions import React
from fermix.infrastructure.workspace.folders import FolderWorkspace
from fermix.infrastructure.workspace.roots import Places
from fermix.testing.memory_blobs import MemoryBlobs

pytestmark = pytest.mark.anyio

TELEGRAM = CAPS[ChannelName("telegram")]
SLACK = CAPS[ChannelName("slack")]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
CAP = 1000
CAPPED: Mapping[MediaKind, MediaCap] = MappingProxyType(
    {MediaKind.DOCUMENT: MediaCap(max_bytes=CAP), MediaKind.IMAGE: MediaCap(max_bytes=CAP)}
)


@dataclass(slots=True)
class Conversation:
    """A way to reply that remembers what it was given, and answers as the test says."""

    files: Mapping[MediaKind, MediaCap] = field(default_factory=lambda: TELEGRAM.media_out)
    reactions: Reactions = TELEGRAM.reactions
    answer: ShowAnswer = field(default_factory=Shown)
    shown: list[MediaPart | str] = field(default_factory=list)

    async def show_file(self, file: MediaPart) -> ShowAnswer:
        self.shown.append(file)
        return self.answer

    async def react(self, emoji: str) -> ShowAnswer:
        self.shown.append(emoji)
        return self.answer


class Office:
    """A workspace, the tool, and a conversation that files go to."""

    def __init__(
        self,
        base: Path,
        *,
        mode: Literal["strict", "standard", "open"] = "standard",
        blocked: tuple[Path, ...] = (),
        conversation: Conversation | None = None,
    ) -> None:
        self.user = base / "user"
        self.workspace = self.user / ".fermix" / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.outside = base / "outside"
        self.outside.mkdir(exist_ok=True)
        stated = SandboxSettings(mode=mode, blocked_roots=blocked)
        sandbox = sandbox_of(stated, home=self.user / ".fermix", user_home=self.user, launch_folder=None)
        self.conversation = conversation or Conversation()
        self.blobs = MemoryBlobs(clock=SystemClock())
        self.tool = SendAttachment(
            workspace=FolderWorkspace(places=Places(sandbox=lambda: sandbox), clock=SystemClock()),
            blobs=self.blobs,
        )

    async def send(self, *, reply: bool = True, **arguments: object) -> ToolResult:
        context = ToolContext(
            turn=TurnId(1),
            scope=Scope(trust=Trust.OPERATOR),
            reply=self.conversation if reply else None,
        )
        with anyio.fail_after(10):
            return await self.tool.call(arguments, context)

    async def refusal(self, **arguments: object) -> str:
        result = await self.send(reply=True, **arguments)
        assert result.failed
        assert self.conversation.shown == []
        return result.text

    @property
    def sent(self) -> MediaPart:
        (part,) = self.conversation.shown
        assert isinstance(part, MediaPart)
        return part

    async def content(self) -> bytes:
        async with self.blobs.open(self.sent.blob) as pieces:
            return b"".join([piece async for piece in pieces])


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.mark.requirement("outbound_media.through_the_reply_port")
async def test_a_file_is_kept_and_handed_to_the_reply_with_all_that_was_said_of_it(office: Office) -> None:
    (office.workspace / "chart.bin").write_bytes(PNG)
    told = await office.send(path="chart.bin", kind="image", caption="**Sales**", filename="out/sales.png")
    assert told == ToolResult(
        text='"sales.png" (108 bytes, image/png) was sent as a file of the kind `image`.'
    )
    assert (office.sent.kind, office.sent.file_name) == (MediaKind.IMAGE, "sales.png")
    assert (office.sent.mime_type, office.sent.caption) == ("image/png", "**Sales**")
    assert await office.content() == PNG


async def test_a_large_file_is_streamed_whole(office: Office) -> None:
    content = os.urandom(MIB) * 2 + b"end"
    (office.workspace / "big.bin").write_bytes(content)
    told = await office.send(path="big.bin")
    assert "2.0 MB (2097155 bytes)" in told.text
    assert await office.content() == content


async def test_mistakes_are_told_in_a_fixed_order(office: Office) -> None:
    everything: dict[str, object] = {"kind": "hologram", "odd": 1, "mime_type": "?"}
    (office.workspace / "a.txt").write_text("hello")
    nobody = await office.send(reply=False, path=" ", **everything)
    assert nobody.text == "There is no conversation here that a file could be sent to."
    assert await office.refusal(path=" ", **everything) == "The argument `path` is blank."
    assert await office.refusal(**everything) == "The argument `path` is missing."
    assert "is an address on the web" in await office.refusal(path="ftp://a/b", **everything)
    assert "no kind of file" in await office.refusal(path="../gone", **everything)
    assert "no argument 'odd'" in await office.refusal(path="../gone", odd=1, mime_type="?")
    assert "no media type" in await office.refusal(path="../gone", mime_type="?")
    assert "lies outside" in await office.refusal(path="../../../outside/gone")


@pytest.mark.parametrize(
    "address", ["https://example.com/a.png", "file:///etc/passwd", "DATA://x", " x-y.z+1://q"]
)
async def test_any_scheme_is_an_address_and_no_file(office: Office, address: str) -> None:
    assert "is an address on the web" in await office.refusal(path=address)


async def test_a_kind_that_the_conversation_does_not_take_is_told_from_one_that_does_not_exist(
    tmp_path: Path,
) -> None:
    office = Office(tmp_path, conversation=Conversation(files=CAPPED))
    unknown = await office.refusal(path="a", kind="hologram")
    assert unknown == 'There is no kind of file "hologram"; there are: `image`, `document`.'
    elsewhere = await office.refusal(path="a", kind="voice")
    assert elsewhere.startswith("This conversation takes no file of the kind `voice`")


async def test_each_reason_of_the_sandbox_has_its_own_words(tmp_path: Path) -> None:
    secret = tmp_path / "user" / ".fermix" / "workspace" / "secret"
    office = Office(tmp_path, mode="open", blocked=(secret,))
    secret.mkdir()
    (secret / "key").write_text("x")
    ssh = office.user / ".ssh"
    ssh.mkdir()
    (ssh / "id").write_text("x")
    (office.outside / "x.txt").write_text("x")
    os.mkfifo(office.workspace / "pipe")
    (office.workspace / "loop").symlink_to("loop")
    told = {
        "protected": await office.refusal(path="~/.ssh/id"),
        "outside": await office.refusal(path=str(office.outside / "x.txt")),
        "blocked": await office.refusal(path="secret/key"),
        "links": await office.refusal(path="loop"),
        "missing": await office.refusal(path="gone.pdf"),
        "folder": await office.refusal(path="."),
        "pipe": await office.refusal(path="pipe"),
    }
    assert len(set(told.values())) == len(told)
    assert "protected" in told["protected"]
    assert "outside the folders" in told["outside"]
    assert "the owner has closed" in told["blocked"]
    assert "too many links" in told["links"]
    assert "does not exist" in told["missing"]
    assert "is a folder" in told["folder"]
    assert "not a regular file" in told["pipe"]


async def test_a_link_out_of_the_sandbox_sends_nothing(office: Office) -> None:
    (office.outside / "x.txt").write_text("SECRET")
    (office.workspace / "innocent.txt").symlink_to(office.outside / "x.txt")
    assert "outside" in await office.refusal(path="innocent.txt")


@pytest.mark.requirement("outbound_media.caps")
async def test_a_file_at_its_cap_is_sent_and_one_byte_more_is_refused_with_both_sizes(tmp_path: Path) -> None:
    office = Office(tmp_path, conversation=Conversation(files=CAPPED))
    (office.workspace / "over").write_bytes(b"x" * (CAP + 1))
    (office.workspace / "at").write_bytes(b"x" * CAP)
    refused = await office.refusal(path="over")
    assert "it has 1001 bytes" in refused
    assert "takes 1000 bytes at most" in refused
    assert not (await office.send(path="at")).failed


async def test_a_file_that_grows_while_it_is_read_does_not_pass_its_cap(tmp_path: Path) -> None:
    log = tmp_path / "user" / ".fermix" / "workspace" / "log"

    class Growing(MemoryBlobs):
        """Lets the file grow before it is read on."""

        @override
        async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
            with log.open("ab") as file:
                file.write(b"y" * CAP)
            return await super().store(content, limit=limit)

    office = Office(tmp_path, conversation=Conversation(files=CAPPED))
    log.write_bytes(b"x" * CAP)
    office.tool = SendAttachment(workspace=office.tool.workspace, blobs=Growing(clock=SystemClock()))
    assert "grew while it was read" in await office.refusal(path="log")


async def test_an_empty_file_is_not_sent(office: Office) -> None:
    (office.workspace / "none").touch()
    assert "is empty" in await office.refusal(path="none")


async def test_what_is_no_picture_is_not_sent_as_one(office: Office) -> None:
    (office.workspace / "photo.png").write_text("<html>Log in</html>")
    refused = await office.refusal(path="photo.png", kind="image", mime_type="image/png")
    assert "is of the type text/plain and cannot be shown as image" in refused


async def test_no_room_to_keep_a_copy_is_said(tmp_path: Path) -> None:
    office = Office(tmp_path)
    (office.workspace / "a").write_text("hello")
    office.tool = SendAttachment(
        workspace=office.tool.workspace, blobs=MemoryBlobs(clock=SystemClock(), max_bytes=3)
    )
    assert "no room" in await office.refusal(path="a")


@pytest.mark.parametrize(
    ("answer", "words", "failed"),
    [
        (UnderWay(), "is on its way", False),
        (NotShown(cause="ChannelRejected: too large"), "did not take it (ChannelRejected: too large)", True),
    ],
)
async def test_the_model_is_told_what_became_of_the_file(
    office: Office, answer: ShowAnswer, words: str, *, failed: bool
) -> None:
    (office.workspace / "a.txt").write_text("hello")
    office.conversation.answer = answer
    told = await office.send(path="a.txt")
    assert words in told.text
    assert told.failed is failed


async def react(conversation: Conversation, emoji: object) -> ToolResult:
    context = ToolContext(turn=TurnId(1), scope=Scope(trust=Trust.GUEST), reply=conversation)
    return await React().call({"emoji": emoji}, context)


@pytest.mark.requirement("reaction.allowed_sets")
@pytest.mark.parametrize(
    ("reactions", "emoji", "taken"),
    [
        (TELEGRAM.reactions, "👍", True),
        (TELEGRAM.reactions, "🍕", False),
        (SLACK.reactions, "tada", True),
        (SLACK.reactions, "🎉", False),
        (ANY_EMOJI, "🍕", True),
        (ANY_EMOJI, "🍕🍕", False),
        (ANY_EMOJI, "ok", False),
        (NO_REACTIONS, "👍", False),
    ],
)
async def test_only_what_the_channel_takes_is_put_on_a_message(
    reactions: Reactions, emoji: str, *, taken: bool
) -> None:
    conversation = Conversation(reactions=reactions)
    told = await react(conversation, emoji)
    assert (conversation.shown, told.failed) == (([emoji], False) if taken else ([], True))


@pytest.mark.parametrize("emoji", [None, 1, "", "  "])
async def test_a_reaction_needs_an_emoji(emoji: object) -> None:
    conversation = Conversation()
    assert (await react(conversation, emoji)).failed
    assert conversation.shown == []


async def test_a_refused_reaction_asks_for_words() -> None:
    conversation = Conversation(answer=NotShown(cause="ChannelRejected"))
    told = await react(conversation, "👍")
    assert told.failed
    assert "one short line" in told.text
