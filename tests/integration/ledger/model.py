"""The dullest ledger there can be: lists in memory, every rule written out, nothing fast."""

from dataclasses import dataclass, field

from fermix.domain.authorization import Trust
from fermix.domain.ids import TurnId
from fermix.domain.lane import ALBUM_MAX_PARTS, LaneTurn, Placement, QueueLimits, claimable_head, place
from fermix.domain.recovery import InterruptedTurn, RecordedEffect, Recovery, Repeat, recover
from fermix.domain.turn import ACTIVE, WAITING, Outcome, TurnState
from fermix.domain.wording import (
    CUT_OFF,
    DISCARDED_MARKER,
    INTERRUPTED_MARKER,
    PAUSED,
    STOPPED_MARKER,
    TRIED_TOO_OFTEN,
)

LIMITS = QueueLimits(per_conversation=3, total=6)


@dataclass
class ModelTurn:
    turn: int
    chat: str
    texts: list[str]
    state: TurnState = TurnState.QUEUED
    outcome: Outcome | None = None
    awaited: bool = False
    album: str | None = None
    attempts: int = 0
    window: int = 0
    mine: bool = True
    """Admitted or claimed by the present owner."""
    effects: list[Repeat] = field(default_factory=list)
    keeps_text: bool = True


@dataclass
class ModelPart:
    text: str
    chat: str
    turn: int | None
    state: str = "pending"
    repeated: bool = False
    waits: bool = False
    """For the time of its retry."""


