"""People who keep writing while their gateway dies again and again, and what must be true when it is over."""

import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fermix.domain import wording
from fermix.testing.servers.openai_strict.script import EchoOrCall
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import LIMIT_SECONDS, Daemon, FermixHome, until
from tests.e2e.harness.people import ROOT, People, Seen

POINTS: Mapping[str, tuple[str, int]] = {
    "bytes received": ("before:receive", 12),
    "deduped": ("before:admit", 12),
    "in the admission's commit": ("in:admit", 12),
    "after the admission's commit": ("after:admit", 12),
    "before the platform's acknowledgement": ("before:acknowledge", 12),
    "after the platform's acknowledgement": ("after:acknowledge", 12),
    "before a claim": ("before:claim", 12),
    "claimed": ("after:claim", 12),
    "before the model is asked": ("before:model", 12),
    "mid-stream": ("in:stream", 60),
    "after the model has answered": ("after:model", 12),
    "before the journal's row": ("before:begin_effect", 3),
    "after the journal's row": ("after:begin_effect", 3),
    "after the tool": ("after:tool", 3),
    "before the tool's outcome": ("before:end_effect", 3),
    "after the tool's outcome": ("after:end_effect", 3),
    "before settlement": ("before:settle", 12),
    "after settlement": ("after:settle", 12),
    "before a send": ("before:send", 12),
    "after a send": ("after:send", 12),
    "before a send's answer is recorded": ("before:done", 12),
    "after a send's answer is recorded": ("after:done", 12),
    "after a command's row": ("after:command", 4),
    "after a command's work": ("before:finish_command", 3),
}
"""Every point of a message's life, as what kills there, and at which of its visits at most."""

RING = "ring_bell"
MARK = "(possibly sent before)\n"
CHATS = ("red", "green", "blue", "white")
BELFRIES = ("north", "south")
"""Chats in which people ask for the bell: a death around it pauses them."""
DESK = "desk"
"""Where the owner gives commands."""
PAUSE = 0.02
"""The longest that people pause between two messages, in seconds."""
MOST_OPEN = 150
"""Messages without a reply beyond which nobody writes: a conversation takes 200, and a slow machine lags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message of the load."""

    id: str
    chat: str
    text: str

    @property
    def is_command(self) -> bool:
        """Whether it is a command."""
        return self.text.startswith("/")


