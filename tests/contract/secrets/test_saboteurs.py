"""Each check notices the fault it is there for, and no other check takes offence at it."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import override

from fermix.application.ports.secrets import (
    Secret,
    SecretName,
    SecretsLocked,
    SecretsRefused,
    SecretStore,
    SecretStoreError,
    SecretsUnavailable,
)
from fermix.testing.memory_secrets import MemorySecretStore
from fermix.testing.secret_conformance import SECRET_CHECKS, PromiseBroken, SecretTrouble
from tests.contract.secrets.places import MemoryPlace

pytestmark = pytest.mark.anyio


@dataclass
class Faulty:
    """A store that does as the one in memory does; each saboteur changes one thing."""

    place: MemoryPlace
    inside: SecretStore = field(init=False)

    def __post_init__(self) -> None:
        self.inside = MemorySecretStore(self.place.place)

    async def get(self, name: SecretName) -> Secret | None:
        return await self.inside.get(name)

    async def set(self, name: SecretName, secret: Secret) -> None:
        await self.inside.set(name, secret)

    async def delete(self, name: SecretName) -> bool:
        return await self.inside.delete(name)

    async def names(self) -> tuple[SecretName, ...]:
        return await self.inside.names()


class KnowsItsOwnAlone(Faulty):
    known: set[SecretName]

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.known = vars(self.place).setdefault("known", set())

    @override
    async def get(self, name: SecretName) -> Secret | None:
        found = await self.inside.get(name)
        return (
            found if name != SecretName("fermix_channels.telegram.bot_token") or name in self.known else None
        )

    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        await self.inside.set(name, secret)
        self.known.add(name)


class InventsOne(Faulty):
    @override
    async def get(self, name: SecretName) -> Secret | None:
        return await self.inside.get(name) or Secret("changeme")


class TellsNamesInDisorder(Faulty):
    @override
    async def names(self) -> tuple[SecretName, ...]:
        return (await self.inside.names())[::-1]


class IgnoresCase(Faulty):
    @override
    async def get(self, name: SecretName) -> Secret | None:
        return await self.inside.get(SecretName(name.text.lower()))


class Trims(Faulty):
    @override
    async def get(self, name: SecretName) -> Secret | None:
        found = await self.inside.get(name)
        return None if found is None else Secret(found.reveal().strip())


class RemembersForItself(Faulty):
    own: dict[SecretName, Secret]

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.own = {}

    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        shared = self.place.place.secrets
        before = dict(shared)
        await self.inside.set(name, secret)
        if not name.text.startswith("writers."):
            self.own[name] = secret
            shared.clear()
            shared.update(before)

    @override
    async def get(self, name: SecretName) -> Secret | None:
        found = await self.inside.get(name)
        return self.own.get(name, found)

    @override
    async def delete(self, name: SecretName) -> bool:
        await self.inside.get(name)
        return self.own.pop(name, None) is not None

    @override
    async def names(self) -> tuple[SecretName, ...]:
        return tuple(sorted({*await self.inside.names(), *self.own}))


class KeepsTheFirst(Faulty):
    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        if await self.inside.get(name) is None or len(secret.reveal()) > 100:
            await self.inside.set(name, secret)


class SaysItDeleted(Faulty):
    @override
    async def delete(self, name: SecretName) -> bool:
        await self.inside.delete(name)
        return True


class WritesBackWhatItRead(Faulty):
    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        read = dict(self.place.place.secrets)
        await anyio.lowlevel.checkpoint()
        await self.inside.set(name, secret)
        await anyio.lowlevel.checkpoint()
        self.place.place.secrets.clear()
        self.place.place.secrets.update({**read, name: secret})


class TakesLockedForGone(Faulty):
    @override
    async def get(self, name: SecretName) -> Secret | None:
        try:
            return await self.inside.get(name)
        except SecretsLocked as exc:
            raise SecretsUnavailable("it did not open") from exc


class TakesGoneForEmpty(Faulty):
    @override
    async def get(self, name: SecretName) -> Secret | None:
        try:
            return await self.inside.get(name)
        except SecretsUnavailable:
            return None


class EmptiesWhatItCannotFill(Faulty):
    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        try:
            await self.inside.set(name, secret)
        except SecretsRefused:
            del self.place.place.secrets[name]
            raise


class TellsWhatItWasGiven(Faulty):
    @override
    async def set(self, name: SecretName, secret: Secret) -> None:
        try:
            await self.inside.set(name, secret)
        except SecretStoreError as exc:
            raise type(exc)(f"cannot set {name.text} to {secret.reveal()}") from None


class ShowsItself(Faulty):
    @override
    def __repr__(self) -> str:
        return f"store of {[secret.reveal() for secret in self.place.place.secrets.values()]}"


class Sabotaged:
    """A place in memory whose stores have a fault."""

    def __init__(self, make: Callable[[MemoryPlace], SecretStore]) -> None:
        self._place = MemoryPlace()
        self._make = make

    def open(self) -> SecretStore:
        return self._make(self._place)

    async def given(self, secrets: Mapping[SecretName, Secret]) -> None:
        await self._place.given(secrets)

    @contextmanager
    def trouble(self, trouble: SecretTrouble) -> Generator[None]:
        with self._place.trouble(trouble):
            yield


SABOTEURS: tuple[tuple[str, type[Faulty]], ...] = (
    ("what_the_owner_gave_is_found", KnowsItsOwnAlone),
    ("an_unknown_name_is_nothing", InventsOne),
    ("all_names_are_told_in_order", TellsNamesInDisorder),
    ("names_alike_are_kept_apart", IgnoresCase),
    ("a_secret_is_kept_to_the_letter", Trims),
    ("what_one_sets_everybody_finds", RemembersForItself),
    ("a_secret_set_again_is_replaced", KeepsTheFirst),
    ("what_is_deleted_is_gone", SaysItDeleted),
    ("writers_at_once_lose_nothing", WritesBackWhatItRead),
    ("a_locked_store_says_so", TakesLockedForGone),
    ("a_store_out_of_reach_says_so", TakesGoneForEmpty),
    ("what_is_refused_changes_nothing", EmptiesWhatItCannotFill),
    ("no_secret_shows", TellsWhatItWasGiven),
    ("no_secret_shows", ShowsItself),
)


async def checks_that_fail(saboteur: type[Faulty]) -> set[str]:
    failed: set[str] = set()
    for check in SECRET_CHECKS:
        try:
            await check.run(Sabotaged(saboteur))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(("check", "saboteur"), SABOTEURS, ids=[each.__name__ for _, each in SABOTEURS])
async def test_a_planted_fault_breaks_its_check_alone(check: str, saboteur: type[Faulty]) -> None:
    with anyio.fail_after(5):
        assert await checks_that_fail(saboteur) == {check}


def test_every_check_has_a_saboteur() -> None:
    assert {check for check, _ in SABOTEURS} == {check.id for check in SECRET_CHECKS}
