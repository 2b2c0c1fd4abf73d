"""The system's keychain passes the suite of secret stores, and says what is wrong when it cannot be used."""

import os
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.secrets import (
    Secret,
    SecretName,
    SecretsLocked,
    SecretStore,
    SecretStoreError,
    SecretsUnavailable,
)
from fermix.infrastructure.secrets.keychain import Keychain, keychain_environment
from fermix.infrastructure.secrets.keychain_store import KeychainSecretStore
from fermix.infrastructure.system.child_python import Launch
from fermix.testing.error_texts import texts_of
from fermix.testing.secret_checks.check import KEY, TOKEN
from fermix.testing.secret_conformance import (
    SECRET_CHECKS,
    CannotArrange,
    Gap,
    SecretCheck,
    SecretTrouble,
    run_check,
)
from tests.system_keychain import NEEDS, SystemKeychain

ACCOUNT = "fermix"
VALUE = "sk-planted-in-the-keychain"
GAPS = (Gap(check="what_is_refused_changes_nothing", reason="a keychain has no size that a test could fill"),)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class KeychainPlace:
    """A `SecretStoreHarness` over the keychain of one D-Bus."""

    def __init__(self, system: SystemKeychain) -> None:
        self._system = system
        self._limit = timedelta(seconds=10)

    def open(self) -> SecretStore:
        return KeychainSecretStore(
            Keychain(self._system.environ, account=ACCOUNT, read_limit=self._limit, write_limit=self._limit),
            service=lambda name: f"fermix:{name.text}",
            known=(KEY, TOKEN),
        )

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        for name, secret in secrets.items():
            await self.open().set(name, secret)

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        match trouble:
            case SecretTrouble.LOCKED:
                self._system.lock()
                yield
                self._system.unlock()
            case SecretTrouble.UNAVAILABLE:
                self._system.end()
                yield
                self._system.unlock()
            case SecretTrouble.FULL:
                raise CannotArrange("a keychain has no size that a test could fill")


@pytest.mark.anyio
@pytest.mark.needs(*NEEDS)
@pytest.mark.parametrize("check", SECRET_CHECKS, ids=lambda check: check.id)
async def test_the_keychain_keeps_its_promise(check: SecretCheck, keychain: SystemKeychain) -> None:
    with anyio.fail_after(60):
        await run_check(check, KeychainPlace(keychain), gaps=GAPS)


@pytest.mark.needs(*NEEDS)
def test_one_process_reads_all_names(keychain: SystemKeychain, tmp_path: Path) -> None:
    started = tmp_path / "started"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho . >> {started}\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    launch = Launch(python=str(python), environment=keychain_environment(keychain.environ))
    ours = Keychain(keychain.environ, account=ACCOUNT, launch=launch)
    ours.write("fermix:A", Secret(VALUE))
    assert ours.read(["fermix:A", "fermix:B", "fermix:A"]) == [VALUE, None, VALUE]
    assert started.read_text() == ".\n" * 2


@pytest.mark.needs(*NEEDS)
def test_a_keychain_that_hangs_is_not_waited_for(keychain: SystemKeychain) -> None:
    ours = Keychain(keychain.environ, account=ACCOUNT)
    ours.write("fermix:A", Secret(VALUE))
    hasty = Keychain(keychain.environ, account=ACCOUNT, read_limit=timedelta(seconds=1))
    with keychain.hanging(), pytest.raises(SecretsUnavailable, match="did not answer within 1 seconds"):
        hasty.read(["fermix:A"])
    assert ours.read(["fermix:A"]) == [VALUE]


@pytest.mark.needs(*NEEDS)
def test_a_locked_keychain_is_not_asked_to_open(keychain: SystemKeychain) -> None:
    ours = Keychain(keychain.environ, account=ACCOUNT)
    ours.write("fermix:A", Secret(VALUE))
    keychain.lock()
    with pytest.raises(SecretsLocked, match="unlock it"):
        ours.read(["fermix:A"])
    with pytest.raises(SecretsLocked, match="unlock it"):
        ours.write("fermix:A", Secret("another"))