@dataclass(slots=True, kw_only=True)
class CrashLoad:
    """One home, one platform, and lives of a daemon that are cut short under load."""

    home: FermixHome
    people: People
    model: StrictServer
    chance: Random
    folder: Path
    written: list[Written] = field(default_factory=list)
    hits: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Let the model ask for the bell where it is asked to."""
        self.model.otherwise = EchoOrCall(word="ring", name=RING)

    def die_at(self, point: str) -> None:
        """Let a daemon live until it dies at a point, at a random moment, while people write.

        Raises:
            AssertionError: it did not die, or elsewhere.
        """
        call, most = POINTS[point]
        number = self.chance.randint(1, most)
        daemon = self._start(kill=f"{call}:{number}")
        end = time.monotonic() + LIMIT_SECONDS
        self._clear_lanes()
        self._write()
        until(lambda: daemon.process.poll() or self.home.told().get("pid") == daemon.pid, what="the start")
        while daemon.process.poll() is None:
            assert time.monotonic() < end, f"{point} ({call}:{number}) was not reached: {self._state()}"
            self._write()
            time.sleep(PAUSE * self.chance.random())
        assert daemon.process.returncode == -9, daemon.printed()
        assert self._marker.read_text() == f"{call}:{number}"
        self.hits[point] += 1

    def kill_now(self) -> None:
        """A life that is ended from outside, at no point in particular."""
        daemon = self._start()
        for _ in range(self.chance.randint(5, 40)):
            self._write()
            time.sleep(PAUSE * self.chance.random())
        daemon.kill()

    def come_to_rest(self) -> None:
        """One life in peace, until everything that was begun has ended."""
        daemon = self._start().ready()
        self.people.acknowledged(offset=len(self.written), seconds=60)

        def at_rest() -> bool:
            status = self.home.fermix("status", "--json").document["status"]
            if status["paused"]:
                self._clear_lanes()
                self.people.acknowledged(offset=len(self.written))
            return not (status["waiting"] or status["running"] or status["open_parts"] or status["paused"])

        until(at_rest, what="the end of all work", seconds=60)
        assert daemon.terminate() == 0
        assert "Traceback" not in self.home.log() + daemon.printed()

    def check(self) -> Counter[str]:
        """Everything written was answered, or its writer told; nothing twice without a mark; all in order.

        Returns:
            How many messages ended in which way.
        """
        seen = self.people.seen()
        by_message: defaultdict[str, list[Seen]] = defaultdict(list)
        for part in seen:
            by_message[str(part.reply_to)].append(part)
        ends = Counter[str]()
        for message in self.written:
            ends[_end_of(message, by_message[message.id])] += 1
        ends["repeats, all marked"] = repeats(seen)
        self._check_order(seen)
        self._check_bell()
        return ends

    def _check_order(self, seen: Sequence[Seen]) -> None:
        place = {message.id: number for number, message in enumerate(self.written)}
        commands = {message.id for message in self.written if message.is_command}
        for chat in CHATS:
            answered = [str(p.reply_to) for p in seen if p.chat == chat and str(p.reply_to) not in commands]
            first = [place[message] for message in dict.fromkeys(answered)]
            assert first == sorted(first), f"{chat}: somebody was overtaken"

    def _check_bell(self) -> None:
        rings = Counter(self._bell.read_text().split()) if self._bell.exists() else Counter[str]()
        assert max(rings.values(), default=1) == 1, f"the bell rang twice for one request: {rings}"
        completed = self.home.rows(
            "SELECT t.turn FROM turns t JOIN effects e ON e.turn=t.turn WHERE t.outcome='completed'"
        )
        assert {str(turn) for (turn,) in completed} <= set(rings)

    def _state(self) -> str:
        turns = self.home.rows("SELECT lane, state, outcome, count(*) FROM turns GROUP BY 1, 2, 3")
        return f"{turns}, {len(self.written)} messages"

    @property
    def _marker(self) -> Path:
        return self.folder / "died-at"

    @property
    def _bell(self) -> Path:
        return self.folder / "bell"

    def _start(self, *, kill: str | None = None) -> Daemon:
        self._marker.unlink(missing_ok=True)
        arguments = ["--far", str(self.people.platform_port)]
        arguments += ["--bell", str(self._bell), "--marker", str(self._marker)]
        if kill is not None:
            arguments += ["--kill", kill]
        output = self.folder / f"daemon-{len(self.home.started)}.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.harness.crash_daemon", *arguments],
                cwd=ROOT,
                env=self.home.environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.home.started.append(process)
        return Daemon(home=self.home, process=process, output=output)

    def _clear_lanes(self) -> None:
        """The owner drops what the last death may have paused; often there is nothing."""
        for _ in BELFRIES:
            self._say(DESK, "/discard")

    def _is_behind(self) -> bool:
        return len(self.written) - len({part.nonce for part in self.people.seen()}) > MOST_OPEN

    def _write(self) -> None:
        if len(self.written) % 20 == 19 and self._is_behind():
            return
        kind = self.chance.random()
        number = len(self.written) + 1
        if kind < 0.7:
            self._say(self.chance.choice(CHATS), f"message {number}")
        elif kind < 0.85:
            self._say(self.chance.choice(BELFRIES), f"ring {number}")
        else:
            self._say(DESK, self.chance.choice(["/whoami", "/confirm aaaabbbb"]))

    def _say(self, chat: str, text: str) -> None:
        offset = self.people.write(chat, text)
        self.written.append(Written(id=f"m{offset}", chat=chat, text=text))
        assert offset == len(self.written)


def repeats(seen: Sequence[Seen]) -> int:
    """How many parts were seen before; each of them says so."""
    before = set[str]()
    repeats = 0
    for part in seen:
        assert part.repeated == part.text.startswith(MARK)
        assert part.repeated or part.nonce not in before, f"{part.text!r} left twice without a mark"
        repeats += part.nonce in before
        before.add(part.nonce)
    return repeats


def _end_of(message: Written, parts: Sequence[Seen]) -> str:
    """How a message ended, from what its writer saw."""
    texts = list({part.nonce: part.text.removeprefix(MARK) for part in parts}.values())
    assert texts, f"{message} was lost"
    assert {part.chat for part in parts} == {message.chat}
    if message.is_command:
        assert len(texts) == 1, (message, texts)
        return "command cut off" if texts[0].startswith("I was restarted during") else "command"
    if texts == [wording.PAUSED]:
        assert message.chat in BELFRIES
        return "told that its lane is paused"
    (text,) = texts
    if text == wording.TRIED_TOO_OFTEN:
        return "given up and told"
    assert text.startswith("You said: "), (message, text)
    assert text.endswith(message.text), (message, text)
    return "answered"
