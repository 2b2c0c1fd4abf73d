"""Secrets in memory, which can be locked, out of reach or full: for tests of what asks for them."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio.lowlevel

from fermix.application.ports.secrets import (
    Secret,
    SecretName,
    SecretsLocked,
    SecretsRefused,
    SecretsUnavailable,
)
from fermix.testing.secret_harness import SecretTrouble


class SecretPlace:
    """What several stores in memory share, as processes share a keychain.

    Attributes:
        secrets: what lies there.
    """

    def __init__(self) -> None:
        self.secrets: dict[SecretName, Secret] = {}
        self._trouble: SecretTrouble | None = None

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        """Inside, the place is in trouble."""
        before, self._trouble = self._trouble, trouble
        try:
            yield
        finally:
            self._trouble = before

    async def enter(self, *, to_write: bool = False) -> dict[SecretName, Secret]:
        """The secrets, for one call of a store.

        Raises:
            SecretStoreError: the trouble the place is in.
        """
        await anyio.lowlevel.checkpoint()
        match self._trouble:
            case SecretTrouble.LOCKED:
                raise SecretsLocked("the secrets are locked; unlock them")
            case SecretTrouble.UNAVAILABLE:
                raise SecretsUnavailable("the secrets are out of reach")
            case SecretTrouble.FULL if to_write:
                raise SecretsRefused("there is no room for another secret")
            case _:
                return self.secrets


class MemorySecretStore:
    """The `SecretStore` port in memory."""

    def __init__(self, place: SecretPlace | None = None) -> None:
        self._place = place if place is not None else SecretPlace()

    async def get(self, name: SecretName) -> Secret | None:
        """See `SecretStore.get`."""
        return (await self._place.enter()).get(name)

    async def set(self, name: SecretName, secret: Secret) -> None:
        """See `SecretStore.set`."""
        (await self._place.enter(to_write=True))[name] = secret

    async def delete(self, name: SecretName) -> bool:
        """See `SecretStore.delete`."""
        return (await self._place.enter()).pop(name, None) is not None

    async def names(self) -> tuple[SecretName, ...]:
        """See `SecretStore.names`."""
        return tuple(sorted(await self._place.enter()))
