"""What the ledger promises about every history, told from what was seen outside it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fermix.application.ports.admissions import WindowOpened
from fermix.domain import wording
from fermix.domain.history import AssistantEntry, UserEntry
from fermix.domain.ids import ChatId, Generation, PartId, TurnId
from fermix.domain.incoming_media import MAX_ATTEMPTS, MediaResult
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.history.events import (
    Acted,
    Ask,
    Begun,
    Claimed,
    Died,
    Drafted,
    GivenUp,
    Heard,
    History,
    Label,
    Left,
    Made,
    Moved,
    Prepared,
    Retried,
    Said,
    Shown,
    StopWords,
)

_TOLD = {
    Outcome.FAILED: frozenset({wording.TRIED_TOO_OFTEN}),
    Outcome.INTERRUPTED: frozenset({wording.CUT_OFF, wording.ASK_AGAIN}),
}


class Promise(StrEnum):
    """The promises, each in a sentence."""

    NOTHING_LOST = "every message a platform offered comes to an end"
    ONE_ENDING = "a message is answered, told or refused: never none of them, never two"
    EFFECTS_ONCE = "what a turn did outside is never done again unless its owner says so"
    ORDER_KEPT = "turns start, and their parts are shown, in the order of their messages"
    REPEATS_MARKED = "a part that is shown twice is marked"
    ANSWERS_REMEMBERED = "history holds each answer once, after its question, and no other answer"
    ONE_ACTIVE_TURN = "a conversation runs one turn at a time"
    MEDIA_READY = (
        "a turn starts when all that came with its messages is prepared, and is handed what became of it"
    )
    PREPARED_ONCE = "an attachment is prepared once, and tried three times at most"
    DRAFTS_ADOPTED = "a turn that runs again is handed the drafts it opened before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A promise that a history broke, and by what."""

    promise: Promise
    detail: str


def check(history: History) -> tuple[Violation, ...]:
    """Every promise the history broke; none for a ledger that keeps them."""
    seen = _Seen(history)
    return tuple(
        Violation(promise=promise, detail=detail)
        for promise, look in _PROMISES.items()
        for detail in look(seen)
    )


