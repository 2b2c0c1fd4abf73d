"""The dullest model of the gateway's queue: a list of turns for each conversation, and what all must read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fermix.application.ports.admissions import Accepted, Duplicate, Full
from fermix.application.ports.channel import OutgoingPart, Verdict
from fermix.domain import wording
from fermix.domain.delivery import REPEAT_MARK
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, UserEntry
from fermix.domain.lane import ALBUM_MAX_PARTS, ALBUM_WAIT_AFTER_RESTART, Placement, QueueLimits
from fermix.domain.turn import Outcome

OWNER, GUEST, STRANGER = "1001", "2002", "6666"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What somebody wrote; `id` is unique on the platform."""

    id: str
    chat: str
    user: str
    text: str
    album: str | None = None


@dataclass(slots=True, kw_only=True)
class Reply:
    """What must be read under one message; `number` counts the replies of its chat."""

    chat: str
    text: str
    number: int
    of_turn: bool
    may_be_missing: bool = False
    shown: int = 0


@dataclass(slots=True, kw_only=True)
class Turn:
    """What waits or runs, of one or more messages."""

    said: list[Said]
    album: str | None = None
    until: datetime | None = None
    started: bool = False
    claims: int = 0
    window: int = 0
    will_end: tuple[Outcome, str] | None = None
    passed_by: Counter[str] = field(default_factory=Counter)

    @property
    def question(self) -> str:
        """What the model is asked."""
        return "\n\n".join(said.text for said in in_order(self.said) if said.text)


def in_order(parts: Sequence[Said]) -> list[Said]:
    """The parts of an album as their platform numbers them."""
    return sorted(parts, key=lambda said: int(said.id))


