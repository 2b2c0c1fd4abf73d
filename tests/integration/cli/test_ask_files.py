"""`fermix ask` and `fermix chat` with files: what goes along with a question, and what is saved of an answer."""

import json
import shlex
import signal
import subprocess
import threading
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.control import (
    AskAccepted,
    AskEnd,
    AskEnded,
    AskEvent,
    AskFile,
    AskPart,
    AskRequest,
)
from fermix.application.ports.uploads import Upload
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.message import AttachmentKind
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.testing.clock import CountedIds, StoppedClock
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, Done, environment, fermix
from tests.integration.local_socket.scripted_control import ScriptedControl, Step, served

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
GIB = 1024**3
HOSTILE = "../../.\x1b]0;pwned\x07\u202egnp.sh"


async def keep(control: ScriptedControl, content: bytes) -> BlobRef:
    async def at_once() -> AsyncIterator[bytes]:
        yield content

    return await control.blobs.store(at_once(), limit=len(content))


async def read(control: ScriptedControl, blob: BlobRef) -> bytes:
    async with control.blobs.open(blob) as pieces:
        return b"".join([piece async for piece in pieces])


def draws(control: ScriptedControl, *names: str, content: bytes = PNG) -> None:
    """Let every question be answered with these files, then with a word."""
    blob = anyio.run(keep, control, content)
    files = [
        AskFile(
            part=MediaPart(
                kind=MediaKind.IMAGE, blob=blob, file_name=name, mime_type="image/png", caption="Look\nhere."
            )
        )
        for name in names
    ]

    def script(_request: AskRequest) -> Sequence[Step]:
        said: list[AskEvent] = [
            AskPart(text="Drawn."),
            AskEnded(end=AskEnd.ANSWERED, text="Drawn.", provider="openai", model="gpt-test"),
        ]
        return [AskAccepted(turn=None), *files, *said]

    control.script = script


