"""What a key's secret is called in each store.

Several homes of one person share one keychain. Two of them that shared an entry would share a bot, and the
platform would serve neither, so an entry's name holds the profile and, for any home but `~/.fermix`, where it is.
"""

import os
from pathlib import Path

from fermix.application.ports.secrets import SecretName
from fermix.infrastructure.settings.environment import VARIABLES
from fermix.infrastructure.settings.problems import KeyPath
from fermix.infrastructure.settings.stored import DEFAULT_PROFILE

ACCOUNT = "fermix"
"""Whose entries they are, in the keychain's own sense."""

_WORDS = {
    ("fermix_channels", "telegram", "bot_token"): "TELEGRAM_BOT_TOKEN",
    **{variable.path: variable.name for variable in VARIABLES},
}


def secret_name(key: KeyPath) -> SecretName | None:
    """The key's path, joined by dots; `None` when it holds a name that no store takes."""
    try:
        return SecretName(".".join(str(part) for part in key))
    except ValueError:
        return None


def keychain_service(key: KeyPath, *, home: Path, default_home: Path, profile: str) -> str:
    """The service name of the key's entry: `fermix:OPENAI_API_KEY`, `fermix:work:OPENAI_API_KEY`.

    A key has the name of its environment variable, or its path where it has none. A home in another place has it
    in its name: `fermix:general@/srv/agent:OPENAI_API_KEY`. No profile holds an `@`, so that none can look like
    that. A home that is moved or copied finds no entry, and asks for its secrets again.

    Args:
        key: of the configuration.
        home: the home whose secret it is.
        default_home: what the home is when nobody chose one; links are followed in both.
        profile: `fermix_core.profile`.
    """
    word = _WORDS.get(tuple(str(part) for part in key)) or ".".join(str(part) for part in key)
    place = os.path.realpath(home)
    if place != os.path.realpath(default_home):
        shown = os.fsencode(place).decode(errors="backslashreplace")
        return f"fermix:{profile}@{shown}:{word}"
    return f"fermix:{word}" if profile == DEFAULT_PROFILE else f"fermix:{profile}:{word}"
