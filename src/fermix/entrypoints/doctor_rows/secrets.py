"""The row about where secrets are kept."""

from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from fermix.application.operations.doctor.report import Finding, skip
from fermix.application.operations.doctor.secrets import SecretFacts, judge_secrets
from fermix.entrypoints.doctor_rows.configured import NEEDS_SETTINGS
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.infrastructure.settings.effective import Layer, effective_settings
from fermix.infrastructure.settings.problems import ConfigError, dotted


def secrets(situation: Situation) -> Finding:
    """The places, what could not be read from them, and what stands in the file as plain text."""
    loaded = situation.loaded
    if loaded is None:
        return skip(NEEDS_SETTINGS)
    return judge_secrets(
        SecretFacts(
            kept=Counter(each.place for each in loaded.stored if each.value is not None),
            unread=tuple(each.state for each in loaded.unread.values()),
            plain=tuple(_plain(situation)),
            file=str(situation.secrets_file),
            mode=situation.secrets_mode,
        )
    )


def _plain(situation: Situation) -> Iterator[str]:
    """Keys of the file whose secret stands there, an environment that wins over it or not."""
    try:
        # Without the environment: what it hides is in the file all the same.
        own = {name: situation.environ[name] for name in ("HOME",) if name in situation.environ}
        effective = effective_settings(situation.home.path, own)
    except ConfigError:
        return  # only the environment made it whole, or it was broken just now
    for each in effective.values:
        if each.origin.layer is not Layer.FILE or each.origin.place is not None:
            continue
        if isinstance(each.value, SecretStr):
            yield dotted(each.path)
        elif isinstance(each.value, Mapping) and each.is_secret:
            yield from (dotted((*each.path, name)) for name in each.value)