def sent(control: ScriptedControl, index: int = -1) -> list[tuple[str, AttachmentKind, bytes]]:
    files = control.asked[index].files
    return [(file.name, file.kind, anyio.run(read, control, file.blob)) for file in files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the command runs."""
    here = tmp_path / "here"
    here.mkdir()
    return here


def test_texts_are_context_and_everything_else_goes_along_by_its_content(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    (folder / "notes.png").write_text("just words")
    (folder / "picture.txt").write_bytes(PNG)
    (folder / "data").write_bytes(b"gr\xfc\xdfe")
    done = fermix(
        home, "ask", "Look.", "-f", "notes.png", "-f", "picture.txt", "-f", str(folder / "data"), cwd=folder
    )
    assert done.status == 0, done
    assert daemon.asked[0].text == "Look.\n\nFile notes.png:\n```\njust words\n```"
    assert sent(daemon) == [
        ("picture.txt", AttachmentKind.IMAGE, PNG),
        ("data", AttachmentKind.FILE, b"gr\xfc\xdfe"),
    ]


def test_a_picture_or_a_voice_note_may_say_it_all(home: Path, daemon: ScriptedControl, folder: Path) -> None:
    (folder / "voice.ogg").write_bytes(b"OggS\x00\x02" + bytes(22) + b"OpusHead\x01")
    assert fermix(home, "ask", "--json", "-f", "voice.ogg", cwd=folder).status == 0
    assert (daemon.asked[0].text, sent(daemon)[0][1]) == ("", AttachmentKind.AUDIO)
    (folder / "words").write_text("only context")
    done = fermix(home, "ask", "-f", "words", cwd=folder)
    assert (done.status, len(daemon.asked)) == (2, 1)


def test_a_file_that_is_not_taken_is_named_and_nothing_is_asked(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    (folder / "large").write_bytes(b"\0" * (daemon.largest_file + 1))
    done = fermix(home, "ask", "Look.", "-f", "large", cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err == "fermix: The file large was not taken. The file is larger than 1 MiB, the limit.\n"
    assert daemon.asked == []
    document = fermix(home, "ask", "Look.", "--json", "-f", "large", cwd=folder).document
    assert document["error"]["code"] == "too_large"


def test_a_hostile_name_reaches_neither_the_terminal_nor_another_folder(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    draws(daemon, HOSTILE)
    done = fermix(home, "ask", "Draw.", cwd=folder)
    assert (done.status, done.out) == (0, "Drawn.\n")
    saved = folder / "]0;pwnedgnp.sh"
    assert done.err == f"fermix: Saved {saved} (image/png, 264 bytes): Look here.\n"
    assert saved.read_bytes() == PNG
    assert list(folder.parent.rglob("*.sh")) == [saved]
    assert not saved.stat().st_mode & 0o111


def test_files_are_saved_beside_what_is_there_and_never_over_it(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    draws(daemon, "a.png", "a.png")
    (folder / "a.png").write_bytes(b"mine")
    done = fermix(home, "ask", "Draw.", cwd=folder)
    assert done.status == 0
    assert sorted(each.name for each in folder.iterdir()) == ["a (1).png", "a (2).png", "a.png"]
    assert (folder / "a.png").read_bytes() == b"mine"


def test_another_folder_can_be_named_and_must_be_one(
    home: Path, daemon: ScriptedControl, folder: Path, tmp_path: Path
) -> None:
    draws(daemon, "a.png")
    (tmp_path / "pictures").mkdir()
    assert fermix(home, "ask", "Draw.", "--save-to", "../pictures", cwd=folder).status == 0
    assert (tmp_path / "pictures" / "a.png").read_bytes() == PNG
    assert list(folder.iterdir()) == []
    done = fermix(home, "ask", "Draw.", "--save-to", "nowhere", cwd=folder)
    assert (done.status, done.err) == (2, "fermix: nowhere is no folder.\n")
    assert len(daemon.asked) == 1


def test_programs_have_files_as_data(home: Path, daemon: ScriptedControl, folder: Path) -> None:
    draws(daemon, HOSTILE)
    file = {
        "path": str(folder / "]0;pwnedgnp.sh"),
        "name": HOSTILE,
        "mime": "image/png",
        "size": len(PNG),
        "kind": "image",
        "caption": "Look\nhere.",
    }
    document = fermix(home, "ask", "--json", "Draw.", cwd=folder).document
    assert (document["text"], document["files"]) == ("Drawn.", [file])
    (folder / "]0;pwnedgnp.sh").unlink()
    lines = [
        json.loads(line)
        for line in fermix(home, "ask", "--stream-json", "Draw.", cwd=folder).out.splitlines()
    ]
    assert [line["type"] for line in lines] == ["accepted", "file", "part", "ended"]
    assert lines[1] == {"type": "file", **file}
    assert lines[-1]["files"] == [file]


def test_a_disk_without_room_costs_the_file_but_not_the_answer(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    draws(daemon, "large.png", content=PNG * 1000)
    done = cramped(home, "ask", "Draw.", cwd=folder)
    assert (done.status, done.out) == (1, "Drawn.\n")
    assert done.err == "fermix: The file large.png could not be saved. File too large.\n"
    document = cramped(home, "ask", "--json", "Draw.", cwd=folder).document
    assert (document["ok"], document["exit_code"], document["text"]) == (False, 1, "Drawn.")
    assert document["error"]["code"] == "file_not_saved"
    assert document["files"][0]["path"] is None
    assert list(folder.iterdir()) == []


def cramped(home: Path, *arguments: str, cwd: Path) -> Done:
    """As `fermix`, where no file can grow beyond some kilobytes."""
    command = f"ulimit -f 16; exec {shlex.join([*PROGRAM, *arguments])}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment(home, PYTHONDONTWRITEBYTECODE="1"),
        cwd=cwd,
        timeout=LIMIT_SECONDS,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass(kw_only=True)
class Watched(ScriptedControl):
    """Tells when something of a file has come, and when that file has ended."""

    begun: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    @override
    async def keep(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Upload:
        async def watched() -> AsyncIterator[bytes]:
            async for piece in content:
                yield piece
                self.begun.set()

        try:
            return await super().keep(name, watched(), size=size)
        finally:
            self.left.set()


def test_an_interrupt_while_a_file_is_on_its_way_ends_the_command_and_leaves_nothing(
    home: Path, folder: Path
) -> None:
    kept = folder / "blobs"
    store = FolderBlobs(kept, clock=StoppedClock(), ids=CountedIds())
    control = Watched(largest_file=GIB, blobs=store)
    with (folder / "endless").open("wb") as file:
        file.truncate(GIB)
    with (
        served(home / "daemon.sock", control),
        subprocess.Popen(
            [*PROGRAM, "ask", "Look.", "-f", "endless"],
            env=environment(home),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            assert control.begun.wait(LIMIT_SECONDS)
            assert list(kept.iterdir()) != []
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT_SECONDS)
            assert control.left.wait(LIMIT_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"fermix: Interrupted.\n")
    assert control.asked == []
    assert list(kept.iterdir()) == []


def test_a_chat_sends_its_files_with_the_first_message_that_is_no_command(
    home: Path, daemon: ScriptedControl, folder: Path
) -> None:
    (folder / "a.png").write_bytes(PNG)
    (folder / "notes").write_text("words")
    lines = b"/help\nLook.\nAgain.\n"
    done = fermix(home, "chat", "-f", "a.png", "-f", "notes", text=lines, cwd=folder)
    assert done.status == 0, done
    assert [len(asked.files) for asked in daemon.asked] == [0, 1, 0]
    assert [asked.text.partition("\n")[0] for asked in daemon.asked] == ["/help", "Look.", "Again."]
    assert "words" in daemon.asked[1].text
    assert sent(daemon, 1) == [("a.png", AttachmentKind.IMAGE, PNG)]


def test_a_chat_saves_what_it_is_sent(
    home: Path, daemon: ScriptedControl, folder: Path, tmp_path: Path
) -> None:
    draws(daemon, "a.png")
    done = fermix(home, "chat", text=b"Draw.\n", cwd=folder)
    assert (done.status, done.out) == (0, "Drawn.\n")
    assert f"Saved {folder / 'a.png'}" in done.err
    done = fermix(home, "chat", "--save-to", str(tmp_path / "nowhere"), text=b"Draw.\n", cwd=folder)
    assert done.status == 2
