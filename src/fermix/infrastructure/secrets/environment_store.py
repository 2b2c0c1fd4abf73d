"""Secrets that the owner gave in environment variables: they can be read, and nothing else."""

from collections.abc import Mapping

import anyio.lowlevel

from fermix.application.ports.secrets import Secret, SecretName, SecretsRefused, SecretsUnavailable


class EnvironmentSecretStore:
    """The `SecretStore` port over some variables of an environment; a blank variable is none."""

    def __init__(self, environ: Mapping[str, str], *, variables: Mapping[SecretName, str]) -> None:
        """Look at the environment when asked, not before.

        Args:
            environ: the environment.
            variables: which variable holds which secret; no other is looked at.
        """
        self._environ = environ
        self._variables = variables

    async def get(self, name: SecretName) -> Secret | None:
        """See `SecretStore.get`.

        Raises:
            SecretsUnavailable: the variable holds something that cannot be a secret.
        """
        await anyio.lowlevel.checkpoint()
        variable = self._variables.get(name)
        text = "" if variable is None else self._environ.get(variable, "")
        if not text or text.isspace():
            return None
        try:
            return Secret(text)
        except ValueError as exc:
            raise SecretsUnavailable(f"{variable} is set to something unusable: {exc}") from exc

    async def set(self, name: SecretName, secret: Secret) -> None:  # noqa: ARG002  # the port's signature
        """Refuse: an environment belongs to whoever started the process."""
        await anyio.lowlevel.checkpoint()
        raise self._refusal(name)

    async def delete(self, name: SecretName) -> bool:
        """Refuse, as `set` does."""
        await anyio.lowlevel.checkpoint()
        raise self._refusal(name)

    async def names(self) -> tuple[SecretName, ...]:
        """See `SecretStore.names`."""
        await anyio.lowlevel.checkpoint()
        return tuple(
            sorted(
                name for name, variable in self._variables.items() if self._environ.get(variable, "").strip()
            )
        )

    def _refusal(self, name: SecretName) -> SecretsRefused:
        variable = self._variables.get(name)
        where = "the environment" if variable is None else f"the environment variable {variable}"
        return SecretsRefused(f"{name.text} cannot be changed here: it comes from {where}")
