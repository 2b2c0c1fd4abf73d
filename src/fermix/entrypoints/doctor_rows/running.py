"""Rows about what runs and what waits: the database, the daemon, paused conversations."""

from dataclasses import replace

from fermix.application.operations.doctor.daemon import AnsweringOwner, NoOwner, judge_daemon
from fermix.application.operations.doctor.database import PausedFacts, judge_database, judge_paused
from fermix.application.operations.doctor.refused import RefusedFacts, judge_refused
from fermix.application.operations.doctor.report import Finding
from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.entrypoints.messengers import BUILDERS
from fermix.version import __version__


def database(situation: Situation) -> Finding:
    """The file of messages and turns."""
    return judge_database(situation.database)


def daemon(situation: Situation) -> Finding:
    """Whoever owns the home."""
    owner = situation.owner
    if isinstance(owner, NoOwner):
        owner = replace(owner, wanted=_waiting_for_a_daemon(situation))
    return judge_daemon(owner, home=str(situation.home.path), version=__version__)


def _waiting_for_a_daemon(situation: Situation) -> tuple[str, ...]:
    if situation.loaded is None:
        return ()
    found = situation.loaded.settings.channels.by_name()
    known = BUILDERS.keys() | situation.loaded.plugins.keys()
    return tuple(
        name for name, channel in found.items() if channel.enabled and channel.has_access and name in known
    )


def refused(situation: Situation) -> Finding:
    """Senders that the daemon turned away."""
    owner = situation.owner
    if not isinstance(owner, AnsweringOwner) or owner.status.identity.kind is not OwnerKind.DAEMON:
        because = "the daemon, which alone remembers it while it runs, does not answer"
        if isinstance(owner, NoOwner | AnsweringOwner):
            because = "the daemon, which alone remembers it while it runs, is not running"
        return judge_refused(RefusedFacts(senders=None, unknown_because=because))
    return judge_refused(
        RefusedFacts(senders=owner.refused, unknown_because="the running daemon does not tell")
    )


def paused(situation: Situation) -> Finding:
    """Conversations that wait for their owner."""
    if isinstance(situation.owner, AnsweringOwner):
        return judge_paused(PausedFacts(count=situation.owner.status.paused))
    if situation.paused is not None:
        return judge_paused(PausedFacts(count=len(situation.paused), turns=situation.paused))
    if not situation.database.exists:
        return judge_paused(PausedFacts(count=0))
    return judge_paused(PausedFacts(count=None, unknown_because="the database was not read"))
