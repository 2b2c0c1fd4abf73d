"""Where keys and tokens are kept: names that are checked, values that do not show, errors by remedy."""

import re
from dataclasses import dataclass, field
from typing import Protocol

MAX_NAME = 120
"""Characters of a name."""

MAX_SECRET_BYTES = 16 * 1024
"""Bytes of a secret in UTF-8; service accounts as JSON take some 2,500."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)*")


@dataclass(frozen=True, slots=True, order=True)
class SecretName:
    """What a secret is called, e.g. `providers.openai.api_key`.

    Words of ASCII letters, digits, `_` and `-`, joined by dots; at most `MAX_NAME` characters. Case counts.

    Raises:
        ValueError: the text is no such name.
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > MAX_NAME or not _NAME.fullmatch(self.text):
            raise ValueError("no name for a secret: words of letters, digits, _ and -, joined by dots")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret text. It shows in no `repr` and no format; `reveal` is for the line that sends it.

    Raises:
        ValueError: blank, longer than `MAX_SECRET_BYTES`, or not a text that every store can hold. The error
            does not repeat it.
    """

    _text: str = field(repr=False)

    def __post_init__(self) -> None:
        problem = _problem(self._text)
        if problem is not None:
            raise ValueError(problem)

    def reveal(self) -> str:
        """The text itself."""
        return self._text


def _problem(text: str) -> str | None:
    if not text or text.isspace():
        return "a secret must not be blank"
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return "a secret must be a text without NUL"
    if len(text.encode()) > MAX_SECRET_BYTES:
        return f"a secret must not be longer than {MAX_SECRET_BYTES} bytes"
    return None


class SecretStore(Protocol):
    """One place where secrets lie. Several processes may use it at once; each call is whole or not done.

    Every method may raise `SecretsLocked` and `SecretsUnavailable`, and nothing else but what it says. No error
    holds a value, nor does anything that an error stands on.
    """

    async def get(self, name: SecretName) -> Secret | None:
        """The secret, `None` when there is none of that name (never for a store that could not look)."""
        ...

    async def set(self, name: SecretName, secret: Secret) -> None:
        """Keep a secret, in place of an older one of that name.

        Raises:
            SecretsRefused: this store will not take it; what it held is unchanged.
        """
        ...

    async def delete(self, name: SecretName) -> bool:
        """Forget a secret; whether there was one.

        Raises:
            SecretsRefused: this store cannot forget.
        """
        ...

    async def names(self) -> tuple[SecretName, ...]:
        """The names of all secrets, in order."""
        ...


class SecretStoreError(Exception):
    """Base of all errors of secret stores; the text is a sentence for the owner and holds no value."""


class SecretsLocked(SecretStoreError):
    """The store is there and its owner has to unlock it."""


class SecretsUnavailable(SecretStoreError):
    """The store cannot be used now: gone, damaged, full disk, no rights, in use for too long."""


class SecretsRefused(SecretStoreError):
    """The store works and will not do this, however often it is asked."""
