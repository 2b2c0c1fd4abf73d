"""`fermix doctor`: every row there is, in its order, over one look at the home."""

from collections.abc import Mapping
from pathlib import Path

from fermix.application.operations.doctor.report import Check, Report, examine
from fermix.entrypoints.doctor_rows import (
    configured,
    local_model,
    messengers,
    packages,
    places,
    running,
    secrets,
    transcription,
)
from fermix.entrypoints.doctor_rows.situation import Situation, gather
from fermix.entrypoints.preparation import secrets_of
from fermix.infrastructure.telemetry.redaction import Redactor

CHECKS: tuple[Check[Situation], ...] = (
    Check(name="home", look=places.home),
    Check(name="config", look=configured.config),
    Check(name="secrets", look=secrets.secrets),
    Check(name="provider", look=configured.provider),
    Check(name="local model", look=local_model.local_model),
    Check(name="transcription", look=transcription.transcription),
    Check(name="database", look=running.database),
    Check(name="daemon", look=running.daemon),
    Check(name="disk", look=places.disk),
    Check(name="paused", look=running.paused),
    Check(name="channels", look=configured.channels),
    Check(name="refused", look=running.refused),
    Check(name="control socket", look=places.control_socket),
)
"""A new row is one more line here; each channel that somebody set up has one of its own behind them."""


def diagnose(home: Path, environ: Mapping[str, str]) -> Report:
    """Look at everything of one home, with or without its daemon. Blocks; nothing is created or changed.

    Args:
        home: absolute; it need not exist.
        environ: the environment a start would have.

    Returns:
        The report, with every secret of the settings redacted from its texts.
    """
    situation = gather(home, environ)
    redactor = Redactor()
    if situation.loaded is not None:
        for secret in secrets_of(situation.loaded.settings):
            redactor.register(secret)
    channels = (*messengers.rows_of(situation), *packages.rows_of(situation))
    return examine((*CHECKS, *channels), situation).map_texts(redactor.redact)
