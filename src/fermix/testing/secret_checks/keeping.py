"""Checks of what a secret store keeps, under which names, and who finds it."""

import anyio

from fermix.application.ports.secrets import MAX_SECRET_BYTES, Secret, SecretName
from fermix.testing.expectations import must_equal
from fermix.testing.secret_checks.check import KEY, OTHER, TOKEN, VALUE, SecretCheck, proves, revealed
from fermix.testing.secret_harness import SecretStoreHarness

_WRITERS = 8


@proves()
async def what_the_owner_gave_is_found(harness: SecretStoreHarness) -> None:
    """A secret that lies there is found under its name, whoever put it there."""
    await harness.given({KEY: VALUE, TOKEN: OTHER})
    store = harness.open()
    found = (revealed(await store.get(KEY)), revealed(await store.get(TOKEN)))
    must_equal(found, (VALUE.reveal(), OTHER.reveal()), "both secrets")


@proves()
async def an_unknown_name_is_nothing(harness: SecretStoreHarness) -> None:
    """Of a name that nobody set there is no secret, and that is no error."""
    await harness.given({TOKEN: OTHER})
    must_equal(await harness.open().get(KEY), None, "what nobody set")


@proves()
async def all_names_are_told_in_order(harness: SecretStoreHarness) -> None:
    """Every name that has a secret is told once, in order, and no other."""
    await harness.given({KEY: VALUE, TOKEN: OTHER})
    must_equal(await harness.open().names(), (TOKEN, KEY), "the names")


@proves()
async def names_alike_are_kept_apart(harness: SecretStoreHarness) -> None:
    """Names that differ in a dot, a line, their case or their end are different names."""
    names = [SecretName(text) for text in ("a.b", "a_b", "a-b", "A.b", "a.b.c", "a")]
    secrets = {name: Secret(f"the secret of {name.text}") for name in names}
    await harness.given(secrets)
    store = harness.open()
    found = {name: revealed(await store.get(name)) for name in names}
    must_equal(found, {name: secret.reveal() for name, secret in secrets.items()}, "the secrets")


@proves()
async def a_secret_is_kept_to_the_letter(harness: SecretStoreHarness) -> None:
    """Spaces at both ends, lines, quotes and letters of all scripts are kept, up to the longest secret."""
    texts = (' "quoted" \\n\n-----BEGIN KEY-----\r\n\tgrün 🔑 ', "x" * MAX_SECRET_BYTES)
    for text in texts:
        await harness.given({KEY: Secret(text)})
        must_equal(
            revealed(await harness.open().get(KEY)) == text, True, f"a secret of {len(text)} characters"
        )


@proves()
async def what_one_sets_everybody_finds(harness: SecretStoreHarness) -> None:
    """A secret that was set is found by every other process."""
    await harness.open().set(KEY, VALUE)
    must_equal(revealed(await harness.open().get(KEY)), VALUE.reveal(), "what another process finds")


@proves()
async def a_secret_set_again_is_replaced(harness: SecretStoreHarness) -> None:
    """Of one name there is one secret: the last that was set."""
    store = harness.open()
    await store.set(KEY, VALUE)
    await store.set(KEY, OTHER)
    must_equal(revealed(await store.get(KEY)), OTHER.reveal(), "the secret")


@proves()
async def what_is_deleted_is_gone(harness: SecretStoreHarness) -> None:
    """A deleted secret is gone, the others stay, and deleting tells whether there was one."""
    store = harness.open()
    await store.set(KEY, VALUE)
    await store.set(TOKEN, OTHER)
    must_equal((await store.delete(KEY), await store.delete(KEY)), (True, False), "deleting it twice")
    must_equal(await store.names(), (TOKEN,), "what is left")


@proves()
async def writers_at_once_lose_nothing(harness: SecretStoreHarness) -> None:
    """Of secrets that many set at the same time under different names, every one is kept."""
    names = [SecretName(f"writers.number-{number}") for number in range(_WRITERS)]
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(harness.open().set, name, VALUE)
    store = harness.open()
    kept = [name for name in names if await store.get(name) is not None]
    must_equal(kept, names, "what was kept")


CHECKS: tuple[SecretCheck, ...] = (
    what_the_owner_gave_is_found,
    an_unknown_name_is_nothing,
    all_names_are_told_in_order,
    names_alike_are_kept_apart,
    a_secret_is_kept_to_the_letter,
    what_one_sets_everybody_finds,
    a_secret_set_again_is_replaced,
    what_is_deleted_is_gone,
    writers_at_once_lose_nothing,
)
