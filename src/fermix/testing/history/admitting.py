"""What a gateway makes of the messages of a history."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fermix.application.ports.admissions import (
    Admission,
    Command,
    CommandEffect,
    CommandWork,
    Discard,
    OpenWindow,
    RetryTurn,
    StopEverything,
    Stopped,
)
from fermix.application.ports.media_queue import WaitingMedia
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
        return asking(message, trust=trust, album=said.album, media=said.media)
    message = written(said.key, f"/{said.ask}", chat=said.address, sender=said.sender)
    return commanding(message, _WORK[said.ask], reply=partial(_reply, said.key))


def heard_in(media: WaitingMedia, ask: Ask) -> Command:
    """The command that was said in a recording, in the place of the turn that waits for it."""
    key = f"{media.message.key}#spoken"
    message = replace(media.message, key=key, text=f"/{ask}", raw_text=f"/{ask}")
    return replace(commanding(message, _WORK[ask], reply=partial(_reply, key)), instead_of=media.turn)


def _reply(key: str, effect: CommandEffect) -> Sequence[Part]:
    if isinstance(effect, Stopped):
        report = effect.report
        words = StopWords(running=frozenset(report.running), waiting=frozenset(report.waiting))
        return (TextPart(text=words.text),)
    return (TextPart(text=f"{key}: {type(effect).__name__}"),)
