"""Whether secrets lie where only their owner can read them, and whether they can be read at all."""

from collections.abc import Mapping
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, ok, warn

_MOVE = "`fermix setup --migrate-secrets` moves them to the system's keychain, else to a private file"
_UNLOCK = "do what is named; whatever needs them does not work until then"
_CLOSE = "chmod 600, and replace the keys that others may have seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFacts:
    """Where the secrets of the settings are.

    Attributes:
        kept: places, in words, with how many secrets were read from each.
        unread: for each that could not be read, where it is and why, with the remedy.
        plain: keys whose secret stands in `config.toml` itself.
        file: the private file of secrets.
        mode: of that file; `None` where there is none.
    """

    kept: Mapping[str, int]
    unread: tuple[str, ...]
    plain: tuple[str, ...]
    file: str
    mode: int | None


def judge_secrets(facts: SecretFacts) -> Finding:
    """Warns only: the rows of what lacks a secret say what does not work."""
    details = [*facts.unread]
    remedies = [_UNLOCK] if facts.unread else []
    if facts.mode is not None and facts.mode & 0o077:
        details.append(f"{facts.file} was open to other users (mode {facts.mode:04o})")
        remedies.append(_CLOSE)
    if facts.plain:
        details.append(f"as plain text in config.toml: {', '.join(facts.plain)}")
        remedies.append(_MOVE)
    if remedies:
        return warn(_sentence(facts), details=details, remedy="; ".join(remedies))
    return ok(_sentence(facts))


def _sentence(facts: SecretFacts) -> str:
    parts = [f"{count} in {place}" for place, count in facts.kept.items()]
    if facts.unread:
        parts.append(f"{len(facts.unread)} that cannot be read")
    if facts.plain:
        parts.append(f"{len(facts.plain)} in config.toml itself")
    if not parts:
        return "the settings hold none but those of the environment"
    mode = "" if facts.mode is None else f"; mode of the private file {facts.mode:04o}"
    return f"{', '.join(parts)}{mode}"
