"""Secrets that the file only points at: what stands in their place, and who is asked for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pydantic import SecretStr

from fermix.infrastructure.settings.problems import KeyPath, dotted

KEYCHAIN = "@keyring"
PRIVATE_FILE = "@file"

PLACES: Mapping[str, str] = {KEYCHAIN: "the system's keychain", PRIVATE_FILE: "the private file of secrets"}
"""What may stand in the file in place of a secret, and where that says it is kept."""

DEFAULT_PROFILE = "general"


@dataclass(frozen=True, slots=True)
class Unread:
    """A secret that could not be read; `why` is a sentence without its full stop, with the remedy."""

    why: str


Found: TypeAlias = str | Unread
"""A secret's text, or why there is none."""


class StoredValues(Protocol):
    """Whoever reads the stores."""

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:
        """Read secrets; blocks, within a limit, and raises nothing. A key that is left out was not looked for.

        Args:
            wanted: the keys, each with what stands in its place; never empty.
            profile: `fermix_core.profile` of the same file.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """One key whose secret is kept elsewhere.

    Attributes:
        key: its path, under its own name.
        sentinel: what stands in its place, one of `PLACES`.
        value: the secret; `None`: it counts as unset.
        why: why it could not be read; `None` where it was read or not looked for.
        variable: the environment variable that wins over it, so that it is not looked for.
    """

    key: KeyPath
    sentinel: str
    value: SecretStr | None = field(default=None, repr=False)
    why: str | None = None
    variable: str | None = None

    @property
    def is_unset(self) -> bool:
        """Whether nothing gives the key a value."""
        return self.value is None and self.variable is None

    @property
    def place(self) -> str:
        """Where it is kept, in words."""
        return PLACES[self.sentinel]

    @property
    def state(self) -> str:
        """What a person should know of one that is unset, without a full stop."""
        reason = "it was not read" if self.why is None else self.why
        return f"{dotted(self.key)} is kept in {self.place}: {reason}"


class AskNobody:
    """Leaves every stored secret unread."""

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:  # noqa: ARG002
        """See `StoredValues.values`."""
        return {}


@dataclass(frozen=True, slots=True)
class AsBefore:
    """Answers what an earlier loading found, so that an edit of the file waits for no keychain."""

    stored: tuple[StoredSecret, ...]

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:  # noqa: ARG002
        """See `StoredValues.values`."""
        before = {(each.key, each.sentinel): each for each in self.stored}
        found: dict[KeyPath, Found] = {}
        for key, sentinel in wanted.items():
            each = before.get((key, sentinel))
            if each is None or (each.value is None and each.why is None):
                continue
            found[key] = Unread(each.why or "") if each.value is None else each.value.get_secret_value()
        return found


def sentinel_in(value: object) -> str | None:
    """Which of `PLACES` a value of the file is."""
    text = value.strip() if isinstance(value, str) else ""
    return text if text in PLACES else None


def without_sentinels(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    """A table without the values that only say where a secret is kept, and those keys with what stood there."""
    kept: dict[str, Any] = {}
    stored: dict[KeyPath, str] = {}
    for key, value in table.items():
        sentinel = sentinel_in(value)
        if sentinel is not None:
            stored[key,] = sentinel
        elif isinstance(value, Mapping):
            kept[key], inner = without_sentinels(value)
            stored.update({(key, *path): each for path, each in inner.items()})
        else:
            kept[key] = value
    return kept, stored


def look_up(
    wanted: Mapping[KeyPath, str],
    stores: StoredValues,
    *,
    profile: object,
    variables: Mapping[KeyPath, str],
) -> tuple[StoredSecret, ...]:
    """Ask for what the environment does not say anyway.

    Args:
        wanted: the keys, each with what stands in its place.
        stores: who is asked, at most once.
        profile: as the file has it, unchecked.
        variables: the variable that set a key, where one did.
    """
    asked = {key: sentinel for key, sentinel in wanted.items() if key not in variables}
    named = profile.strip() if isinstance(profile, str) else ""
    found = stores.values(asked, profile=named or DEFAULT_PROFILE) if asked else {}

    def secret(key: KeyPath, sentinel: str) -> StoredSecret:
        match found.get(key):
            case str(text):
                return StoredSecret(key=key, sentinel=sentinel, value=SecretStr(text))
            case Unread(why):
                return StoredSecret(key=key, sentinel=sentinel, why=why)
            case None:
                return StoredSecret(key=key, sentinel=sentinel, variable=variables.get(key))

    return tuple(secret(key, sentinel) for key, sentinel in wanted.items())


def put_in(table: dict[str, Any], secrets: tuple[StoredSecret, ...]) -> None:
    """Give the keys that were read their secrets; `table` is one that `without_sentinels` made."""
    for each in secrets:
        if each.value is None:
            continue
        inner = table
        for name in each.key[:-1]:
            inner = inner[str(name)]
        inner[str(each.key[-1])] = each.value.get_secret_value()
