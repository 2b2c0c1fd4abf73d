"""Whether a channel that is set up works, and what its platform must have been told for that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fermix.application.operations.doctor.report import Finding, RowStatus, fail, ok, skip, warn
from fermix.application.ports.control import ChannelHealth, ChannelStatus

DO_AS_IT_SAYS = "do as it says; where it names nothing to do, it is tried again by itself"
RESTART = "`fermix stop`, then start it again"

SET_UP = ok("all that it needs is set")
NOT_SET_UP = skip("its settings are not complete: see the row channels")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFacts:
    """One channel.

    Attributes:
        own: what can be seen of it without the daemon, its settings first.
        health: how the running daemon says it stands; `None` where none runs.
        platform: what has to be entered at its platform, a sentence each.
    """

    own: Finding = SET_UP
    health: ChannelHealth | None = None
    platform: Sequence[str] = ()


def judge_state(facts: StateFacts) -> Finding:
    """Fails when the running channel does not work, or cannot; warns of what the daemon remarks as trouble."""
    return next(_findings(facts))


def _findings(facts: StateFacts) -> Iterator[Finding]:
    """All that holds, the first thing to say first."""
    own, health = facts.own, facts.health
    if own.status is RowStatus.SKIP:
        yield own
    details = [*own.details, *_told(health), *facts.platform]
    if own.status is RowStatus.FAIL:
        yield replace(own, details=tuple(details))
    if health is None:
        yield replace(own, details=tuple(details))
        return
    if health.status is ChannelStatus.DEGRADED:
        yield fail(
            f"does not work: {health.detail or 'its log says why'}", details=details, remedy=DO_AS_IT_SAYS
        )
    if health.status is not ChannelStatus.READY:
        why = health.detail or "it was off when that started"
        yield warn(f"the running daemon does not serve it: {why}", details=details, remedy=RESTART)
    if any(remark.is_trouble for remark in health.remarks):
        yield warn("it listens, but perhaps nobody gets through", details=details, remedy=DO_AS_IT_SAYS)
    yield replace(own, sentence=f"{own.sentence}; it listens", details=tuple(details))


def _told(health: ChannelHealth | None) -> Iterator[str]:
    if health is None:
        return
    yield from (remark.text for remark in health.remarks)
    if health.unreadable:
        yield f"{health.unreadable} of what its platform handed over could not be read"
