"""The secret stores that are put to the test, each as a place where secrets lie."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fermix.application.ports.secrets import Secret, SecretName, SecretStore
from fermix.infrastructure.secrets.environment_store import EnvironmentSecretStore
from fermix.infrastructure.secrets.file_store import FileSecretStore
from fermix.infrastructure.secrets.private_file import PrivateFile, Secrets
from fermix.testing.memory_secrets import MemorySecretStore, SecretPlace
from fermix.testing.secret_conformance import CannotArrange, Gap, SecretTrouble

_READ_ONLY = "an environment can only be read"

ENVIRONMENT_GAPS = (
    *(
        Gap(check=check, reason=_READ_ONLY)
        for check in (
            "what_one_sets_everybody_finds",
            "a_secret_set_again_is_replaced",
            "what_is_deleted_is_gone",
            "writers_at_once_lose_nothing",
        )
    ),
    Gap(check="a_locked_store_says_so", reason="an environment is never locked"),
    Gap(check="a_store_out_of_reach_says_so", reason="an environment is always there"),
)
FILE_GAPS = (Gap(check="a_locked_store_says_so", reason="a file has no lock that its owner could open"),)


class MemoryPlace:
    """A `SecretStoreHarness` in memory."""

    def __init__(self) -> None:
        self.place = SecretPlace()

    def open(self) -> SecretStore:
        return MemorySecretStore(self.place)

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        self.place.secrets.update(secrets)

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        with self.place.trouble(trouble):
            yield


class FilePlace:
    """A `SecretStoreHarness` over a folder."""

    MAX_BYTES = 64 * 1024

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> SecretStore:
        return FileSecretStore(self._folder, max_bytes=self.MAX_BYTES)

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        store = self.open()
        for name, secret in secrets.items():
            await store.set(name, secret)

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        match trouble:
            case SecretTrouble.LOCKED:
                raise CannotArrange("a file has no lock that its owner could open")
            case SecretTrouble.UNAVAILABLE:
                with self._half_gone():
                    yield
            case SecretTrouble.FULL:
                with self._nearly_full():
                    yield

    @contextmanager
    def _half_gone(self) -> Generator[None]:
        file = self._folder / "secrets.json"
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) - 4])
        try:
            yield
        finally:
            file.write_bytes(whole)

    @contextmanager
    def _nearly_full(self) -> Generator[None]:
        names = [SecretName(f"filler.number-{number}") for number in range(4)]
        left = self.MAX_BYTES - (self._folder / "secrets.json").stat().st_size

        def fill(secrets: Secrets) -> bool:
            secrets.update({name: Secret("x" * (left // 4 - 100)) for name in names})
            return True

        def empty(secrets: Secrets) -> bool:
            for name in names:
                del secrets[name]
            return True

        file = PrivateFile(self._folder, max_bytes=self.MAX_BYTES)
        file.try_change(fill)
        try:
            yield
        finally:
            file.try_change(empty)


class EnvironmentPlace:
    """A `SecretStoreHarness` over an environment, which is as full as can be from the start."""

    def __init__(self) -> None:
        self._environ: dict[str, str] = {}
        self._variables: dict[SecretName, str] = {}

    def open(self) -> SecretStore:
        return EnvironmentSecretStore(self._environ, variables=self._variables)

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        for name, secret in secrets.items():
            variable = self._variables.setdefault(name, f"SECRET_{len(self._variables)}")
            self._environ[variable] = secret.reveal()

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        if trouble is not SecretTrouble.FULL:
            raise CannotArrange("an environment is always there, and never locked")
        yield
