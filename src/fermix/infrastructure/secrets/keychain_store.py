"""Secrets in the system's keychain: Secret Service, KWallet, or the keychain of macOS."""

from collections.abc import Callable, Iterable
from functools import partial

from anyio import to_thread

from fermix.application.ports.secrets import Secret, SecretName, SecretsUnavailable
from fermix.infrastructure.secrets.keychain import Keychain


class KeychainSecretStore:
    """The `SecretStore` port over entries of a keychain. A call may take as long as the keychain's limits say."""

    def __init__(
        self, keychain: Keychain, *, service: Callable[[SecretName], str], known: Iterable[SecretName]
    ) -> None:
        """Ask nothing yet.

        Args:
            keychain: where the entries are.
            service: the service name of a secret's entry.
            known: the names that `names` looks for: a keychain does not tell what it holds.
        """
        self._keychain = keychain
        self._service = service
        self._known = tuple(sorted(set(known)))

    async def get(self, name: SecretName) -> Secret | None:
        """See `SecretStore.get`."""
        return (await self.get_all((name,)))[0]

    async def get_all(self, names: Iterable[SecretName]) -> tuple[Secret | None, ...]:
        """Several secrets in one request, in the order of their names.

        Raises:
            SecretsUnavailable: one entry is something that cannot be a secret.
        """
        services = [self._service(name) for name in names]
        # Reading can be left alone in its thread: the limit ends it, and nothing waits for its answer.
        texts = await to_thread.run_sync(self._keychain.read, services, abandon_on_cancel=True)
        return tuple(None if text is None else _secret(text) for text in texts)

    async def set(self, name: SecretName, secret: Secret) -> None:
        """See `SecretStore.set`."""
        await to_thread.run_sync(self._keychain.write, self._service(name), secret)

    async def delete(self, name: SecretName) -> bool:
        """See `SecretStore.delete`."""
        return await to_thread.run_sync(partial(self._keychain.delete, self._service(name)))

    async def names(self) -> tuple[SecretName, ...]:
        """See `SecretStore.names`: those of the known ones that are there."""
        secrets = await self.get_all(self._known)
        return tuple(name for name, secret in zip(self._known, secrets, strict=True) if secret is not None)


def _secret(text: str) -> Secret:
    problem: str
    try:
        return Secret(text)
    except ValueError as exc:
        problem = str(exc)
    raise SecretsUnavailable(f"an entry of the keychain is unusable: {problem}")