@pytest.mark.needs(*NEEDS)
@pytest.mark.parametrize(
    "named",
    [
        "keyring.backends.fail.Keyring",
        "keyring.backends.null.Keyring",
        "keyring.backends.chainer.ChainerBackend",
        "keyrings.alt.file.PlaintextKeyring",
        "keyrings.cryptfile.cryptfile.CryptFileKeyring",
        "os.system",
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_what_is_no_keychain_of_the_system_is_never_used(
    named: str, in_file: bool, keychain: SystemKeychain
) -> None:
    environ = dict(keychain.environ)
    if in_file:
        environ["XDG_CONFIG_HOME"] = str(Path(environ["HOME"]) / "conf")
        configured = Path(environ["XDG_CONFIG_HOME"]) / "python_keyring" / "keyringrc.cfg"
        configured.parent.mkdir(parents=True)
        configured.write_text(f"[backend]\ndefault-keyring = {named}\n")
    else:
        environ["PYTHON_KEYRING_BACKEND"] = named
    ours = Keychain(environ, account=ACCOUNT)
    with pytest.raises(SecretsUnavailable, match="no keychain of the system"):
        ours.write("fermix:A", Secret(VALUE))


@pytest.mark.needs(*NEEDS)
def test_the_keychain_that_its_owner_named_is_used(keychain: SystemKeychain) -> None:
    name = "keyring.backends.SecretService.Keyring"
    ours = Keychain({**keychain.environ, "PYTHON_KEYRING_BACKEND": name}, account=ACCOUNT)
    ours.write("fermix:A", Secret(VALUE))
    assert ours.read(["fermix:A"]) == [VALUE]


def test_without_a_bus_there_is_no_keychain(tmp_path: Path) -> None:
    with pytest.raises(SecretsUnavailable, match="no keychain of the system can be reached"):
        Keychain({"HOME": str(tmp_path)}, account=ACCOUNT).read(["fermix:A"])


ANSWERS = {
    "nothing": ":",
    "no document": "echo sk-planted-in-the-keychain",
    "half a document": """echo '{"found": ["sk-planted-in-the-keychain"'""",
    "another shape": """echo '{"found": "sk-planted-in-the-keychain", "trouble": null}'""",
    "too few": """echo '{"found": [], "trouble": null}'""",
    "an unknown word": """echo '{"found": null, "trouble": "sk-planted-in-the-keychain"}'""",
    "noise on its errors": "echo sk-planted-in-the-keychain >&2",
}


def child(tmp_path: Path, script: str) -> Launch:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    return Launch(python=str(python), environment={"PATH": os.environ["PATH"]})


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_child_that_fails_is_a_failure_and_what_it_said_does_not_show(
    answer: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = Keychain({}, account=ACCOUNT, launch=child(tmp_path, ANSWERS[answer]))
    with pytest.raises(SecretsUnavailable, match="failed") as caught:
        ours.read(["fermix:A"])
    assert not [text for text in texts_of(caught.value) if VALUE in text]
    assert capfd.readouterr() == ("", "")


def test_a_child_that_never_ends_is_killed_at_the_limit(tmp_path: Path) -> None:
    launch = child(tmp_path, f"echo $$ > {tmp_path / 'pid'}\nexec sleep 600")
    ours = Keychain({}, account=ACCOUNT, launch=launch, read_limit=timedelta(seconds=1))
    with pytest.raises(SecretsUnavailable, match="did not answer within 1 seconds"):
        ours.read(["fermix:A"])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_python_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    launch = replace(child(tmp_path, ":"), python=str(tmp_path / "nothing"))
    with pytest.raises(SecretsUnavailable, match="cannot be asked"):
        Keychain({}, account=ACCOUNT, launch=launch).read(["fermix:A"])


def test_a_secret_goes_through_the_pipe_alone(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"""(echo "$@"; env) > {told}; cat > {told}.input; echo '{{"found": true, "trouble": null}}'"""
    Keychain({}, account=ACCOUNT, launch=child(tmp_path, script)).write("fermix:A", Secret(VALUE))
    assert VALUE not in told.read_text()
    assert VALUE in Path(f"{told}.input").read_text()


def test_the_child_gets_nothing_that_it_need_not_have(tmp_path: Path) -> None:
    given = {
        "OPENAI_API_KEY": VALUE,
        "HTTPS_PROXY": "http://proxy",
        "HOME": "/people/ada",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
    }
    assert keychain_environment(given) == {
        "HOME": "/people/ada",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus",
    }


@pytest.mark.needs(*NEEDS)
def test_a_service_without_a_bus_address_finds_the_usual_one(keychain: SystemKeychain) -> None:
    environ = {**keychain.environ}
    address = environ.pop("DBUS_SESSION_BUS_ADDRESS")
    assert stat.S_ISSOCK((Path(environ["XDG_RUNTIME_DIR"]) / "bus").stat().st_mode)
    assert keychain_environment(environ)["DBUS_SESSION_BUS_ADDRESS"] == address


def test_no_error_of_a_keychain_shows_a_secret(tmp_path: Path) -> None:
    ours = Keychain({"HOME": str(tmp_path)}, account=ACCOUNT)
    with pytest.raises(SecretStoreError) as caught:
        ours.write("fermix:A", Secret(VALUE))
    assert not [text for text in texts_of(caught.value) if VALUE in text]
