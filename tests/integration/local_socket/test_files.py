"""Files over the real socket: brought before a question, sent to whoever asked, gone when their sender goes."""

import base64
import io
import json
import socket
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskFile, AskRequest
from fermix.application.ports.uploads import MAX_FILES
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.message import AttachmentKind
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.infrastructure.local_socket.asking import Accepted, Ended, Question
from fermix.infrastructure.local_socket.client import DeadlinePassed, ForeignProtocol, Refused, connect
from fermix.infrastructure.local_socket.file_events import FileBegun, FileBroken, FilePiece
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.testing.clock import CountedIds, StoppedClock
from tests.integration.local_socket.raw_client import ASK, RawClient, raw_client, still_answers
from tests.integration.local_socket.scripted_control import PATIENCE_SECONDS, ScriptedControl, Step, served

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


class WatchedStore:
    """The home's real store of files; tells when something of a file has come, and when that file has ended."""

    def __init__(self, folder: Path) -> None:
        self._store = FolderBlobs(folder, clock=StoppedClock(), ids=CountedIds())
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.open, self.stale, self.remove = self._store.open, self._store.stale, self._store.remove

    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        async def watched() -> AsyncIterator[bytes]:
            async for piece in content:
                yield piece
                self.begun.set()

        try:
            return await self._store.store(watched(), limit=limit)
        finally:
            self.ended.set()


@pytest.fixture
def store(kept: Path) -> WatchedStore:
    return WatchedStore(kept)


@pytest.fixture
def control(store: WatchedStore) -> ScriptedControl:
    """A gateway with the home's real store of files."""
    return ScriptedControl(blobs=store, largest_file=3 * 1024 * 1024)


@pytest.fixture
def path(tmp_path: Path, control: ScriptedControl) -> Iterator[Path]:
    with served(tmp_path / "daemon.sock", control, limits=SocketLimits(piece_seconds=0.3)):
        yield tmp_path / "daemon.sock"


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()] if folder.exists() else []


def attach(client: RawClient, *, size: int, request_id: str = "a1") -> None:
    client.send("attach", {"name": "a.png", "size": size}, request_id=request_id)


def piece(client: RawClient, data: bytes, *, of: str = "a1", last: bool = False) -> None:
    encoded = base64.b64encode(data).decode()
    client.send("piece", {"of": of, "data": encoded, "last": last}, request_id="p")


def test_files_are_kept_whole_before_the_question_and_go_with_it_in_order(
    path: Path, control: ScriptedControl, kept: Path
) -> None:
    large = bytes(range(256)) * 12 * 1024
    with connect(path.parent) as client:
        names = tuple(
            client.attach(name, io.BytesIO(content).read, size=len(content))
            for name, content in (("a.txt", PNG), ("b.png", large), ("empty", b""))
        )
        list(client.ask(Question(request="r-1", text="look", files=names[::-1])))
    (asked,) = control.asked
    assert [file.name for file in asked.files] == ["empty", "b.png", "a.txt"]
    assert [file.kind for file in asked.files] == [
        AttachmentKind.FILE,
        AttachmentKind.FILE,
        AttachmentKind.IMAGE,
    ]
    assert [(kept / file.blob.digest).read_bytes() for file in asked.files] == [b"", large, PNG]


def test_a_question_may_have_files_and_no_words(path: Path, control: ScriptedControl) -> None:
    with connect(path.parent) as client:
        name = client.attach("a.png", io.BytesIO(PNG).read, size=len(PNG))
        list(client.ask(Question(request="r-1", text="", files=(name,))))
    assert [file.name for file in control.asked[0].files] == ["a.png"]


def test_what_came_goes_with_one_question_only_and_over_its_own_connection(path: Path) -> None:
    with raw_client(path) as one, raw_client(path) as other:
        attach(one, size=3)
        piece(one, b"abc", last=True)
        name = one.read()["result"]["file"]
        other.send("ask", {**ASK, "files": [name]})
        assert other.read()["error"]["code"] == "bad_request"
        one.send("ask", {**ASK, "files": [name]})
        assert "result" in one.read_end()
        one.send("ask", {**ASK, "files": [name]})
        assert one.read()["error"]["code"] == "bad_request"


