"""Very many messages through a daemon that is stopped and killed, whose provider fails; then time passes."""

import os
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fermix.domain import wording
from fermix.testing.servers.openai_strict.script import Refuse
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.crash_load import MARK, repeats
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.people import People, Seen
from tests.e2e.harness.shifted_clock import set_clock

AT_ONCE = 50
MOST_OUTSTANDING = 300
MONTH_SECONDS = 31 * 24 * 3600.0
DISTURBED = 0.5
"""The first part of the messages meets stops and kills; what follows is one life, whose memory is measured."""
REMEMBERED = ("entries", "lanes", "routes", "cursors")
FORGOTTEN = ("messages", "turns", "outbox", "effects", "media")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How a life stood after so many messages."""

    messages: int
    resident: int
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakReport:
    """What was seen.

    Attributes:
        ends: how many messages ended in which way.
        memory: resident memory at the end of the undisturbed life, against its beginning after warm-up.
        growth: database bytes per message in the last third of that life, against the third before.
        reused: the file's size after the messages that followed the sweep, against before them.
    """

    ends: Counter[str]
    seconds: float
    memory: float
    bytes_per_message: float
    growth: float
    reused: float


@dataclass(slots=True, kw_only=True)
class Soak:
    """One home under a long load."""

    home: FermixHome
    people: People
    model: StrictServer
    chance: Random
    folder: Path
    messages: int
    conversations: int
    later: int
    written: int = 0
    samples: list[Sample] = field(default_factory=list)

    def run(self) -> SoakReport:
        """Live through all of it.

        Raises:
            AssertionError: a promise was broken.
        """
        began = time.monotonic()
        set_clock(self._clock, 0)
        daemon = self._start()
        while self.written < self.messages * DISTURBED:
            self._write(AT_ONCE)
            daemon = self._disturb(daemon)
        daemon = self._stop(daemon)
        while self.written < self.messages:
            self._write(AT_ONCE)
            self._fail_now_and_then()
            self._sample(daemon)
        self._come_to_rest()
        ends = self._check()
        self._stop(daemon).terminate()
        set_clock(self._clock, MONTH_SECONDS)
        daemon = self._start()
        until(lambda: not any(self._count(table) for table in FORGOTTEN), what="a dry sweep", seconds=300)
        assert all(self._count(table) for table in REMEMBERED if table != "cursors")
        before = self._size()
        for _ in range(0, self.later, AT_ONCE):
            self._write(AT_ONCE)
        self._come_to_rest()
        after = self._size()
        assert daemon.terminate() == 0
        assert "Traceback" not in self.home.log()
        return self._report(ends, time.monotonic() - began, reused=after / before)

    def _report(self, ends: Counter[str], seconds: float, *, reused: float) -> SoakReport:
        tenth = max(len(self.samples) // 10, 1)
        first, last = self.samples[tenth : 2 * tenth + 1], self.samples[-tenth:]
        third = len(self.samples) // 3
        older = _bytes_per_message(self.samples[third], self.samples[2 * third])
        newer = _bytes_per_message(self.samples[2 * third], self.samples[-1])
        return SoakReport(
            ends=ends,
            seconds=seconds,
            memory=max(each.resident for each in last) / max(each.resident for each in first),
            bytes_per_message=newer,
            growth=newer / older,
            reused=reused,
        )

    @property
    def _clock(self) -> Path:
        return self.folder / "clock"

    def _start(self) -> Daemon:
        return self.home.daemon(far=self.people, clock=self._clock).ready()

    def _stop(self, daemon: Daemon) -> Daemon:
        assert daemon.terminate() == 0
        return self._start()

    def _disturb(self, daemon: Daemon) -> Daemon:
        self._fail_now_and_then()
        chance = self.chance.random()
        if chance < 0.04:
            return self._stop(daemon)
        if chance < 0.08:
            daemon.kill()
            return self._start()
        return daemon

    def _fail_now_and_then(self) -> None:
        if self.chance.random() < 0.2:
            self.model.will(Refuse(status=500, body="oops"))

    def _write(self, number: int) -> None:
        chats = [f"chat-{self.chance.randrange(self.conversations)}" for _ in range(number)]
        texts = [(chat, f"message {self.written + place}") for place, chat in enumerate(chats, start=1)]
        self.written = self.people.write_all(texts)
        self.model.requests.clear()
        self.people.acknowledged(offset=max(self.written - MOST_OUTSTANDING, 0), seconds=60)

    def _sample(self, daemon: Daemon) -> None:
        pages = int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1])
        self.samples.append(Sample(messages=self.written, resident=pages * _PAGE, stored=self._used()))

    def _size(self) -> int:
        return self._ask("PRAGMA page_count") * self._ask("PRAGMA page_size")

    def _used(self) -> int:
        return self._size() - self._ask("PRAGMA freelist_count") * self._ask("PRAGMA page_size")

    def _count(self, table: str) -> int:
        return self._ask(f"SELECT count(*) FROM {table}")  # noqa: S608 - a table of ours

    def _ask(self, question: str) -> int:
        path = f"file:{self.home.path / 'ledger.db'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as reader:
            answer: int = reader.execute(question).fetchone()[0]
        return answer

    def _come_to_rest(self) -> None:
        self.people.acknowledged(offset=self.written, seconds=120)

        def at_rest() -> bool:
            status = self.home.fermix("status", "--json").document["status"]
            return not (status["waiting"] or status["running"] or status["open_parts"])

        until(at_rest, what="the end of all work", seconds=300)

    def _check(self) -> Counter[str]:
        seen = self.people.seen()
        by_message: defaultdict[str, list[Seen]] = defaultdict(list)
        for part in seen:
            by_message[str(part.reply_to)].append(part)
        ends = Counter(_end_of(number, by_message[f"m{number}"]) for number in range(1, self.written + 1))
        ends["repeats, all marked"] = repeats(seen)
        return ends


def _bytes_per_message(first: Sample, last: Sample) -> float:
    return (last.stored - first.stored) / max(last.messages - first.messages, 1)


def _end_of(number: int, parts: Sequence[Seen]) -> str:
    texts = list({part.nonce: part.text.removeprefix(MARK) for part in parts}.values())
    assert len(texts) == 1, f"message {number} was lost, or answered twice: {texts}"
    (text,) = texts
    if text.startswith("You said: "):
        assert text.endswith(f"message {number}")
        return "answered"
    if text == wording.TRIED_TOO_OFTEN:
        return "given up and told"
    assert "failed to answer" in text, text
    return "told that the provider failed"
