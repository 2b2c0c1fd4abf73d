"""One row for each messenger of ours that somebody set up: whether it works, and what its platform must know."""

from functools import partial

from fermix.application.operations.doctor.channel_state import NOT_SET_UP, SET_UP, StateFacts, judge_state
from fermix.application.operations.doctor.channels import ChannelFacts, misconfiguration
from fermix.application.operations.doctor.report import Check, Finding, skip
from fermix.entrypoints.doctor_rows import signal_program
from fermix.entrypoints.doctor_rows.configured import NEEDS_SETTINGS, begun_channels
from fermix.entrypoints.doctor_rows.platforms import to_enter
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.infrastructure.settings.channels import SignalSettings


def rows_of(situation: Situation) -> tuple[Check[Situation], ...]:
    """Their rows, in the order of the settings."""
    if situation.loaded is None:
        return ()
    return tuple(
        Check(name=f"channel {facts.name}", look=partial(_channel, facts))
        for facts in begun_channels(situation.loaded, situation.environ)
        if facts.name not in situation.loaded.plugins
    )


def _channel(facts: ChannelFacts, situation: Situation) -> Finding:
    if situation.loaded is None:
        return skip(NEEDS_SETTINGS)
    own = situation.loaded.settings.channels.by_name()[facts.name]
    found = SET_UP
    if misconfiguration(facts) is not None:
        found = NOT_SET_UP
    elif isinstance(own, SignalSettings):
        found = signal_program.look_at(own.cli_path, situation.environ)
    return judge_state(
        StateFacts(
            own=found,
            health=situation.health_of(facts.name),
            platform=to_enter(own, situation.loaded.settings.web),
        )
    )