@dataclass
class Model:
    turns: list[ModelTurn] = field(default_factory=list)
    parts: list[ModelPart] = field(default_factory=list)
    windows: dict[str, int] = field(default_factory=dict)
    served: list[str] = field(default_factory=list)
    """Chats in the order of their last claims, the latest at the end."""
    history: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)

    def in_state(self, *states: TurnState) -> list[ModelTurn]:
        return [turn for turn in self.turns if turn.state in states]

    def waiting(self, chat: str | None = None) -> int:
        return sum(len(turn.texts) for turn in self.in_state(*WAITING) if chat is None or turn.chat == chat)

    def admit(self, key: str, chat: str, *, awaited: bool, album: str | None) -> str:
        if key in self.keys:
            return "Duplicate"
        collecting = [t for t in self.in_state(TurnState.COLLECTING) if t.chat == chat]
        joined = next((turn for turn in collecting if turn.album == album), None)
        placement = place(waiting_here=self.waiting(chat), waiting_in_all=self.waiting(), limits=LIMITS)
        if placement is not Placement.WAIT and joined is None:  # an album is never cut in two
            return "Full"
        self.windows.setdefault(chat, 0)
        for turn in collecting:
            if turn.album != album:
                turn.state = TurnState.QUEUED
        if joined is not None and album is not None:
            joined.texts.append(key)
            joined.awaited = joined.awaited or awaited
            if len(joined.texts) >= ALBUM_MAX_PARTS:
                joined.state = TurnState.QUEUED
            self.keys[key] = joined.turn
            return "Accepted"
        state = TurnState.QUEUED if album is None else TurnState.COLLECTING
        self._open(chat, [key], state=state, awaited=awaited, album=album)
        return "Accepted"

    def _open(
        self,
        chat: str,
        texts: list[str],
        *,
        state: TurnState = TurnState.QUEUED,
        awaited: bool = False,
        album: str | None = None,
    ) -> ModelTurn:
        turn = ModelTurn(
            turn=len(self.turns) + 1, chat=chat, texts=texts, state=state, awaited=awaited, album=album
        )
        self.turns.append(turn)
        for key in texts:
            self.keys[key] = turn.turn
        return turn

    def albums_are_due(self) -> None:
        for turn in self.in_state(TurnState.COLLECTING):
            turn.state = TurnState.QUEUED

    def claim(self, limit: int) -> list[ModelTurn]:
        heads = []
        for chat in self.windows:
            lane = [LaneTurn(turn=TurnId(t.turn), state=t.state) for t in self.turns if t.chat == chat]
            head = claimable_head(lane)
            if head is not None:
                heads.append(head)
        turns = [self.turns[head - 1] for head in sorted(heads)]
        fair = sorted(turns, key=lambda turn: self.served_last(turn.chat))
        claimed = sorted(fair[:limit], key=lambda turn: turn.turn)
        for turn in claimed:
            self.served = [chat for chat in self.served if chat != turn.chat] + [turn.chat]
            turn.state = TurnState.STARTED
            turn.attempts += 1
            turn.window = self.windows[turn.chat]
            turn.mine = True
            turn.effects = []
        return claimed

    def served_last(self, chat: str) -> int:
        return self.served.index(chat) if chat in self.served else -1

    def remember(self, turn: ModelTurn, *lines: str) -> None:
        self.history.setdefault((turn.chat, turn.window), []).extend(lines)

    def end(self, turn: ModelTurn, outcome: Outcome, *, marker: str | None = None) -> None:
        if marker is not None:
            if turn.state in WAITING:
                turn.window = self.windows[turn.chat]
            self.remember(turn, *turn.texts, marker)
        turn.state, turn.outcome = TurnState.SETTLED, outcome
        turn.keeps_text = outcome is Outcome.FAILED

    def settle(self, turn: ModelTurn, texts: list[str], outcome: Outcome) -> list[str]:
        self.remember(turn, *turn.texts, *texts)
        self.end(turn, outcome)
        return self.add(texts, turn.chat, turn.turn)

    def add(self, texts: list[str], chat: str, turn: int | None) -> list[str]:
        free = not self.open_parts(chat)
        added = [ModelPart(text=text, chat=chat, turn=turn) for text in texts]
        self.parts.extend(added)
        if added and free:
            added[0].state = "sending"
            return [added[0].text]
        return []

    def open_parts(self, chat: str | None = None) -> list[ModelPart]:
        return [
            part
            for part in self.parts
            if part.state in {"pending", "sending"} and (chat is None or part.chat == chat)
        ]

    def start_next(self, chat: str) -> list[str]:
        head = next(iter(self.open_parts(chat)), None)
        if head is None or head.state != "pending" or head.waits:
            return []
        head.state = "sending"
        return [head.text]

    def due(self) -> list[str]:
        started: list[str] = []
        for part in self.parts:
            if part.state == "pending" and not part.waits and self.open_parts(part.chat)[0] is part:
                part.state = "sending"
                started.append(part.text)
        return started

    def retries_are_due(self) -> None:
        for part in self.parts:
            part.waits = False

    def withdraw(self, turn: int | None) -> None:
        for part in self.open_parts():
            if part.turn is not None and turn in {None, part.turn}:
                part.state = "withdrawn"

    def stop(self) -> None:
        for turn in self.in_state(TurnState.STARTED):
            self.end(turn, Outcome.INTERRUPTED, marker=STOPPED_MARKER)
        for turn in self.in_state(*WAITING):
            self.end(turn, Outcome.CANCELLED)
        self.withdraw(None)

    def cancel(self, turn: ModelTurn) -> None:
        if turn.state is TurnState.STARTED:
            self.end(turn, Outcome.INTERRUPTED, marker=STOPPED_MARKER)
        else:
            self.end(turn, Outcome.CANCELLED)
        self.withdraw(turn.turn)

    def discard(self, turn: ModelTurn) -> None:
        self.withdraw(turn.turn)
        self.end(turn, Outcome.INTERRUPTED, marker=DISCARDED_MARKER)

    def new_window(self, chat: str) -> None:
        for turn in self.in_state(TurnState.UNKNOWN):
            if turn.chat == chat:
                self.discard(turn)
        self.windows[chat] = self.windows.get(chat, 0) + 1

    def retry(self, turn: ModelTurn) -> None:
        self.withdraw(turn.turn)
        if turn.state is TurnState.UNKNOWN:
            turn.state, turn.attempts = TurnState.QUEUED, 0
        else:
            moved, turn.texts, turn.keeps_text = turn.texts, [], False
            self._open(turn.chat, moved)

    def restart(self) -> list[str]:
        """What a new owner finds and does; returns what it sends now."""
        died = self.in_state(TurnState.STARTED)
        gone = [turn for turn in self.in_state(*WAITING) if turn.awaited]
        for turn in died:
            self._put_right(turn)
        for turn in gone:
            self.end(turn, Outcome.INTERRUPTED, marker=INTERRUPTED_MARKER)
        for part in self.parts:
            if part.state == "sending":
                part.state, part.repeated = "pending", True
        return self.due()

    def _put_right(self, turn: ModelTurn) -> None:
        effects = [RecordedEffect(repeat=repeat) for repeat in turn.effects]
        judged = InterruptedTurn(
            awaited=turn.awaited, trust=Trust.OPERATOR, attempts=turn.attempts, effects=effects
        )
        match recover(judged):
            case Recovery.INTERRUPT_AWAITED:
                self.end(turn, Outcome.INTERRUPTED, marker=INTERRUPTED_MARKER)
            case Recovery.PAUSE_AS_UNKNOWN:
                turn.state = TurnState.UNKNOWN
                self.parts.append(ModelPart(text=PAUSED, chat=turn.chat, turn=None))
            case Recovery.INTERRUPT_CUT_OFF:
                self.end(turn, Outcome.INTERRUPTED, marker=INTERRUPTED_MARKER)
                self.parts.append(ModelPart(text=CUT_OFF, chat=turn.chat, turn=turn.turn))
            case Recovery.FAIL:
                self.end(turn, Outcome.FAILED, marker=INTERRUPTED_MARKER)
                self.parts.append(ModelPart(text=TRIED_TOO_OFTEN, chat=turn.chat, turn=turn.turn))
            case Recovery.REPLAY | Recovery.ASK_GUEST_AGAIN:
                turn.state = TurnState.QUEUED

    def paused(self) -> list[int]:
        return [turn.turn for turn in self.in_state(TurnState.UNKNOWN)]

    def busy_lanes(self) -> int:
        return len({turn.chat for turn in self.in_state(*WAITING, *ACTIVE)})
