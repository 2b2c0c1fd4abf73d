"""Rows about what other packages bring, where there are any: their names, and how each enabled channel stands."""

from collections.abc import Mapping
from functools import partial

from fermix.application.operations.doctor.channel_state import SET_UP, StateFacts, judge_state
from fermix.application.operations.doctor.report import Check, Finding, fail, ok, skip, warn
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.entrypoints.plugin_channels import missing_keys, webhook_path
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.entry_points import PackageUnusable, foreign_code
from fermix.infrastructure.settings.foreign_sections import (
    INSTALLED,
    AnyPlugin,
    UnreadChannel,
    is_free,
)

_TELL = "tell whoever maintains the package; it can be removed until then"


def rows_of(situation: Situation) -> tuple[Check[Situation], ...]:
    """One row for the packages that are installed, and one for each of their channels that is enabled."""
    offered = INSTALLED.packages()
    plugins = {} if situation.loaded is None else situation.loaded.plugins
    installed = [Check(name="packages", look=partial(_packages, offered))] if offered else []
    return (
        *installed,
        *(Check(name=f"channel {name}", look=partial(_plugin, name)) for name in sorted(plugins)),
    )


def _packages(offered: Mapping[str, tuple[str, ...]], situation: Situation) -> Finding:
    """Whose channels are installed beside ours; nothing is loaded to say so."""
    enabled = () if situation.loaded is None else situation.loaded.plugins.keys()
    details = [
        f"{name}: {' and '.join(owners)}, {'enabled' if name in enabled else 'not enabled'}"
        for name, owners in sorted(offered.items())
    ]
    wrong = [
        *(f"{name} cannot be a channel of another package" for name in sorted(offered) if not is_free(name)),
        *(
            f"{name} is brought by {' and by '.join(owners)}"
            for name, owners in sorted(offered.items())
            if len(owners) > 1
        ),
    ]
    if wrong:
        return warn("; ".join(wrong), details=details, remedy=_TELL)
    return ok(f"channels of other packages: {', '.join(sorted(offered))}", details=details)


def _plugin(name: str, situation: Situation) -> Finding:
    if situation.loaded is None:
        return skip("needs the settings, which are broken")
    own = situation.loaded.settings.channels.by_name()[name]
    plugin = situation.loaded.plugins[name]
    if isinstance(own, UnreadChannel):
        return fail(f"is not served: {own.trouble}", remedy=_TELL)
    missing = missing_keys(plugin, own)
    if missing:
        keys = " and ".join(missing)
        return fail(f"{keys} must be set", remedy=f"set what is named under fermix_channels.{name}")
    return judge_state(
        StateFacts(own=_looked(plugin, own), health=situation.health_of(name), platform=_webhook(name, own))
    )


def _webhook(name: str, own: ChannelSettings) -> tuple[str, ...]:
    """What its platform has to be told where it calls us."""
    if getattr(own, "mode", None) != "webhook":
        return ()
    return (f"its platform must be told to call https://YOUR-HOST{webhook_path(name)}",)


def _looked(plugin: AnyPlugin, own: ChannelSettings) -> Finding:
    if plugin.look is None:
        return SET_UP
    try:
        with foreign_code(plugin.settings.__module__.partition(".")[0]):
            report = plugin.look(own)
            sentence, remedy, is_well = report.sentence, report.remedy, report.is_well
    except PackageUnusable as exc:
        return fail(f"could not be looked at: {exc}", remedy=_TELL)
    return ok(sentence) if is_well else fail(sentence, remedy=remedy)
