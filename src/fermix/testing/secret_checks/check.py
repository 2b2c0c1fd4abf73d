"""A check of the suite of secret stores."""

from collections.abc import Callable
from typing import TypeAlias

from fermix.application.ports.secrets import Secret, SecretName, SecretStoreError
from fermix.testing.checks import Check, Run, as_check
from fermix.testing.secret_harness import SecretStoreHarness

SecretCheck: TypeAlias = Check[SecretStoreHarness]

KEY = SecretName("providers.openai.api_key")
TOKEN = SecretName("fermix_channels.telegram.bot_token")
VALUE = Secret("sk-first-0123456789")
OTHER = Secret("sk-other-9876543210")


def proves(*requirements: str) -> Callable[[Run[SecretStoreHarness]], SecretCheck]:
    """Make a check of a function; an error of the store that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=SecretStoreError)


def revealed(secret: Secret | None) -> str | None:
    """The text of what was found."""
    return None if secret is None else secret.reveal()
