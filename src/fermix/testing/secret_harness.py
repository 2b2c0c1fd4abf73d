"""What the suite of secret stores needs to know of an adapter: how to open it and bring it into trouble."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from fermix.application.ports.secrets import Secret, SecretName, SecretStore


class SecretTrouble(StrEnum):
    """What can be wrong with the place where secrets lie."""

    LOCKED = "locked"
    """Its owner has to unlock it."""

    UNAVAILABLE = "unavailable"
    """Nothing can be read or written there."""

    FULL = "full"
    """Nothing more can be set; what is there can be read."""


class SecretStoreHarness(Protocol):
    """One place, at first without secrets."""

    def open(self) -> SecretStore:
        """A store over the place; each call makes another, as another process would."""
        ...

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        """The owner puts secrets there, by whatever means the place has."""
        ...

    def trouble(self, trouble: SecretTrouble) -> AbstractContextManager[None]:
        """Inside, the place is in trouble.

        Raises:
            CannotArrange: it cannot come into this one.
        """
        ...
