"""Who was refused lately: the place where a new owner finds an id that is missing from the settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, ok, skip
from fermix.application.ports.control import RefusedSender

MAX_SHOWN = 10
"""Senders that are named; the newest."""

_MAX_ID_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFacts:
    """What the owner of the home tells.

    Attributes:
        senders: one for each refusal, the newest first; `None` when nobody could be asked.
        unknown_because: why not; ends a sentence.
    """

    senders: Sequence[RefusedSender] | None
    unknown_because: str = ""


def judge_refused(facts: RefusedFacts) -> Finding:
    """Never more than information: that strangers are refused is how it should be.

    Ids are quoted, and whatever in them is no plain text stands there as its escape: strangers choose them.
    """
    if facts.senders is None:
        return skip(f"not known: {facts.unknown_because}")
    if not facts.senders:
        return ok("nobody since the daemon runs")
    newest: dict[tuple[str, tuple[str, ...]], list[RefusedSender]] = {}
    for one in facts.senders:
        newest.setdefault((one.channel, tuple(one.sender_ids)), []).append(one)
    details = [_line(refusals) for refusals in list(newest.values())[:MAX_SHOWN]]
    if len(newest) > MAX_SHOWN:
        details.append(f"and {len(newest) - MAX_SHOWN} more")
    who = "one sender was" if len(newest) == 1 else f"{len(newest)} senders were"
    return ok(f"{who} refused lately; if it was you, set your id as owner_user_id", details=details)


def _line(refusals: Sequence[RefusedSender]) -> str:
    last = refusals[0]
    ids = ", ".join(_quoted(one) for one in last.sender_ids) or "a sender without an id"
    often = "once" if len(refusals) == 1 else f"{len(refusals)} times"
    return f"{last.channel}: {ids}, {often}, last {last.at:%Y-%m-%d %H:%M %Z} ({last.reason})"


def _quoted(text: str) -> str:
    cut = text if len(text) <= _MAX_ID_CHARACTERS else f"{text[:_MAX_ID_CHARACTERS]}…"
    return ascii(cut)