class _Seen:
    """The events of a history, sorted by what the promises ask about."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.indexes = {event.key: event.index for event in history.events if isinstance(event, Said)}
        self.claimed: dict[TurnId, Claimed] = {}
        self.last_claim: dict[TurnId, int] = {}
        self.run_as_new: set[TurnId] = set()
        self.shown: dict[TurnId, list[str]] = defaultdict(list)
        self.given_up: dict[TurnId, list[str]] = defaultdict(list)
        self.told_paused: set[ChatId] = set()
        self.stops: list[tuple[int, StopWords]] = []
        self.heard: dict[TurnId, list[str]] = defaultdict(list)
        self.replies: set[str] = set()
        self._read()

    def _read(self) -> None:
        turn_of: dict[str, TurnId] = {}
        for at, event in enumerate(self.history.events):
            match event:
                case Claimed():
                    if any(turn_of.setdefault(key, event.turn) != event.turn for key in event.keys):
                        self.run_as_new.add(event.turn)
                    self.claimed.setdefault(event.turn, event)
                    self.last_claim[event.turn] = at
                case Heard(turn=turn, key=key):
                    self.heard[turn].append(key)
                case Shown(turn=None, words=words, chat=chat):
                    self._said_for_no_turn(at, words)
                    if words == wording.PAUSED:
                        self.told_paused.add(chat)
                case Shown(turn=turn, words=words) if turn is not None:
                    self.shown[turn].append(words)
                case GivenUp(turn=None, text=text):
                    self._said_for_no_turn(at, text)
                case GivenUp(turn=turn, text=text) if turn is not None:
                    self.given_up[turn].append(text)
                case _:
                    pass

    def _said_for_no_turn(self, at: int, text: str) -> None:
        self.replies.add(text)
        stop = StopWords.read(text)
        if stop is not None:
            self.stops.append((at, stop))

    def place(self, turn: TurnId) -> int | None:
        """The place of a turn in its chat; `None` when it never ran, or was put elsewhere by its owner."""
        if turn not in self.claimed or turn in self.run_as_new:
            return None
        return min(self.indexes[key] for key in self.claimed[turn].keys)

    def was_a_command(self, turn: TurnId) -> bool:
        """Whether what was said in a recording of the turn was answered as a command; a stop names others only."""
        keys = self.heard.get(turn, ())
        replies = {f"{key}: {WindowOpened.__name__}" for key in keys}
        return bool(keys) and (bool(self.stops) or bool(replies & self.replies))

    def labels(self, turn: TurnId, kind: str) -> set[Label]:
        """What was shown of a kind for a turn."""
        read = (Label.read(text) for text in self.shown[turn])
        return {label for label in read if label is not None and label.kind == kind}

    def may_be_withdrawn(self, turn: TurnId) -> bool:
        """Whether a stop may have withdrawn parts of the turn: one that answered after its last claim."""
        return any(at > self.last_claim.get(turn, -1) for at, _ in self.stops)


def _nothing_lost(seen: _Seen) -> Iterator[str]:
    if not seen.history.at_rest:
        yield "something waits for ever"
    for event in seen.history.events:
        if not isinstance(event, Said) or event.ask is not Ask.TURN:
            continue
        fate = seen.history.fates.get(event.key)
        if fate is None or fate.turn is None:
            yield f"{event.key} is unknown to the ledger"
        elif fate.state is not TurnState.SETTLED:
            yield f"{event.key} is left behind {fate.state} in turn {fate.turn}"


def _one_ending(seen: _Seen) -> Iterator[str]:
    fates = {fate.turn: fate for fate in seen.history.fates.values() if fate.turn is not None}
    for turn, fate in fates.items():
        if fate.outcome is not None:
            yield from _ending(turn, fate.outcome, seen)
    for key in seen.indexes:
        answering = [turn for turn, claim in seen.claimed.items() if key in claim.keys]
        answered = [turn for turn in answering if seen.labels(turn, "answer")]
        if len(answered) > 1:
            yield f"{key} was answered by turns {answered}"


def _ending(turn: TurnId, outcome: Outcome, seen: _Seen) -> Iterator[str]:
    answers = seen.labels(turn, "answer")
    told = {text for text in seen.shown[turn] if any(text in texts for texts in _TOLD.values())}
    apologies = seen.labels(turn, "apology")
    if len({label.generation for label in answers}) > 1:
        yield f"turn {turn} was answered by two claims of it"
    if answers and (told or apologies or outcome is not Outcome.COMPLETED):
        yield f"turn {turn} was answered, and also {outcome} and told {sorted(told)}"
    if outcome is Outcome.COMPLETED:
        yield from _all_shown(turn, answers, seen)
    elif not _known(turn, outcome, seen):
        yield f"turn {turn} was {outcome} and nobody was told"
    if outcome is Outcome.REJECTED and (told or apologies):
        yield f"turn {turn} was refused, yet told {sorted(told)}"


def _all_shown(turn: TurnId, answers: set[Label], seen: _Seen) -> Iterator[str]:
    if seen.may_be_withdrawn(turn):
        return
    known = answers | {label for text in seen.given_up[turn] if (label := Label.read(text)) is not None}
    wanted = max((label.of for label in known if label.kind == "answer"), default=1)
    missing = set(range(wanted)) - {label.number for label in known if label.kind == "answer"}
    if missing:
        yield f"parts {sorted(missing)} of the answer of turn {turn} were never shown"


def _known(turn: TurnId, outcome: Outcome, seen: _Seen) -> bool:
    """Whether whoever asked knows how a turn without an answer ended."""
    texts = {*seen.shown[turn], *seen.given_up[turn]}
    match outcome:
        case Outcome.REJECTED:
            return True
        case Outcome.CANCELLED:
            return any(turn in stop.waiting for _, stop in seen.stops) or seen.was_a_command(turn)
        case Outcome.FAILED:
            apologised = any((label := Label.read(text)) and label.kind == "apology" for text in texts)
            return apologised or bool(texts & _TOLD[outcome]) or seen.may_be_withdrawn(turn)
        case _:
            stopped = any(turn in stop.running for _, stop in seen.stops)
            paused = turn in seen.claimed and seen.claimed[turn].chat in seen.told_paused
            return (
                stopped or paused or bool(texts & _TOLD[Outcome.INTERRUPTED]) or seen.may_be_withdrawn(turn)
            )


def _effects_once(seen: _Seen) -> Iterator[str]:
    """Claims are counted: a claim lost with the power leaves its generation to the next one."""
    claims: dict[TurnId, list[Generation]] = defaultdict(list)
    acted: dict[TurnId, int] = {}
    for event in seen.history.events:
        match event:
            case Retried():
                acted.clear()
                continue
            case Claimed(turn=turn, generation=generation):
                claims[turn].append(generation)
                continue
            case Acted(turn=turn, generation=generation, repeat=Repeat.UNSAFE):
                pass
            case Shown(marked=False) if (label := Label.read(event.words)) and label.kind == "block":
                turn, generation = label.turn, label.generation
            case _:
                continue
        number = max((at for at, each in enumerate(claims[turn]) if each == generation), default=0)
        if number > acted.setdefault(turn, number):
            yield f"claim {number} of turn {turn} did again what claim {acted[turn]} had done"


def _order_kept(seen: _Seen) -> Iterator[str]:
    started: dict[ChatId, int] = {}
    claimed: set[TurnId] = set()
    shown: dict[ChatId, tuple[int, int]] = {}
    parts: set[PartId] = set()
    for event in seen.history.events:
        if isinstance(event, Claimed) and event.turn not in claimed:
            claimed.add(event.turn)
            place = seen.place(event.turn)
            if place is not None and place < started.get(event.chat, -1):
                yield f"turn {event.turn} started after a younger one of {event.chat}"
            elif place is not None:
                started[event.chat] = place
        elif isinstance(event, Shown) and event.turn is not None and event.part not in parts:
            parts.add(event.part)
            place = seen.place(event.turn)
            if place is not None and (place, event.ordinal) < shown.get(event.chat, (-1, -1)):
                yield f"part {event.ordinal} of turn {event.turn} was shown after a younger one"
            elif place is not None:
                shown[event.chat] = (place, event.ordinal)


def _repeats_marked(seen: _Seen) -> Iterator[str]:
    parts: set[PartId] = set()
    texts: set[tuple[TurnId, str]] = set()
    for event in seen.history.events:
        if not isinstance(event, Shown):
            continue
        text = None if event.turn is None else (event.turn, event.words)
        if not event.marked and (event.part in parts or text in texts):
            yield f"part {event.part} ({event.words!r}) was shown again as if for the first time"
        parts.add(event.part)
        if text is not None:
            texts.add(text)


def _answers_remembered(seen: _Seen) -> Iterator[str]:
    outcomes = {fate.turn: fate.outcome for fate in seen.history.fates.values()}
    remembered: dict[TurnId, int] = defaultdict(int)
    for entries in seen.history.remembered.values():
        asked: set[str] = set()
        for entry in entries:
            if isinstance(entry, UserEntry):
                asked.add(entry.text)
            label = Label.read(entry.text) if isinstance(entry, AssistantEntry) else None
            if label is None:
                continue
            remembered[label.turn] += 1
            claim = seen.claimed.get(label.turn)
            if claim is not None and any(f"asked {key}" not in asked for key in claim.keys):
                yield f"the answer of turn {label.turn} stands in history before its question"
    for turn, outcome in outcomes.items():
        wanted = 1 if outcome is Outcome.COMPLETED else 0
        if turn is not None and remembered[turn] != wanted:
            yield f"turn {turn} is {outcome} and has {remembered[turn]} answers in history"


def _one_active_turn(seen: _Seen) -> Iterator[str]:
    active: dict[ChatId, Claimed] = {}
    for event in seen.history.events:
        match event:
            case Died():
                active.clear()
            case Left():
                active = {chat: claim for chat, claim in active.items() if claim.turn != event.turn}
            case Claimed():
                if event.chat in active:
                    yield f"turn {event.turn} started beside turn {active[event.chat].turn} of {event.chat}"
                active[event.chat] = event
            case _:
                pass


def _media_ready(seen: _Seen) -> Iterator[str]:
    made: dict[tuple[str, int], list[MediaResult]] = defaultdict(list)
    came = {event.key: event.media for event in seen.history.events if isinstance(event, Said)}
    for event in seen.history.events:
        match event:
            case Made(key=key, position=position, result=result):
                made[key, position].append(result)
            case Claimed(turn=turn, keys=keys, media=media):
                for key, results in zip(keys, media, strict=True):
                    if len(results) != came.get(key, 0):
                        yield f"turn {turn} started with {len(results)} of the {came.get(key, 0)} files of {key}"
                    for position, result in enumerate(results):
                        if result not in made[key, position]:
                            yield f"turn {turn} was handed what file {position} of {key} never became"
            case _:
                pass


def _prepared_once(seen: _Seen) -> Iterator[str]:
    """Neither results nor attempts are synced, so a power cut may take them along; an owner may want it again."""
    begun: Counter[tuple[str, int]] = Counter()
    prepared: set[tuple[str, int]] = set()
    for event in seen.history.events:
        match event:
            case Died(power_cut=True) | Retried():
                begun.clear()
                prepared.clear()
            case Begun(key=key, position=position):
                begun[key, position] += 1
                if (key, position) in prepared:
                    yield f"file {position} of {key} was prepared, and begun again"
                if begun[key, position] > MAX_ATTEMPTS:
                    yield f"file {position} of {key} was begun {begun[key, position]} times"
            case Prepared(key=key, position=position):
                prepared.add((key, position))
            case _:
                pass


def _drafts_adopted(seen: _Seen) -> Iterator[str]:
    """A power cut may take a draft's id with it: it is not synced, since losing it costs a draft, no answer.

    A draft does not go along with a chat that moves: it has no id there.
    """
    drafts: dict[TurnId, list[str]] = defaultdict(list)
    for event in seen.history.events:
        match event:
            case Died(power_cut=True):
                drafts.clear()
            case Moved(chat=chat):
                stayed = (turn for turn, claim in seen.claimed.items() if claim.chat == chat)
                for turn in stayed:
                    drafts.pop(turn, None)
            case Drafted(turn=turn, draft=draft):
                drafts[turn].append(draft)
            case Claimed(turn=turn) if missing := set(drafts[turn]) - set(event.drafts):
                yield f"turn {turn} was not handed its drafts {sorted(missing)}"
            case _:
                pass


_PROMISES: Mapping[Promise, Callable[[_Seen], Iterator[str]]] = {
    Promise.NOTHING_LOST: _nothing_lost,
    Promise.ONE_ENDING: _one_ending,
    Promise.EFFECTS_ONCE: _effects_once,
    Promise.ORDER_KEPT: _order_kept,
    Promise.REPEATS_MARKED: _repeats_marked,
    Promise.ANSWERS_REMEMBERED: _answers_remembered,
    Promise.ONE_ACTIVE_TURN: _one_active_turn,
    Promise.MEDIA_READY: _media_ready,
    Promise.PREPARED_ONCE: _prepared_once,
    Promise.DRAFTS_ADOPTED: _drafts_adopted,
}
