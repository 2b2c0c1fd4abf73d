"""Secrets in one private file: for machines without a keychain."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import anyio
from anyio import to_thread

from fermix.application.ports.secrets import Secret, SecretName
from fermix.infrastructure.secrets.private_file import PrivateFile, Secrets, in_use

MAX_FILE_BYTES = 1024 * 1024
PATIENCE = timedelta(seconds=5)
_LOOK_EVERY_SECONDS = 0.02


class FileSecretStore:
    """The `SecretStore` port over `secrets.json` in a folder of its own.

    Processes and tasks may change it at the same time: a lock beside the file lets one at a time. Reading waits
    for nobody, since the file is only ever replaced whole.
    """

    def __init__(
        self, folder: Path, *, patience: timedelta = PATIENCE, max_bytes: int = MAX_FILE_BYTES
    ) -> None:
        """Nothing is opened or made before the first call.

        Args:
            folder: made when the first secret is set.
            patience: how long to wait for another process that changes the file.
            max_bytes: of the file.
        """
        self._folder = folder
        self._file = PrivateFile(folder, max_bytes=max_bytes)
        self._patience = patience

    async def get(self, name: SecretName) -> Secret | None:
        """See `SecretStore.get`."""
        return (await to_thread.run_sync(self._file.read)).get(name)

    async def set(self, name: SecretName, secret: Secret) -> None:
        """See `SecretStore.set`."""

        def put(secrets: Secrets) -> bool:
            changed = secrets.get(name) != secret
            secrets[name] = secret
            return changed

        await self._change(put)

    async def delete(self, name: SecretName) -> bool:
        """See `SecretStore.delete`."""
        return await self._change(lambda secrets: secrets.pop(name, None) is not None)

    async def names(self) -> tuple[SecretName, ...]:
        """See `SecretStore.names`."""
        return tuple(sorted(await to_thread.run_sync(self._file.read)))

    async def _change(self, change: Callable[[Secrets], bool]) -> bool:
        with anyio.move_on_after(self._patience.total_seconds()):
            while True:
                changed = await to_thread.run_sync(self._file.try_change, change)
                if changed is not None:
                    return changed
                await anyio.sleep(_LOOK_EVERY_SECONDS)
        raise in_use(self._folder)
