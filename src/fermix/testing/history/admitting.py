"""What a gateway makes of the messages of a history."""

from collections.abc import Sequence
from functools import partial

from fermix.application.ports.admissions import (
    Admission,
    CommandEffect,
    CommandWork,
    Discard,
    OpenWindow,
    RetryTurn,
    StopEverything,
    Stopped,
)
from fermix.domain.authorization import Trust
from fermix.domain.delivery import Part, TextPart
from fermix.testing.history.events import Ask, Said, StopWords
from fermix.testing.history.world import GUESTS_CHAT
from fermix.testing.samples import asking, commanding, written

_WORK: dict[Ask, CommandWork] = {
    Ask.STOP: StopEverything(),
    Ask.NEW: OpenWindow(),
    Ask.DISCARD: Discard(),
    Ask.RETRY: RetryTurn(),
}


def admission_of(said: Said) -> Admission:
    """An input of its sender's trust, or a command that answers with what it did."""
    if said.ask is Ask.TURN:
        trust = Trust.GUEST if said.chat == GUESTS_CHAT else Trust.OPERATOR
        message = written(said.key, f"asked {said.key}", chat=said.address, sender=said.sender)
        return asking(message, trust=trust, album=said.album)
    message = written(said.key, f"/{said.ask}", chat=said.address, sender=said.sender)
    return commanding(message, _WORK[said.ask], reply=partial(_reply, said))


def _reply(said: Said, effect: CommandEffect) -> Sequence[Part]:
    if isinstance(effect, Stopped):
        report = effect.report
        words = StopWords(running=frozenset(report.running), waiting=frozenset(report.waiting))
        return (TextPart(text=words.text),)
    return (TextPart(text=f"{said.key}: {type(effect).__name__}"),)
