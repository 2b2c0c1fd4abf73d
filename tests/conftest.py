"""What every test runs in: no network but this machine, no real home, no keys, and both async back ends."""

import ipaddress
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.needs import NOBODY, OUTSIDE, Outside, Unprivileged, require
from tests.system_keychain import SystemKeychain, system_keychain

# How fast values are drawn says how busy the machine is, and nothing of the code.
hypothesis.settings.register_profile(
    "fermix", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("fermix")

OURS = ("FERMIX_", "OPENAI_", "TELEGRAM_", "WHATSAPP_", "SLACK_", "DISCORD_", "SIGNAL_")
CREDENTIALS = ("_API_KEY", "_TOKEN", "_SECRET")
READ_BY_LIBRARIES = frozenset(
    {
        "ALL_PROXY",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "OLLAMA_BASE_URL",
        "PORT",
        "NO_COLOR",
        "FORCE_COLOR",
    }
)
NEVER_RESOLVES = (".invalid", ".invalid.")


class NetworkReached(RuntimeError):
    """A test tried to leave this machine. No `OSError`, so that no error map takes it for a bad network."""


def _is_personal(variable: str) -> bool:
    name = variable.upper()
    return name.startswith(OURS) or name.endswith(CREDENTIALS) or name in READ_BY_LIBRARIES


def _enter_empty_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    for variable in [name for name in os.environ if _is_personal(name)]:
        patch.delenv(variable)
    patch.setenv("HOME", str(home))
    for variable in ("CONFIG", "DATA", "STATE", "CACHE"):
        patch.setenv(f"XDG_{variable}_HOME", str(home / f"xdg-{variable.lower()}"))
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    patch.setenv("XDG_RUNTIME_DIR", str(runtime))
    # The keychain of whoever runs the tests is theirs; a test that wants one starts its own.
    patch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


def pytest_configure(config: pytest.Config) -> None:
    worker: MutableMapping[str, Any] = getattr(config, "workerinput", {})
    config.stash[OUTSIDE] = Outside.read(worker.get("fermix_outside", os.environ))
    home = Path(tempfile.mkdtemp(prefix="fermix-"))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    config.add_cleanup(patch.undo)
    _enter_empty_home(patch, home)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["fermix_outside"] = node.config.stash[OUTSIDE].as_environ()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(
        f"what was drawn at random began from FERMIX_TEST_SEED={config.stash[OUTSIDE].seed}"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    things = [thing for mark in item.iter_markers("needs") for thing in mark.args]
    require(things, item.config.stash[OUTSIDE])


def _is_this_machine(family: int, address: object) -> bool:
    if family not in {socket.AF_INET, socket.AF_INET6}:
        return True
    host = address[0] if isinstance(address, tuple) and address else address
    if host == "localhost":
        return True
    try:
        ip = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


def _is_a_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host not in {"", "localhost"}
    return False


@pytest.fixture(scope="session", autouse=True)
def only_this_machine() -> Iterator[None]:
    """Connections lead to loopback addresses and Unix sockets, and no name is looked up outside."""
    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(sock: socket.socket, address: object) -> None:
        if not _is_this_machine(sock.family, address):
            raise NetworkReached(f"a test tried to connect to {address!r}")

    def guarded_connect(sock: socket.socket, address: Any) -> None:
        check(sock, address)
        connect(sock, address)

    def guarded_connect_ex(sock: socket.socket, address: Any) -> int:
        check(sock, address)
        return connect_ex(sock, address)

    def guarded_resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode("ascii") if isinstance(host, bytes) else host or ""
        if name.lower().endswith(NEVER_RESOLVES):
            raise socket.gaierror(socket.EAI_NONAME, f"{name} is a name that never resolves")
        if _is_a_name(name):
            raise NetworkReached(f"a test tried to look up {name!r}")
        return resolve(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_resolve)
        yield


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Domain and application code must pass on both; folders of adapters narrow this to asyncio."""
    backend: str = request.param
    return backend


@pytest.fixture(scope="session")
def local_model_file(request: pytest.FixtureRequest) -> Path:
    """A small model in GGUF form; a test that asks for it also carries `needs("local-model")`."""
    outside = request.config.stash[OUTSIDE]
    require(["local-model"], outside)
    found = outside.model_file()
    assert found is not None
    return found


@pytest.fixture
def keychain() -> Iterator[SystemKeychain]:
    """A keychain of the system of its own; a test that asks for it also carries `needs(*NEEDS)` of its module."""
    folder = Path(tempfile.mkdtemp(prefix="fermix-keys-"))  # addresses of sockets are short
    with system_keychain(folder) as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture
def as_nobody() -> Iterator[Unprivileged]:
    """Runs subprocesses that permission checks hold for, root or not; its home can be entered by them."""
    home = Path(tempfile.mkdtemp(prefix="fermix-nobody-"))
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    yield Unprivileged(home=home)
    shutil.rmtree(home)
