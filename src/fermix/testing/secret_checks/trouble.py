"""Checks of a secret store in trouble: which trouble it is, what is left untouched, and what never shows."""

from fermix.application.ports.secrets import (
    Secret,
    SecretsLocked,
    SecretsRefused,
    SecretStore,
    SecretStoreError,
    SecretsUnavailable,
)
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import must_equal, must_refuse
from fermix.testing.secret_checks.check import KEY, OTHER, TOKEN, VALUE, SecretCheck, proves, revealed
from fermix.testing.secret_harness import SecretStoreHarness, SecretTrouble


async def _says_so(
    harness: SecretStoreHarness, trouble: SecretTrouble, error: type[SecretStoreError]
) -> None:
    await harness.given({KEY: VALUE})
    store = harness.open()
    with harness.trouble(trouble):
        with must_refuse(error, "looking"):
            await store.get(KEY)
        with must_refuse(error, "listing"):
            await store.names()
        with must_refuse(error, "setting"):
            await store.set(TOKEN, OTHER)
        with must_refuse(error, "deleting"):
            await store.delete(KEY)
    must_equal(revealed(await store.get(KEY)), VALUE.reveal(), "the secret afterwards")


@proves()
async def a_locked_store_says_so(harness: SecretStoreHarness) -> None:
    """A store that its owner has to unlock says that, and works again once unlocked."""
    await _says_so(harness, SecretTrouble.LOCKED, SecretsLocked)


@proves()
async def a_store_out_of_reach_says_so(harness: SecretStoreHarness) -> None:
    """A store that cannot look says that it is out of reach, never that there is no secret."""
    await _says_so(harness, SecretTrouble.UNAVAILABLE, SecretsUnavailable)


@proves()
async def what_is_refused_changes_nothing(harness: SecretStoreHarness) -> None:
    """A store that will not take a secret says so and keeps what it held."""
    await harness.given({KEY: VALUE})
    store = harness.open()
    with harness.trouble(SecretTrouble.FULL), must_refuse(SecretsRefused, "setting"):
        await store.set(KEY, Secret("a longer secret " * 100))
    must_equal(revealed(await store.get(KEY)), VALUE.reveal(), "the secret afterwards")


async def _errors(store: SecretStore) -> list[SecretStoreError]:
    found: list[SecretStoreError] = []
    for number in range(3):
        try:
            if number == 0:
                await store.set(KEY, Secret(OTHER.reveal() * 100))
            elif number == 1:
                await store.get(KEY)
            else:
                await store.delete(KEY)
        except SecretStoreError as exc:
            found.append(exc)
    return found


@proves()
async def no_secret_shows(harness: SecretStoreHarness) -> None:
    """Neither a store, nor a secret, nor an error in any trouble shows what is secret."""
    await harness.given({KEY: VALUE, TOKEN: OTHER})
    store = harness.open()
    found = await store.get(KEY)
    texts = [repr(store), str(store), repr(found), f"{found}"]
    for trouble in SecretTrouble:
        try:
            with harness.trouble(trouble):
                for error in await _errors(store):
                    texts += texts_of(error)
        except CannotArrange:
            continue
    shown = [secret.reveal() in text for secret in (VALUE, OTHER) for text in texts]
    must_equal(any(shown), False, "whether a secret shows")


CHECKS: tuple[SecretCheck, ...] = (
    a_locked_store_says_so,
    a_store_out_of_reach_says_so,
    what_is_refused_changes_nothing,
    no_secret_shows,
)
