"""The file of secrets on a real disk: closed to others, never a link, whole after every death."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from fermix.application.ports.secrets import Secret, SecretName, SecretsUnavailable
from fermix.infrastructure.secrets.file_store import FileSecretStore
from fermix.testing.error_texts import texts_of

Result = TypeVar("Result")

NAME = SecretName("providers.openai.api_key")
VALUE = Secret("sk-first-0123456789")


def run(call: Callable[..., Awaitable[Result]], *arguments: object) -> Result:
    async def within() -> Result:
        with anyio.fail_after(20):
            return await call(*arguments)

    return anyio.run(within)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "secrets"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def a_store_with_a_secret(folder: Path) -> FileSecretStore:
    store = FileSecretStore(folder)
    run(store.set, NAME, VALUE)
    return store


def test_looking_makes_nothing(folder: Path) -> None:
    store = FileSecretStore(folder)
    assert (run(store.get, NAME), run(store.names)) == (None, ())
    assert not folder.exists()


def test_folder_and_files_are_closed_to_others_whatever_the_mask(folder: Path) -> None:
    before = os.umask(0)
    try:
        a_store_with_a_secret(folder)
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {"secrets.json": 0o600, "lock": 0o600}


def test_what_others_could_read_is_closed_when_it_is_read(folder: Path) -> None:
    store = a_store_with_a_secret(folder)
    folder.chmod(0o755)
    (folder / "secrets.json").chmod(0o644)
    assert run(store.get, NAME) == VALUE
    assert (mode(folder), mode(folder / "secrets.json")) == (0o700, 0o600)


@pytest.mark.parametrize("linked", ["secrets.json", "lock", "."])
def test_a_link_is_never_followed(linked: str, folder: Path, tmp_path: Path) -> None:
    store = a_store_with_a_secret(folder)
    victim = tmp_path / "victim"
    place = folder / linked
    place.rename(victim)
    place.symlink_to(victim)
    before = (victim / "secrets.json" if linked == "." else victim).read_bytes()
    with pytest.raises(SecretsUnavailable, match="a link or something else"):
        run(store.set, NAME, Secret("another"))
    if linked != "lock":
        with pytest.raises(SecretsUnavailable):
            run(store.get, NAME)
    assert (victim / "secrets.json" if linked == "." else victim).read_bytes() == before


def test_a_link_to_write_through_is_removed_and_not_written(folder: Path, tmp_path: Path) -> None:
    store = a_store_with_a_secret(folder)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (folder / "secrets.json.new").symlink_to(victim)
    run(store.set, NAME, Secret("another"))
    assert victim.read_text() == "mine"
    assert not (folder / "secrets.json").is_symlink()


def test_a_pipe_in_its_place_does_not_hold_anybody(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "secrets.json")
    with pytest.raises(SecretsUnavailable, match="not a file"):
        run(FileSecretStore(folder).get, NAME)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"version":1,"secrets":{"a":"sk-first-0123456789"',
        b'\xff{"sk-first-0123456789"}',
        b'{"version":2,"secrets":{"a":"sk-first-0123456789"}}',
        b'{"version":1,"secrets":{"a b":"sk-first-0123456789"}}',
        b'{"version":1,"secrets":["sk-first-0123456789"]}',
        b'{"version":1,"secrets":{"a":17}}',
        b"[" * 100_000,
        b" " * 2_000_000,
    ],
)
def test_a_damaged_file_is_told_kept_and_not_shown(content: bytes, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "secrets.json").write_bytes(content)
    store = FileSecretStore(folder)
    calls: list[tuple[Callable[..., Awaitable[object]], tuple[object, ...]]] = [
        (store.get, (NAME,)),
        (store.set, (NAME, VALUE)),
        (store.delete, (NAME,)),
    ]
    for call, arguments in calls:
        with pytest.raises(SecretsUnavailable, match="damaged") as caught:
            run(call, *arguments)
        assert not [text for text in texts_of(caught.value) if "0123456789" in text]
    assert (folder / "secrets.json").read_bytes() == content


def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(folder: Path) -> None:
    a_store_with_a_secret(folder)
    store = FileSecretStore(folder, patience=timedelta(seconds=0.1))
    with (folder / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SecretsUnavailable, match="another process"):
            run(store.set, NAME, Secret("another"))
        assert run(store.get, NAME) == VALUE


WRITES = """
import sys
from pathlib import Path
import anyio
from fermix.application.ports.secrets import Secret, SecretName
from fermix.infrastructure.secrets.file_store import FileSecretStore

async def main() -> None:
    store = FileSecretStore(Path(sys.argv[1]))
    for number in range(30):
        await store.set(SecretName(f"{sys.argv[2]}.number-{number}"), Secret("x" * 1000))

anyio.run(main)
"""


def test_processes_at_once_lose_nothing(folder: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITES, str(folder), f"writer-{number}"])
        for number in range(3)
    ]
    assert [writer.wait(30) for writer in writers] == [0, 0, 0]
    assert len(run(FileSecretStore(folder).names)) == 90


def has_written(folder: Path, writer: str) -> bool:
    names = json.loads((folder / "secrets.json").read_bytes())["secrets"]
    return any(name.startswith(writer) for name in names)


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(folder: Path) -> None:
    store = a_store_with_a_secret(folder)
    for number in range(3):
        name = f"writer-{number}"
        with subprocess.Popen([sys.executable, "-c", WRITES, str(folder), name]) as writer:
            until = time.monotonic() + 20
            while not has_written(folder, name):
                assert time.monotonic() < until
            writer.kill()
        assert run(store.get, NAME) == VALUE
        run(store.set, SecretName(f"after.number-{number}"), VALUE)
    after = [each for each in run(store.names) if each.text.startswith("after.")]
    assert len(after) == 3


FILLS_THE_DISK = """
import resource, signal, sys
from pathlib import Path
import anyio
from fermix.application.ports.secrets import Secret, SecretName, SecretsUnavailable
from fermix.infrastructure.secrets.file_store import FileSecretStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    anyio.run(FileSecretStore(Path(sys.argv[1])).set, SecretName("a.b"), Secret("x" * 1000))
except SecretsUnavailable:
    sys.exit(3)
"""


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(folder: Path) -> None:
    store = a_store_with_a_secret(folder)
    ended = subprocess.run([sys.executable, "-c", FILLS_THE_DISK, str(folder)], check=False, timeout=30)
    assert ended.returncode == 3
    assert (run(store.get, NAME), run(store.names)) == (VALUE, (NAME,))
    run(store.set, NAME, Secret("another"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("given_away", [".", "secrets.json"])
def test_what_belongs_to_another_user_is_not_trusted(given_away: str, folder: Path) -> None:
    store = a_store_with_a_secret(folder)
    os.chown(folder / given_away, 65534, 65534)
    with pytest.raises(SecretsUnavailable, match="another user"):
        run(store.get, NAME)