@dataclass(slots=True, kw_only=True)
class Chat:
    """One conversation: its turns in order, the started one first, and what it remembers of each window."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    window: int = 0
    remembers: dict[int, list[HistoryEntry]] = field(default_factory=dict)
    told_full: bool = False

    @property
    def head(self) -> Turn | None:
        """The turn that may start now."""
        if not self.turns or self.turns[0].started or self.turns[0].until is not None:
            return None
        return self.turns[0]


class Dullest:
    """What must be so, whatever the real gateway does."""

    def __init__(self, chats: Sequence[str], *, limits: QueueLimits, slots: int, debounce: timedelta) -> None:
        self.chats = {name: Chat(name=name) for name in chats}
        self.allowed = {OWNER, GUEST}
        self.replies: dict[str, Reply] = {}
        self.notices: dict[str, str] = {}
        self.known: dict[str, Said] = {}
        self.ended: dict[str, Outcome] = {}
        self._limits = limits
        self._slots = slots
        self._debounce = debounce
        self._seen = 0
        self._nonces: dict[str, str] = {}

    # What comes in.

    def admits(self, said: Said, now: datetime) -> type[Accepted] | type[Duplicate] | Placement:
        """A message is put before the ledger; what it must say to it."""
        if said.id in self.known:
            return Duplicate
        if said.text.startswith("/"):
            self.known[said.id] = said
            self._run(said)
            return Accepted
        placement = self._place(said)
        if placement is not Placement.WAIT:
            return placement
        self.known[said.id] = said
        self._take(said, now)
        return Accepted

    def _place(self, said: Said) -> Placement:
        if self._open_album(said) is not None:
            return Placement.WAIT
        if self.waiting() >= self._limits.total:
            return Placement.FULL_TOTAL
        if self.waiting(said.chat) >= self._limits.per_conversation:
            return Placement.FULL_CONVERSATION
        return Placement.WAIT

    def _open_album(self, said: Said) -> Turn | None:
        if said.album is None:
            return None
        return next((t for t in self.chats[said.chat].turns if t.until and t.album == said.album), None)

    def _take(self, said: Said, now: datetime) -> None:
        chat = self.chats[said.chat]
        for turn in chat.turns:
            if turn.until and turn.said[0].user == said.user and (turn.album != said.album):
                turn.until = None
        album = self._open_album(said)
        if album is None:
            album = Turn(said=[], album=said.album)
            chat.turns.append(album)
        album.said.append(said)
        if said.album is not None:
            album.until = None if len(album.said) == ALBUM_MAX_PARTS else now + self._debounce

    def _run(self, said: Said) -> None:
        name = said.text.split()[0]
        if name == "/whoami":
            who = "the operator" if said.user == OWNER else "a guest"
            self._tell(said, f"Your user id on test is {said.user}. You are {who}.", of_turn=False)
        elif said.user != OWNER:
            self._tell(said, wording.NEEDS_OWNER, of_turn=False)
        elif name == "/new":
            self.chats[said.chat].window += 1
            self._tell(said, wording.NEW_WINDOW, of_turn=False)
        else:
            self._stop(said)

    def _stop(self, said: Said) -> None:
        running, waiting = 0, self.waiting()
        for chat in self.chats.values():
            for turn in chat.turns:
                running += turn.started
                if turn.started:
                    asked = (UserEntry(text=each.text) for each in in_order(turn.said) if each.text)
                    self._remember(chat, turn, *asked, MarkerEntry(text=wording.STOPPED_MARKER))
                self._end(turn, Outcome.INTERRUPTED if turn.started else Outcome.CANCELLED)
            chat.turns.clear()
        for reply in self.replies.values():
            if reply.of_turn and not reply.shown:
                reply.may_be_missing = True
        self._tell(said, wording.stopped(running=running, waiting=waiting), of_turn=False)

    def verdict(self, said: Said, answer: object, *, pulls: bool) -> tuple[Verdict, str | None]:
        """What the channel is told of a message that the ledger has answered so, and what its sender is told."""
        chat = self.chats[said.chat]
        if answer is Accepted:
            if not said.text.startswith("/"):
                chat.told_full = False
            return Verdict.ACCEPTED, None
        if answer is Duplicate:
            return Verdict.DUPLICATE, None
        if answer is Placement.FULL_TOTAL and pulls:
            return Verdict.FULL, None
        here = answer is Placement.FULL_CONVERSATION
        text = wording.TOO_MUCH_WAITING_HERE if here else wording.TOO_MUCH_WAITING_IN_ALL
        told, chat.told_full = chat.told_full, True
        if told:
            return Verdict.ANSWERED, None
        self.notices[said.id] = text
        return Verdict.ANSWERED, text

    # What runs.

    def claims(self, turns: Sequence[tuple[Sequence[str], int]], now: datetime) -> None:
        """Turns were started, each with its messages' ids and its window, while albums were looked at too."""
        self._close_albums(now)
        running = sum(chat.turns[0].started for chat in self.chats.values() if chat.turns)
        ready = {chat.name: chat.head for chat in self.chats.values() if chat.head is not None}
        for ids, window in turns:
            chat = self.chats[self.known[ids[0]].chat]
            turn = ready.pop(chat.name, None)
            assert turn is not None, f"{ids} was started although its conversation could start nothing"
            assert list(ids) == [said.id for said in in_order(turn.said)], "not the oldest that waits"
            assert window == chat.window
            turn.started, turn.window = True, window
            turn.claims += 1
            turn.passed_by.clear()
            turn.will_end = None
            if any(said.user not in self.allowed for said in turn.said):
                turn.will_end = (Outcome.REJECTED, "")
        assert running + len(turns) <= self._slots
        for waiting in ready.values():
            for ids, _ in turns:
                waiting.passed_by[self.known[ids[0]].chat] += 1
            assert max(waiting.passed_by.values(), default=0) <= 1, "a busy conversation was served twice"

    def _close_albums(self, now: datetime) -> None:
        for chat in self.chats.values():
            for turn in chat.turns:
                if turn.until is not None and turn.until <= now:
                    turn.until = None

    def settles(self, ids: Sequence[str], outcome: Outcome) -> None:
        """A started turn was settled so."""
        chat = self.chats[self.known[ids[0]].chat]
        turn = chat.turns[0]
        assert turn.started
        assert list(ids) == [said.id for said in in_order(turn.said)]
        assert turn.will_end is not None, f"{ids} ended although nothing had ended it"
        assert outcome is turn.will_end[0]
        text = turn.will_end[1]
        if outcome is Outcome.COMPLETED:
            self._remember(chat, turn, UserEntry(text=turn.question), AssistantEntry(text=text))
        elif outcome is Outcome.FAILED and text != wording.EMPTY_ANSWER:
            self._remember(chat, turn, UserEntry(text=turn.question), MarkerEntry(text=wording.FAILED_MARKER))
        self._leave(chat, turn, outcome, text)

    def releases(self, ids: Sequence[str]) -> None:
        """A started turn went back to its place."""
        turn = self.chats[self.known[ids[0]].chat].turns[0]
        turn.started = False
        turn.claims -= 1

    def recovers(self, now: datetime) -> None:
        """A new owner has put right what the dead one left."""
        for chat in self.chats.values():
            for album in chat.turns:
                if album.until is not None:
                    album.until = max(album.until, now + ALBUM_WAIT_AFTER_RESTART)
            turn = chat.turns[0] if chat.turns else None
            if turn is None or not turn.started:
                continue
            turn.started, turn.will_end = False, None
            if turn.claims >= 3:
                asked = (UserEntry(text=each.text) for each in in_order(turn.said) if each.text)
                self._remember(chat, turn, *asked, MarkerEntry(text=wording.INTERRUPTED_MARKER))
                self._leave(chat, turn, Outcome.FAILED, wording.TRIED_TOO_OFTEN)

    def restarts(self) -> None:
        """A new process knows nothing of whom the last one told that too much waits."""
        for chat in self.chats.values():
            chat.told_full = False

    def _leave(self, chat: Chat, turn: Turn, outcome: Outcome, text: str) -> None:
        chat.turns.remove(turn)
        self._end(turn, outcome)
        if text:
            self._tell(in_order(turn.said)[-1], text, of_turn=True)

    def _end(self, turn: Turn, outcome: Outcome) -> None:
        for said in turn.said:
            assert said.id not in self.ended, f"{said} ended twice"
            self.ended[said.id] = outcome

    def _remember(self, chat: Chat, turn: Turn, *entries: HistoryEntry) -> None:
        chat.remembers.setdefault(turn.window, []).extend(entries)

    def _tell(self, said: Said, text: str, *, of_turn: bool) -> None:
        assert said.id not in self.replies, f"{said} is answered twice"
        self.replies[said.id] = Reply(chat=said.chat, text=text, number=len(self.replies), of_turn=of_turn)

    # What people read.

    def reads(self, seen: Sequence[OutgoingPart], refused: Sequence[str]) -> None:
        """Look at everything people have read since the last look; `refused` names messages without reply."""
        for message in refused:
            if message in self.replies:
                self.replies[message].may_be_missing = True
        for part in seen[self._seen :]:
            self._read(part)
        self._seen = len(seen)

    def _read(self, part: OutgoingPart) -> None:
        message = str(part.target.reply_to)
        marked = part.body.text.startswith(REPEAT_MARK)
        text = part.body.text.removeprefix(f"{REPEAT_MARK}\n")
        assert marked == part.repeated
        if not marked and self.notices.get(message) == text:
            del self.notices[message]
            return
        reply = self.replies[message]
        assert (part.target.chat, text) == (reply.chat, reply.text)
        assert self._nonces.setdefault(message, part.nonce) == part.nonce
        assert marked or not reply.shown, f"{text!r} left twice without a mark"
        reply.shown += 1
        later = [r for r in self.replies.values() if r.chat == reply.chat and r.number > reply.number]
        assert not any(r.shown for r in later) or reply.shown > 1, f"{text!r} was overtaken"

    # How it stands.

    def waiting(self, chat: str | None = None) -> int:
        """How many messages wait, in one conversation or in all."""
        chats = self.chats.values() if chat is None else [self.chats[chat]]
        return sum(len(turn.said) for each in chats for turn in each.turns if not turn.started)

    def running(self) -> list[Turn]:
        """The turns that run, in the order of their conversations."""
        return [chat.turns[0] for chat in self.chats.values() if chat.turns and chat.turns[0].started]

    def asked(self, question: str) -> list[Turn]:
        """The one turn that asks this; nobody else's question reaches the model."""
        found = [turn for turn in self.running() if turn.question == question]
        assert len(found) == 1, f"{question!r} is asked although it should not run"
        return found

    def is_busy(self) -> bool:
        """Whether anything waits or runs."""
        return any(chat.turns for chat in self.chats.values())

    def looks_right(self, asked: Sequence[str], now: datetime) -> None:
        """Nothing that could run stands still, and the model is asked exactly what runs."""
        running = self.running()
        gated = [turn.question for turn in running if turn.will_end is None]
        assert sorted(asked) == sorted(gated)
        if len(running) < self._slots:
            self._close_albums(now)
            assert not [chat.name for chat in self.chats.values() if chat.head is not None], (
                "a free slot idles"
            )

    def is_over(self, *, remembered: dict[str, dict[int, list[HistoryEntry]]]) -> None:
        """Everything accepted has ended once, everything said was read, and history has all of it."""
        asked = {said.id for said in self.known.values() if not said.text.startswith("/")}
        assert set(self.ended) == asked
        unread = [reply for reply in self.replies.values() if not reply.shown and not reply.may_be_missing]
        assert not unread, unread
        for chat in self.chats.values():
            assert remembered.get(chat.name, {}) == chat.remembers


def only_words(entry: HistoryEntry) -> HistoryEntry:
    """An entry without what a provider added to it."""
    return AssistantEntry(text=entry.text) if isinstance(entry, AssistantEntry) else entry


def full(result: object) -> object:
    """What a ledger's answer says, without its details."""
    return result.placement if isinstance(result, Full) else type(result)