@pytest.mark.parametrize("told", [4 * 1024 * 1024, 10])
def test_a_file_that_is_too_large_is_refused_in_words_and_leaves_nothing(
    path: Path, control: ScriptedControl, kept: Path, told: int
) -> None:
    content = io.BytesIO(bytes(4 * 1024 * 1024))
    with connect(path.parent) as client:
        with pytest.raises(Refused, match="larger than 3 MiB") as refused:
            client.attach("a.bin", content.read, size=told)
        assert refused.value.code == "too_large"
        assert names_in(kept) == []
        # Late pieces of it are none of the next file's.
        name = client.attach("a.png", io.BytesIO(PNG).read, size=len(PNG))
        list(client.ask(Question(request="r-1", text="look", files=(name,))))
    (file,) = control.asked[0].files
    assert (kept / file.blob.digest).read_bytes() == PNG


def test_who_leaves_in_the_middle_of_a_file_leaves_nothing_behind(
    path: Path, kept: Path, store: WatchedStore
) -> None:
    with raw_client(path) as client:
        attach(client, size=2 * 1024 * 1024)
        piece(client, bytes(1024 * 1024))
        assert store.begun.wait(PATIENCE_SECONDS)
        assert names_in(kept) != []
    assert store.ended.wait(PATIENCE_SECONDS)
    assert names_in(kept) == []
    still_answers(path)


def test_an_interrupt_while_a_file_is_read_leaves_nothing_behind(
    path: Path, kept: Path, store: WatchedStore
) -> None:
    given = iter([bytes(1024 * 1024)])

    def read(_most: int) -> bytes:
        try:
            return next(given)
        except StopIteration:
            raise KeyboardInterrupt from None

    with connect(path.parent) as client, pytest.raises(KeyboardInterrupt):
        client.attach("a.bin", read, size=2 * 1024 * 1024)
    assert store.ended.wait(PATIENCE_SECONDS)
    assert names_in(kept) == []


def test_a_sender_that_falls_silent_is_let_go(path: Path, kept: Path, store: WatchedStore) -> None:
    with raw_client(path) as client:
        attach(client, size=10)
        piece(client, b"abc")
        assert "No piece" in client.read()["error"]["message"]
        assert client.read() is None
    assert store.ended.wait(PATIENCE_SECONDS)
    assert names_in(kept) == []


@pytest.mark.parametrize(
    "line",
    [
        {"verb": "status", "params": {}},
        {"verb": "piece", "params": {"of": "a1", "data": "no base64!", "last": False}},
        {"verb": "piece", "params": {"of": "a1", "data": "", "last": "yes"}},
    ],
)
def test_what_is_no_piece_ends_the_connection_and_the_file(
    path: Path, kept: Path, store: WatchedStore, line: dict[str, Any]
) -> None:
    with raw_client(path) as client:
        attach(client, size=10)
        client.send(line["verb"], line["params"], request_id="x")
        reply = client.read()
        assert (reply["id"], reply["error"]["code"]) == ("x", "bad_request")
        assert client.read() is None
    assert store.ended.wait(PATIENCE_SECONDS)
    assert names_in(kept) == []
    still_answers(path)


@pytest.mark.parametrize(
    "params", [{}, {"name": "a", "size": -1}, {"name": "a" * 256, "size": 1}, {"name": "a", "size": "1"}]
)
def test_an_attach_with_a_wrong_field_is_told(path: Path, params: dict[str, Any]) -> None:
    with raw_client(path) as client:
        client.send("attach", params)
        assert client.read()["error"]["code"] == "bad_request"
        client.send("identify")
        assert "result" in client.read()


def test_one_question_takes_so_many_files_and_no_more(path: Path) -> None:
    with connect(path.parent) as client:
        for _ in range(MAX_FILES):
            client.attach("a", io.BytesIO(b"x").read, size=1)
        with pytest.raises(Refused, match=str(MAX_FILES)):
            client.attach("a", io.BytesIO(b"x").read, size=1)


