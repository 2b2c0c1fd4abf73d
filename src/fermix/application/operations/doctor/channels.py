"""Whether each channel that was set up can do its work, and for whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, RowStatus, fail, ok, warn


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFacts:
    """One channel that is enabled and that somebody has begun to set up.

    Attributes:
        name: its section's name.
        has_owner: whether it has an owner that can match somebody.
        allowed: how many others may write.
        allowlist_key: the key that names them.
        missing: credential keys that are not set.
        kept_elsewhere: those of them that lie in a secret store and could not be read.
        served: whether this version has the channel.
        drafts_in_vain: whether drafts are asked for that the channel cannot show.
        absent_program: a program that it needs and that is not there, by its key and value.
        unusable: why the package that brings it cannot be used; then nothing else is known of it.
    """

    name: str
    has_owner: bool
    allowed: int
    allowlist_key: str
    missing: tuple[str, ...] = ()
    kept_elsewhere: tuple[str, ...] = ()
    served: bool = True
    drafts_in_vain: bool = False
    absent_program: str | None = None
    unusable: str | None = None


def judge_channels(channels: Sequence[ChannelFacts]) -> Finding:
    """Fails when an enabled channel can let nobody in or lacks a credential."""
    if not channels:
        return ok("none is set up; `fermix ask` needs none")
    judged = [_judged(channel) for channel in channels]
    details = [text for _, text in judged]
    if any(status is RowStatus.FAIL for status, _ in judged):
        return fail(
            _sentence("misconfigured", judged, RowStatus.FAIL, channels),
            details=details,
            remedy="set the keys named, or enabled = false under the channel",
        )
    if any(status is RowStatus.WARN for status, _ in judged):
        return warn(
            _sentence("to be looked at", judged, RowStatus.WARN, channels), details=details, remedy=None
        )
    return ok(f"configured: {', '.join(channel.name for channel in channels)}", details=details)


def _sentence(
    what: str,
    judged: Sequence[tuple[RowStatus, str]],
    status: RowStatus,
    channels: Sequence[ChannelFacts],
) -> str:
    names = [channel.name for channel, (own, _) in zip(channels, judged, strict=True) if own is status]
    return f"{what}: {', '.join(names)}"


def _judged(channel: ChannelFacts) -> tuple[RowStatus, str]:
    broken = misconfiguration(channel)
    if broken is not None:
        return RowStatus.FAIL, f"{channel.name}: {broken}"
    who = f"configured: {_people(channel)}"
    doubt = _doubt(channel)
    if doubt is not None:
        return RowStatus.WARN, f"{channel.name}: {who}{doubt}"
    if not channel.has_owner:
        return RowStatus.OK, f"{channel.name}: {who}; without an owner nobody may approve anything"
    return RowStatus.OK, f"{channel.name}: {who}"


def misconfiguration(channel: ChannelFacts) -> str | None:
    """Why it can let nobody in or cannot start; `None` when it can."""
    if channel.unusable is not None:
        return channel.unusable
    if not channel.has_owner and not channel.allowed:
        lacking = f"neither owner_user_id nor {channel.allowlist_key} is set"
        return f"misconfigured: {lacking}, so every message will be denied"
    absent = [key for key in channel.missing if key not in channel.kept_elsewhere]
    if absent:
        return f"misconfigured: {' and '.join(absent)} must be set"
    if channel.kept_elsewhere:
        keys = " and ".join(channel.kept_elsewhere)
        return f"misconfigured: {keys} could not be read from its secret store; the row secrets says why"
    if channel.absent_program is not None:
        return f"misconfigured: there is no program {channel.absent_program}"
    return None


def _doubt(channel: ChannelFacts) -> str | None:
    if channel.drafts_in_vain:
        return '; it has no drafts, so streaming = "draft" does nothing'
    if not channel.served:
        return ", but this version cannot serve it yet"
    return None


def _people(channel: ChannelFacts) -> str:
    others = f"{channel.allowed} allowed" if channel.allowed else "nobody else allowed"
    return f"{'owner set' if channel.has_owner else 'no owner'}, {others}"