def test_a_piece_of_nothing_is_passed_over(path: Path) -> None:
    with raw_client(path) as client:
        piece(client, b"late", last=True)
        client.send("identify")
        assert "result" in client.read()


def giving(part: MediaPart) -> Any:
    def script(_request: AskRequest) -> Sequence[Step]:
        return [AskAccepted(turn=None), AskFile(part=part), AskEnded(end=AskEnd.ANSWERED, text="Here.")]

    return script


def a_part(blob: BlobRef) -> MediaPart:
    return MediaPart(
        kind=MediaKind.IMAGE, blob=blob, file_name="../a\x1b[2J.png", mime_type="image/png", caption="look"
    )


async def keep(blobs: Blobs, content: bytes) -> BlobRef:
    async def at_once() -> AsyncIterator[bytes]:
        yield content

    return await blobs.store(at_once(), limit=len(content))


@pytest.mark.parametrize("size", [0, 1, 256 * 1024, 2_500_001])
def test_a_file_reaches_whoever_asked_whole_and_before_the_end(
    path: Path, control: ScriptedControl, store: WatchedStore, size: int
) -> None:
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    blob = anyio.run(keep, store, content)
    control.script = giving(a_part(blob))
    with connect(path.parent) as client:
        first, begun, *pieces, ended = client.ask(Question(request="r-1", text="draw"))
    assert isinstance(first, Accepted)
    assert begun == FileBegun("image", "../a\x1b[2J.png", "image/png", size, "look")
    assert b"".join(piece.data for piece in pieces if isinstance(piece, FilePiece)) == content
    assert isinstance(ended, Ended)


def test_a_file_that_is_gone_is_told_and_the_answer_comes(path: Path, control: ScriptedControl) -> None:
    control.script = giving(a_part(BlobRef(digest="0" * 64, size_bytes=9)))
    with connect(path.parent) as client:
        _, begun, broken, ended = client.ask(Question(request="r-1", text="draw"))
    assert isinstance(begun, FileBegun)
    assert broken == FileBroken("The file is not here any more.")
    assert isinstance(ended, Ended)


class NeverDone(ScriptedControl):
    """Takes a file and has no end."""

    @override
    async def keep(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Any:
        async for _ in content:
            pass
        await anyio.sleep_forever()


def test_the_callers_time_limit_covers_its_files(tmp_path: Path) -> None:
    with (
        served(tmp_path / "daemon.sock", NeverDone()),
        connect(tmp_path) as client,
        pytest.raises(DeadlinePassed),
    ):
        client.attach("a", io.BytesIO(b"x").read, size=1, deadline=time.monotonic() + 0.1)


def test_a_daemon_that_is_older_and_takes_no_files_is_to_be_restarted(tmp_path: Path) -> None:
    unknown = {"id": "1", "error": {"code": "unknown_verb", "message": "Verbs are ask, stop."}}
    with (
        answered_with(tmp_path, unknown),
        connect(tmp_path) as client,
        pytest.raises(Refused, match="older Fermix"),
    ):
        client.attach("a", io.BytesIO(b"x").read, size=1)


def test_a_reply_that_names_no_file_is_not_understood(tmp_path: Path) -> None:
    with (
        answered_with(tmp_path, {"id": "1", "result": {}}),
        connect(tmp_path) as client,
        pytest.raises(ForeignProtocol, match="`file`"),
    ):
        client.attach("a", io.BytesIO(b"x").read, size=1)


@contextmanager
def answered_with(home: Path, reply: dict[str, Any]) -> Iterator[None]:
    """Somebody who gives this reply to the first line of one client, and reads on until it leaves."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "daemon.sock"))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                lines.readline()
                connection.sendall(json.dumps(reply).encode() + b"\n")
                lines.read()

        thread = threading.Thread(target=answer)
        thread.start()
        yield
        thread.join(PATIENCE_SECONDS)
